"""Trained vectors for another vocabulary, and every way in which they are not to be had."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gluon_attn.errors import UsageError
from preprocessing.vocabulary import Vocabulary
from reproductions.runner import Outcome, Unit
from reproductions.word_vectors import as_arrays, unit_named, vectors_for, word_vectors
from tests.reproductions.support import outcome

WORDS = ["영화", "배우", "<eos>", "ㅋㅋ"]
VECTORS = np.arange(12, dtype=np.float32).reshape(4, 3) + 1


@pytest.fixture
def trained(tmp_path: Path) -> Outcome:
    return outcome(tmp_path, "skip-gram", 1, as_arrays(WORDS, "mecab", VECTORS), paper="mikolov2013")


def test_each_word_of_a_vocabulary_has_its_row(trained: Outcome) -> None:
    vocabulary = Vocabulary(["배우", "감독", "영화"])
    rows, found = vectors_for(vocabulary.idx_to_token, trained.unit)
    assert found.tolist() == [False, False, True, False, True] and rows.dtype == np.float32
    np.testing.assert_array_equal(rows, [[0, 0, 0], [0, 0, 0], [4, 5, 6], [0, 0, 0], [1, 2, 3]])
    rows, found = vectors_for([], trained.unit)
    assert rows.shape == (0, 3) and found.shape == (0,)


def test_what_was_trained_is_known_by_its_hash(trained: Outcome) -> None:
    found = word_vectors(trained)
    assert found.words == WORDS and found.sha256 == f"{1:064x}" and found.tokenizer == "mecab"
    np.testing.assert_array_equal(found.vectors, VECTORS)


def test_vectors_that_are_not_there_or_of_something_else_are_refused_in_one_line(
    trained: Outcome, tmp_path: Path
) -> None:
    absent = unit_named("mikolov2013/cbow", trained.unit)
    with pytest.raises(UsageError, match=r"gluon-attn run mikolov2013 --preset smoke --variant cbow --seed 1$"):
        vectors_for(WORDS, absent)
    with pytest.raises(UsageError, match=r"vectors of the tokens of mecab, not of okt; choose the same tokenizer"):
        vectors_for(WORDS, trained.unit, tokenizer="okt")
    other = outcome(tmp_path, "mean", 1, {"right": np.ones(3)})
    with pytest.raises(UsageError, match="naver_self_attention trains no word vectors"):
        vectors_for(WORDS, other.unit)


def test_a_name_means_the_training_beside_another(tmp_path: Path) -> None:
    best = Unit("naver_self_attention", "cpu", "best", 3, "portable", None, tmp_path, on_sample=True)
    assert unit_named("mikolov2013/skip-gram", best) == Unit(
        "mikolov2013", "cpu", "skip-gram", 1, "portable", None, tmp_path, on_sample=True
    )
    for name in ("skip-gram", "mikolov2013", "mikolov2013/", "glove/skip-gram", ""):
        with pytest.raises(UsageError, match="are unknown; name script and variant"):
            unit_named(name, best)
