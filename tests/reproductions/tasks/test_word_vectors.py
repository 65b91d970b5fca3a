"""Trained vectors for another vocabulary, and every way in which they are not to be had."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gluon_attn.errors import UsageError
from preprocessing.text.vocabulary import Vocabulary
from reproductions.protocol.runs import Unit
from reproductions.tasks import word_vectors
from reproductions.tasks.word_vectors import WordVectors

TRAINED = WordVectors(
    ["영화", "배우", "<eos>", "ㅋㅋ"], "mecab", np.arange(12, dtype=np.float32).reshape(4, 3) + 1, f"{1:064x}"
)


def test_each_word_of_a_vocabulary_has_its_row() -> None:
    vocabulary = Vocabulary(["배우", "감독", "영화"])
    rows, found = TRAINED.rows_for(vocabulary.idx_to_token, "mecab")
    assert found.tolist() == [False, False, True, False, True] and rows.dtype == np.float32
    np.testing.assert_array_equal(rows, [[0, 0, 0], [0, 0, 0], [4, 5, 6], [0, 0, 0], [1, 2, 3]])
    rows, found = TRAINED.rows_for([], "mecab")
    assert rows.shape == (0, 3) and found.shape == (0,)


def test_vectors_of_other_tokens_are_refused_in_one_line() -> None:
    with pytest.raises(UsageError, match=r"^vectors of the tokens of mecab, not of okt; choose the same tokenizer"):
        TRAINED.rows_for(["영화"], "okt")


def test_what_is_not_trained_or_trains_something_else_has_no_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = Unit("mikolov2013", "smoke", "cbow", 1, "portable", None, tmp_path)
    with pytest.raises(UsageError, match=r"gluon-attn run mikolov2013 --preset smoke --variant cbow --seed 1$"):
        word_vectors.word_vectors(absent)
    monkeypatch.setattr(word_vectors, "load", lambda unit: (None, None, None))
    other = Unit("naver_self_attention", "smoke", "mean", 1, "portable", None, tmp_path)
    with pytest.raises(UsageError, match="naver_self_attention trains no word vectors; name a variant of mikolov2013"):
        word_vectors.word_vectors(other)
