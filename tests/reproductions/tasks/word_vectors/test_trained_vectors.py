"""Trained vectors: rows for another vocabulary, nearest words, a map."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from gluon_attn.errors import UsageError
from preprocessing.text.vocabulary import SPECIALS, Vocabulary
from reproductions.tasks.word_vectors.trained_vectors import NEIGHBOURS, TrainedVectors

WORDS = ["영화", "배우", "<eos>", "ㅋㅋ"]
TRAINED = TrainedVectors(WORDS, "mecab", np.arange(12, dtype=np.float32).reshape(4, 3) + 1)


def on_a_circle(count: int = 40) -> TrainedVectors:
    """Vectors of different lengths whose directions are in order."""
    angle = np.linspace(0.0, 3.0, count)
    length = 1.0 + np.arange(count) % 3
    vectors = (length * np.stack([np.cos(angle), np.sin(angle)])).T.astype(np.float32)
    return TrainedVectors([f"w{number}" for number in range(count)], "words", vectors)


def test_each_word_of_a_vocabulary_gets_its_row() -> None:
    vocabulary = Vocabulary(["배우", "감독", "영화"])
    rows, known = TRAINED.rows_for(vocabulary.idx_to_token, "mecab")
    assert known.tolist() == [False, False, True, False, True] and rows.dtype == np.float32
    np.testing.assert_array_equal(rows, [[0, 0, 0], [0, 0, 0], [4, 5, 6], [0, 0, 0], [1, 2, 3]])
    rows, known = TRAINED.rows_for([], "mecab")
    assert rows.shape == (0, 3) and known.shape == (0,)


def test_vectors_of_another_kind_of_token_are_refused_in_one_line() -> None:
    with pytest.raises(UsageError, match=r"^vectors of the tokens of mecab, not of okt; choose the same tokenizer"):
        TRAINED.rows_for(["영화"], "okt")


def test_vectors_of_a_network_exclude_special_tokens() -> None:
    table = np.arange((len(SPECIALS) + 4) * 2, dtype=np.float32).reshape(-1, 2)
    prepared = SimpleNamespace(vocabulary=Vocabulary(WORDS), tokenizer=SimpleNamespace(name="mecab"))
    network = SimpleNamespace(vectors=lambda: table)
    of = TrainedVectors.of(cast(Any, SimpleNamespace(model=network, data=SimpleNamespace(prepared=prepared))))
    assert (of.words, of.tokenizer) == (WORDS, "mecab")
    np.testing.assert_array_equal(of.vectors, table[len(SPECIALS) :])


def test_a_network_without_word_vectors_is_refused() -> None:
    other = SimpleNamespace(model=object(), variant=SimpleNamespace(name="encdec"))
    with pytest.raises(UsageError, match=r"^encdec: has no word vectors; name a variant that trains them"):
        TrainedVectors.of(cast(Any, other))


def test_the_table_lists_nearest_words_by_direction() -> None:
    circle = on_a_circle()
    first, unknown, last = circle.table(["w0", "감독", "w39"])
    assert (first["word"], unknown) == ("w0", {"word": "감독", "nearest": []})
    assert [word for word, _ in first["nearest"]] == [f"w{number}" for number in range(1, NEIGHBOURS + 1)]
    assert [word for word, _ in last["nearest"]] == [f"w{number}" for number in range(38, 38 - NEIGHBOURS, -1)]
    assert first["nearest"][0][1] == pytest.approx(np.cos(3.0 / 39), abs=1e-6)


def test_a_map_has_each_word_once_at_a_position_that_preserves_distances() -> None:
    circle = on_a_circle()
    drawn = circle.map(["w0", "감독", "w2", "w39"])
    words = [word for group in drawn["groups"] for word in group]
    assert len(words) == len(set(words)) and np.shape(drawn["positions"]) == (len(words), 2)
    # The words nearest to two of the words are in the group of the first.
    first, second, third = drawn["groups"]
    assert first == ["w0", "w1", "w3", "w4", "w5", "w6"] and second == ["w2"] and third[:2] == ["w39", "w38"]
    at = dict(zip(words, np.array(drawn["positions"]), strict=True))
    assert np.linalg.norm(at["w0"] - at["w1"]) < np.linalg.norm(at["w0"] - at["w6"])
    assert np.linalg.norm(at["w0"] - at["w6"]) < np.linalg.norm(at["w0"] - at["w39"])
    assert circle.map(["감독"]) == {}


def test_nearest_to_several_words_is_nearest_to_their_mean_direction() -> None:
    circle = on_a_circle()
    (first, cosine), (second, _), *_ = circle.nearest_to(["w10"])
    assert {first, second} == {"w9", "w11"} and cosine == pytest.approx(np.cos(3.0 / 39), abs=1e-6)
    between = [word for word, _ in circle.nearest_to(["w10", "w14", "감독", "w14"])]
    assert between[0] == "w12" and len(between) == NEIGHBOURS and not {"w10", "w14"} & set(between)
    assert circle.nearest_to(["감독"]) == circle.nearest_to([]) == []
