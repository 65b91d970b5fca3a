"""It learns: the class is one word of one sentence, or one word of a text; with a new seed at every run."""

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
    """One to four sentences of one to twelve words, all noise but one; the padding is full of needles."""
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


def test_hierarchical_attention_finds_the_word_in_its_sentence(tmp_path: Path, fresh_seed: int) -> None:
    model = HierarchicalAttentionNetwork(pooling="attention", **COMMON)
    accuracy, test, output = learn(model, draw_document, tmp_path, seed=fresh_seed, steps=200)
    assert accuracy > 0.95
    ids, counts, lengths = test.inputs
    real = (np.arange(LENGTH) < lengths[:, :, None]) & (np.arange(SENTENCES) < counts[:, None])[:, :, None]
    there = real & (ids < NEEDLES)
    assert there.sum() == len(ids)
    # Evenly spread it would be 0.5 and 0.27; a GRU carries the word to its neighbours, so not all need be on it.
    assert (output.sentence_weights * there.any(axis=2)).sum(axis=1).mean() > 0.7
    assert output.word_weights[there].mean() > 0.6


@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_hierarchies_without_attention_learn_it_too(pooling: str, tmp_path: Path, fresh_seed: int) -> None:
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
def test_every_network_of_one_level_learns_to_find_one_word_in_noise(
    make: Callable[[], HybridBlock], tmp_path: Path, fresh_seed: int
) -> None:
    accuracy, _, _ = learn(make(), draw_needle, tmp_path, seed=fresh_seed, steps=200)
    assert accuracy > 0.95
