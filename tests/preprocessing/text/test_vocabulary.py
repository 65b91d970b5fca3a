"""Order, special tokens, and agreement with ``gluonnlp.Vocab``."""

from __future__ import annotations

from collections import Counter
from typing import Any

import gluonnlp
import numpy as np
import pytest
from hypothesis import given, strategies as st

from preprocessing.errors import InputError
from preprocessing.text.vocabulary import SEQUENCE_SPECIALS, SPECIALS, Vocabulary

TOKENS = st.lists(st.sampled_from(["가", "나", "다", "a", "B", "<unk>", "<pad>", "▁", "\u1100", "😀"]), max_size=60)


def learn(tokens: list[str], **options: Any) -> Vocabulary:
    counts = Counter(tokens)
    return Vocabulary.learn(list(counts), np.array(list(counts.values()), np.int64), **options)


@given(TOKENS, st.integers(1, 4), st.integers(1, 6))
def test_the_order_is_frequency_then_token(tokens: list[str], min_freq: int, max_size: int) -> None:
    frequent = [(-count, token) for token, count in Counter(tokens).items() if count >= min_freq]
    expected = [token for _, token in sorted(frequent) if token not in ("<unk>", "<pad>")]
    assert learn(tokens, min_freq=min_freq).idx_to_token == ["<unk>", "<pad>", *expected]
    assert learn(tokens, min_freq=min_freq, max_size=max_size).idx_to_token[2:] == expected[:max_size]


@given(TOKENS)
def test_the_order_of_the_symbols_does_not_matter(tokens: list[str]) -> None:
    assert learn(tokens) == learn(tokens[::-1])


@given(TOKENS, TOKENS)
def test_only_learned_tokens_have_their_own_ids(train: list[str], new: list[str]) -> None:
    vocabulary = learn(train)
    ids = vocabulary.indices(new)
    assert ids.dtype == np.int32
    known = [token in train and token not in ("<unk>", "<pad>") for token in new]
    assert [index >= 2 for index in ids] == known
    expected = [token if is_known else "<unk>" for token, is_known in zip(new, known, strict=True)]
    assert vocabulary.tokens(ids) == expected


@given(TOKENS)
def test_json_round_trip(tokens: list[str]) -> None:
    vocabulary = learn(tokens)
    assert Vocabulary.from_json(vocabulary.to_json()) == vocabulary


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"idx_to_token": ["a"]}', '{"idx_to_token": ["<unk>", "<pad>", 3]}'])
def test_other_json_is_refused_by_name(text: str) -> None:
    with pytest.raises(InputError, match=r"vocab\.json: not a vocabulary"):
        Vocabulary.from_json(text, where="vocab.json")


def test_repeated_tokens_and_invalid_limits_are_refused() -> None:
    with pytest.raises(ValueError, match="distinct"):
        Vocabulary(["가", "가"])
    with pytest.raises(ValueError, match="min_freq"):
        learn(["가"], min_freq=0)


def test_gluonnlp_has_the_same_indices() -> None:
    tokens = [*"영화가재미있다.영화가재미없다", "<pad>", "<unk>", "ㅋㅋ", "😀"]
    ours = learn(tokens)
    theirs = ours.to_gluonnlp()
    own_way = gluonnlp.Vocab(Counter(tokens), bos_token=None, eos_token=None)
    assert theirs.idx_to_token == own_way.idx_to_token == ours.idx_to_token
    assert theirs.unknown_token == "<unk>" and theirs.padding_token == "<pad>"
    assert theirs.bos_token is None and theirs.eos_token is None
    assert theirs[["영", "없는말", "<pad>"]] == [ours["영"], 0, 1]


@given(TOKENS)
def test_target_vocabularies_have_begin_and_end(tokens: list[str]) -> None:
    tokens = [*tokens, "<bos>", "<eos>", "<bos>"]
    plain, framed = learn(tokens), learn(tokens, specials=SEQUENCE_SPECIALS)
    assert framed.idx_to_token[:4] == ["<unk>", "<pad>", "<bos>", "<eos>"] and framed["<eos>"] == 3
    assert framed.learned == [token for token in plain.learned if token not in SEQUENCE_SPECIALS]
    assert plain.specials == SPECIALS and "<bos>" in plain.learned, "without them it is a token like any other"
    assert framed.indices(["<bos>", "<eos>", "<pad>", "<unk>"]).tolist() == [0, 0, 0, 0], "never from text"
    again = Vocabulary.from_json(framed.to_json())
    assert again == framed and again.specials == SEQUENCE_SPECIALS
    assert Vocabulary.from_json(plain.to_json()).specials == SPECIALS


def test_reserved_tokens_that_are_not_first_are_refused() -> None:
    framed = Vocabulary(["a"], SEQUENCE_SPECIALS).to_json()
    for wrong in (framed.replace('"<bos>", "<eos>", "a"', '"<eos>", "<bos>", "a"'), framed.replace("<bos>", "<s>")):
        with pytest.raises(InputError, match="its reserved tokens are not the first ones"):
            Vocabulary.from_json(wrong)


def test_gluonnlp_orders_begin_and_end_alike() -> None:
    tokens = [*"ein hund und ein hund", "<eos>"]
    ours = learn(tokens, specials=SEQUENCE_SPECIALS)
    assert ours.to_gluonnlp().idx_to_token == gluonnlp.Vocab(Counter(tokens)).idx_to_token == ours.idx_to_token
    assert (ours.to_gluonnlp().bos_token, ours.to_gluonnlp().eos_token) == ("<bos>", "<eos>")


def test_ids_outside_the_vocabulary_have_no_token() -> None:
    vocabulary = Vocabulary(["a"])
    assert vocabulary.tokens([len(vocabulary) - 1]) == ["a"] and vocabulary.tokens([]) == []
    for index in (-1, len(vocabulary)):
        with pytest.raises(IndexError):
            vocabulary.tokens([0, index])
