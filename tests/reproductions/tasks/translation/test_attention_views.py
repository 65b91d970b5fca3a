"""Alignments of a translator, as pages show them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gluon_attn.errors import UsageError
from reproductions.protocol import papers
from reproductions.protocol.task import TrainedModel
from reproductions.tasks.translation.task import Translation
from tests.reproductions.translating import network


def test_a_translation_has_the_alternatives_of_the_beam() -> None:
    variant = papers.load("bahdanau2014").preset("smoke").variant("rnnsearch-ko-en")
    task: Any = variant.task
    assert isinstance(task, Translation) and task.input_language == "ko"
    data = task.prepare(variant.settings, sample=True)
    model = TrainedModel(network(variant.settings, data), variant, task, data, "0" * 64)
    view = task.attention_of(model, "아이가 앉아 있다.", beam=3)
    assert len(view.alternatives) == 3
    scores = [each.log_p for each in view.alternatives]
    assert all(score is not None and score < 0 for score in scores)
    for each in view.alternatives:
        assert each.weights is not None and each.weights.shape[1] == len(view.tokens)
        assert len(each.weights) in (len(each.tokens), len(each.tokens) + 1)
        np.testing.assert_allclose(each.weights.sum(axis=1), 1, atol=1e-3)
    assert len(task.attention_of(model, "아이가 앉아 있다.").alternatives) == variant.settings.beam
    with pytest.raises(UsageError, match="at most 100"):
        task.attention_of(model, "가 " * 200)
