"""Inputs of classifiers: padding, batches, dropped tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from gluon_attn.models.fasttext import bags, ngrams
from preprocessing import documents, sentences
from preprocessing.text.syllables import Spelling
from preprocessing.text.vocabulary import PADDING_ID, UNKNOWN_ID
from reproductions.tasks.classification.inputs import (
    BagsOfNgrams,
    Documents,
    FixedLength,
    SequencesWithBags,
    TextInputs,
    TokenSequences,
    drop_tokens,
)


def ids(*rows: Sequence[int]) -> list[np.ndarray]:
    return [np.array(row, np.int32) for row in rows]


def test_a_fixed_length_is_truncated_and_padded_and_has_no_lengths() -> None:
    (padded,) = FixedLength(5).arrays(ids([7, 8], [], [2, 3, 4, 5, 6, 7, 8]))
    assert padded.tolist() == [
        [7, 8, PADDING_ID, PADDING_ID, PADDING_ID],
        [UNKNOWN_ID, PADDING_ID, PADDING_ID, PADDING_ID, PADDING_ID],
        [2, 3, 4, 5, 6],
    ]


def test_sequences_are_padded_to_a_multiple_of_four_and_have_lengths() -> None:
    padded, lengths = TokenSequences(5).arrays(ids([7, 8], [], [2, 3, 4, 5, 6, 7, 8]))
    assert padded.shape == (3, 8) and padded.dtype == np.int32
    assert lengths.tolist() == [2, 1, 5] and lengths.dtype == np.float32
    assert padded[2].tolist() == [2, 3, 4, 5, 6, PADDING_ID, PADDING_ID, PADDING_ID]


def test_tokens_with_their_syllables_are_padded_as_rows() -> None:
    """An empty review is one unknown token without syllables."""
    padded, lengths = TokenSequences().arrays([np.array([[7, 3], [8, 4]], np.int32), np.zeros((0, 2), np.int32)])
    assert padded.dtype == np.int32 and lengths.tolist() == [2, 1]
    padding = [PADDING_ID, PADDING_ID]
    assert padded.tolist() == [
        [[7, 3], [8, 4], padding, padding],
        [[UNKNOWN_ID, PADDING_ID], padding, padding, padding],
    ]


@pytest.mark.parametrize("spelled", [False, True])
def test_sequences_with_bags_have_the_words_and_bigrams_of_the_tokens(spelled: bool) -> None:
    short = sentences.prepare("sample", classes=5).train
    spelling = Spelling.learn(short, width=3, min_freq=1) if spelled else None
    plain, inputs = (
        TokenSequences(6, spelling),
        SequencesWithBags(6, spelling, vocabulary_size=1_000, orders=(2, 3), buckets=50),
    )
    longest, shortest = int(short.lengths.argmax()), int(short.lengths.argmin())
    texts = [inputs.texts(short)[row] for row in (longest, shortest)] + [np.zeros((0, 6 if spelled else 3), np.int32)]
    read, bag, entries, lengths = inputs.arrays(texts)
    expected = plain.arrays([*(plain.texts(short)[row] for row in (longest, shortest)), plain.texts(short)[0][:0]])
    assert read.tolist() == expected[0].tolist() and lengths.tolist() == expected[1].tolist()
    words = short.sequences()[longest]
    bigrams, trigrams = (1_000 + ngrams(words, order, 50)[:6] for order in (2, 3))
    interleaved = [gram for pair in zip(bigrams, trigrams, strict=True) for gram in pair]
    assert len(words) > 8 and bag[0, : int(entries[0])].tolist() == [*words[:6], *interleaved]
    words = short.sequences()[shortest]
    assert sorted(bag[1][len(words) : int(entries[1])] - 1_000) == sorted(bags([words], (2, 3), 50, first=0)[0])
    assert bag[2, 0] == UNKNOWN_ID and entries[2] == 1
    assert bag.dtype == np.int32 and entries.dtype == np.float32 and (bag[2, 1:] == PADDING_ID).all()


def test_bigrams_are_dropped_with_half_of_the_dropped_words() -> None:
    inputs = SequencesWithBags(vocabulary_size=10, buckets=5)
    text = np.stack([np.full(20_000, 7, np.int32), np.full(20_000, 12, np.int32)], axis=1)
    (dropped,) = drop_tokens([text], 0.3, np.random.RandomState(0))
    assert (dropped[:, 0] == UNKNOWN_ID).mean() == pytest.approx(0.3, abs=0.01)
    _, bag, entries, _ = inputs.arrays([dropped])
    assert (bag[0] == 12).sum() / 20_000 == pytest.approx(0.85, abs=0.01)
    assert entries[0] == 20_000 + (bag[0] == 12).sum()


def test_documents_are_sentences_and_an_empty_one_is_one_unknown_word() -> None:
    padded, counts, words = Documents().arrays([ids([7, 8], [9]), [], ids([2, 3, 4])])
    assert padded.tolist() == [
        [[7, 8, PADDING_ID], [9, PADDING_ID, PADDING_ID]],
        [[UNKNOWN_ID, PADDING_ID, PADDING_ID], [PADDING_ID] * 3],
        [[2, 3, 4], [PADDING_ID] * 3],
    ]
    assert counts.tolist() == [2, 1, 1] and words.tolist() == [[2, 1], [1, 0], [3, 0]]
    assert padded.dtype == counts.dtype == words.dtype == np.int32


def test_the_texts_of_a_split() -> None:
    """Ids; ids with syllables; documents of sentences; words and, after the vocabulary, the buckets of bigrams."""
    short = sentences.prepare("sample", classes=5).train
    assert [text.tolist() for text in TokenSequences().texts(short)] == [row.tolist() for row in short.sequences()]
    spelled = TokenSequences(spelling=Spelling.learn(short, width=3, min_freq=1)).texts(short)
    assert all(text.shape == (len(row), 4) for text, row in zip(spelled, short.sequences(), strict=True))
    assert np.concatenate(spelled)[:, 0].tolist() == short.ids.tolist()

    long = documents.prepare("sample").train
    texts = Documents().texts(long)
    assert [len(text) for text in texts] == long.sentence_lengths.lengths.tolist()
    assert np.concatenate(texts[0]).tolist() == long.sequences()[0].tolist()

    bagged = BagsOfNgrams(vocabulary_size=1_000, orders=(2,), buckets=50).texts(short)
    for row, text in zip(short.sequences(), bagged, strict=True):
        assert text.tolist() == [*row, *(1_000 + ngrams(row, 2, 50))]
    cut = BagsOfNgrams(vocabulary_size=1_000, orders=(2,), buckets=50, max_words=3).texts(short)
    for row, text in zip(short.sequences(), cut, strict=True):
        assert text.tolist() == [*row[:3], *(1_000 + ngrams(row[:3], 2, 50))]
    assert BagsOfNgrams(max_length=9, max_words=3).longest_text == 3, "n-grams do not count"
    assert BagsOfNgrams(max_length=9).longest_text == 9 and BagsOfNgrams().longest_text is None
    words = BagsOfNgrams(vocabulary_size=1_000, orders=(), buckets=50).texts(short)
    assert [text.tolist() for text in words] == [row.tolist() for row in short.sequences()]


ROWS = ids([2], [3, 3], [4, 4, 4], [5], [6, 6], [7], [8, 8, 8, 8])


@pytest.mark.parametrize("inputs", [FixedLength(5), TokenSequences(5)], ids=["random", "of similar length"])
def test_an_epoch_has_every_text_once_in_a_new_order(inputs: TextInputs) -> None:
    first, again, other = (inputs.training_batches(ROWS, 3, np.random.RandomState(seed)) for seed in (1, 1, 2))
    assert sorted(np.concatenate(first).tolist()) == list(range(7)) and len(first) == 3
    assert [rows.tolist() for rows in first] == [rows.tolist() for rows in again]
    assert [rows.tolist() for rows in first] != [rows.tolist() for rows in other]


def test_only_sequences_are_batched_by_length() -> None:
    rows = ids(*([1] * (1 + number % 40) for number in range(400)))
    spread = {}
    for name, inputs in (("random", FixedLength(40)), ("similar", TokenSequences(40))):
        batches = inputs.training_batches(rows, 10, np.random.RandomState(0))
        spread[name] = np.mean([np.ptp([len(rows[row]) for row in batch]) for batch in batches])
    assert spread["similar"] <= 1 < 20 < spread["random"]


# --- dropped tokens ---


def test_half_of_the_dropped_tokens_lose_their_syllables_too() -> None:
    tokens = np.tile(np.array([7, 3, 4], np.int32), (10_000, 1))
    [dropped] = drop_tokens([tokens], 0.2, np.random.RandomState(0))
    kinds, counts = np.unique(dropped, axis=0, return_counts=True)
    assert kinds.tolist() == [[UNKNOWN_ID, PADDING_ID, PADDING_ID], [UNKNOWN_ID, 3, 4], [7, 3, 4]]
    np.testing.assert_allclose(counts / 10_000, [0.1, 0.1, 0.8], atol=4 * np.sqrt(0.16 / 10_000))
    assert (tokens == [7, 3, 4]).all()  # The corpus itself does not change.


def test_tokens_are_dropped_at_the_requested_rate_and_nothing_else_changes() -> None:
    rows = [np.full(1_000, 7), np.full(9_000, 9)]
    dropped = drop_tokens(rows, 0.15, np.random.RandomState(0))
    assert [set(row.tolist()) for row in dropped] == [{UNKNOWN_ID, 7}, {UNKNOWN_ID, 9}]
    share = np.mean(np.concatenate(dropped) == UNKNOWN_ID)
    assert share == pytest.approx(0.15, abs=4 * np.sqrt(0.15 * 0.85 / 10_000))
    assert drop_tokens(rows, 0.0, np.random.RandomState(0)) is rows


def test_a_text_without_tokens_stays_empty() -> None:
    """As cleaning leaves some reviews; those after it lose the tokens that they would lose without it."""
    rows = [np.full(1_000, 7, np.int32), np.zeros(0, np.int32), np.full(1_000, 9, np.int32)]
    first, empty, second = drop_tokens(rows, 0.15, np.random.RandomState(0))
    assert empty.shape == (0,)
    for ours, theirs in zip((first, second), drop_tokens(rows[::2], 0.15, np.random.RandomState(0)), strict=True):
        assert np.array_equal(ours, theirs)
    assert drop_tokens([np.zeros((0, 3), np.int32)], 0.5, np.random.RandomState(0))[0].shape == (0, 3)


def test_dropped_words_do_not_change_the_sentences() -> None:
    [dropped] = drop_tokens([[np.full(4_000, 7), np.full(6_000, 9)]], 0.15, np.random.RandomState(0))
    assert [set(sentence.tolist()) for sentence in dropped] == [{UNKNOWN_ID, 7}, {UNKNOWN_ID, 9}]
    assert np.mean(np.concatenate(dropped) == UNKNOWN_ID) == pytest.approx(0.15, abs=0.015)
