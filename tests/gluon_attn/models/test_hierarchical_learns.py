"""Hierarchical networks learn to classify by one word of one sentence or text; the seed is new at every run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mxnet.gluon import HybridBlock

from gluon_attn.models.hierarchical_attention import HierarchicalAttentionNetwork
from gluon_attn.models.structured_classifier import StructuredClassifier
from gluon_attn.training.objective import Batch
from tests.gluon_attn.models.test_learns import LENGTH, NEEDLES, UNITS, VOCABULARY, draw_needle, learn

SENTENCES = 4
COMMON: dict[str, Any] = {
    "vocabulary_size": VOCABULARY,
    "embedding_units": UNITS,
    "units": UNITS,
    "attention_units": UNITS,
    "classes": NEEDLES,
    "embedding_dropout": 0.05,
    "dropout": 0.05,
}


def draw_document(generator: np.random.RandomState, rows: int) -> Batch:
    """One to four sentences of one to twelve words, all noise but one signal word; the padding has signal words too."""
    words = generator.randint(0, NEEDLES, (rows, SENTENCES, LENGTH)).astype(np.int32)
    counts = generator.randint(1, SENTENCES + 1, rows)
    lengths = generator.randint(1, LENGTH + 1, (rows, SENTENCES))
    real = np.arange(LENGTH) < lengths[:, :, None]
    words[real] = generator.randint(NEEDLES, VOCABULARY, real.sum())
    sentence = (generator.uniform(size=rows) * counts).astype(int)
    row = np.arange(rows)
    word = (generator.uniform(size=rows) * lengths[row, sentence]).astype(int)
    needle = generator.randint(0, NEEDLES, rows)
    words[row, sentence, word] = needle
    return Batch((words, counts.astype(np.int32), lengths.astype(np.int32)), needle.astype(np.float32))


def test_hierarchical_attention_learns_and_attends_to_the_signal_word(tmp_path: Path, fresh_seed: int) -> None:
    model = HierarchicalAttentionNetwork(pooling="attention", **COMMON)
    accuracy, test, output = learn(model, draw_document, tmp_path, seed=fresh_seed, steps=200)
    assert accuracy > 0.95
    ids, counts, lengths = test.inputs
    real = (np.arange(LENGTH) < lengths[:, :, None]) & (np.arange(SENTENCES) < counts[:, None])[:, :, None]
    signal = real & (ids < NEEDLES)
    assert signal.sum() == len(ids)
    # Uniform weights would be 0.5 and 0.27; the GRU passes the word on to its neighbours, so weight may be on those.
    assert (output.sentence_weights * signal.any(axis=2)).sum(axis=1).mean() > 0.7
    assert output.word_weights[signal].mean() > 0.6


@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_hierarchies_without_attention_learn_too(pooling: str, tmp_path: Path, fresh_seed: int) -> None:
    model = HierarchicalAttentionNetwork(pooling=pooling, **COMMON)
    accuracy, _, output = learn(model, draw_document, tmp_path, seed=fresh_seed, steps=200)
    assert accuracy > 0.9 and output.word_weights is None


@pytest.mark.parametrize(
    "make",
    [
        lambda: StructuredClassifier(cell="lstm", hops=2, hidden=UNITS, **COMMON),
        lambda: StructuredClassifier(cell="gru", hops=2, hidden=(4, 1), **COMMON),
        lambda: StructuredClassifier(cell="lstm", hops=0, pooling="max", hidden=0, **COMMON),
        lambda: StructuredClassifier(cell="gru", hops=1, hidden=0, **COMMON),
        lambda: StructuredClassifier(cell="gru", hops=0, pooling="mean", hidden=0, **COMMON),
    ],
    ids=["structured", "structured, gru, pruned", "max instead", "one hop", "mean instead"],
)
def test_every_flat_network_learns_to_find_one_word_in_noise(
    make: Callable[[], HybridBlock], tmp_path: Path, fresh_seed: int
) -> None:
    accuracy, _, _ = learn(make(), draw_needle, tmp_path, seed=fresh_seed, steps=200)
    assert accuracy > 0.95
