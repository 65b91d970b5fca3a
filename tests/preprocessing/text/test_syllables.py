"""Spelling: the first characters of a token next to its id."""

from __future__ import annotations

import numpy as np
import pytest

from preprocessing import naver
from preprocessing.errors import InputError
from preprocessing.text.data import Split
from preprocessing.text.pipeline import Result
from preprocessing.text.syllables import Spelling
from preprocessing.text.vocabulary import PADDING_ID, UNKNOWN_ID


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Result:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLUON_ATTN_CACHE", str(tmp_path_factory.mktemp("cache")))
        return naver.prepare("sample", tokenizer="whitespace", min_freq=1, processes=1)


def test_a_row_is_the_id_and_the_first_characters(sample: Result) -> None:
    spelling = Spelling.learn(sample.train, width=3, min_freq=1)
    new = sample.encode(["영화 ㅋ"])
    (sequence,) = spelling.sequences(new)
    assert sequence.shape == (2, 4) and sequence.dtype == np.int32
    assert sequence[:, 0].tolist() == new.ids.tolist()
    letters = spelling.syllables
    assert sequence[0, 1:].tolist() == [letters["영"], letters["화"], PADDING_ID]
    assert sequence[1, 1:].tolist() == [letters["ㅋ"], PADDING_ID, PADDING_ID]


def test_long_tokens_are_truncated_and_rare_characters_unknown(sample: Result) -> None:
    spelling = Spelling.learn(sample.train, width=2, min_freq=1)
    (sequence,) = spelling.sequences(sample.encode(["\U0001f9ed영화관이다"]))
    assert sequence[0].tolist() == [UNKNOWN_ID, UNKNOWN_ID, spelling.syllables["영"]]


def test_characters_are_counted_once_per_token_occurrence(sample: Result) -> None:
    every = Spelling.learn(sample.train, width=2, min_freq=1).syllables
    frequent = Spelling.learn(sample.train, width=2, min_freq=20).syllables
    text = "".join("".join(sample.train.words(row)) for row in range(len(sample.train)))
    assert set(every.idx_to_token[2:]) == set(text)
    assert set(frequent.idx_to_token[2:]) == {character for character in set(text) if text.count(character) >= 20}


def test_empty_rows_keep_the_width_and_untokenised_splits_are_refused(sample: Result) -> None:
    spelling = Spelling.learn(sample.train, width=4, min_freq=1)
    (sequence,) = spelling.sequences(sample.encode([" "]))
    assert sequence.shape == (0, 5)
    with pytest.raises(InputError, match="not tokenised"):
        spelling.sequences(Split.of(["영화"]))
