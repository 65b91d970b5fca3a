"""Padding on two levels and buckets: against loops by hand, against all divisions there are, on endless documents."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from preprocessing import documents
from preprocessing.pipeline.ragged import Ragged
from preprocessing.text import document_padding
from preprocessing.text.data import Split
from preprocessing.text.pipeline import Result


def split_of(texts: list[list[list[int]]]) -> Split:
    """An encoded split: documents of sentences of ids."""
    rows = Ragged.from_rows([[word for sentence in text for word in sentence] for text in texts])
    sentences = Ragged.from_rows([[len(sentence) for sentence in text] for text in texts])
    split = Split.of(["" for _ in texts])
    return Split(
        split.row_id, split.text, split.label, split.seen_in_train, tokens=rows, encoded=rows, sentences=sentences
    )


TEXTS = st.lists(st.lists(st.lists(st.integers(2, 9), min_size=1, max_size=6), max_size=5), min_size=1, max_size=6)
SIZES = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 9)), min_size=1, max_size=12)


@given(TEXTS, st.integers(0, 9))
def test_padded_by_hand(texts: list[list[list[int]]], seed: int) -> None:
    split = split_of(texts)
    rows = np.random.RandomState(seed).permutation(len(texts))
    batch = document_padding.padded(split, rows)
    depth = max(1, *(len(text) for text in texts), 1)
    width = max([1, *(len(sentence) for text in texts for sentence in text)])
    assert batch.words.shape == (len(texts), depth, width)
    assert batch.words.dtype == batch.sentence_counts.dtype == batch.word_counts.dtype == np.int32
    for place, row in enumerate(rows):
        text = texts[row]
        assert batch.sentence_counts[place] == len(text)
        assert batch.word_counts[place].tolist() == [*map(len, text), *[0] * (depth - len(text))]
        for index in range(depth):
            sentence = text[index] if index < len(text) else []
            assert batch.words[place, index].tolist() == sentence + [1] * (width - len(sentence))


def test_padding_to_a_shape_changes_nothing_but_the_padding() -> None:
    split = split_of([[[2, 3], [4]], [], [[5, 6, 7]]])
    own, wide = (document_padding.padded(split, np.arange(3), shapes, padding=9) for shapes in ((), [(4, 5), (2, 2)]))
    assert own.words.shape == (3, 2, 3) and wide.words.shape == (3, 4, 5)
    assert (wide.words[:, :2, :3] == own.words).all() and (wide.words[:, 2:] == 9).all()
    assert (wide.sentence_counts == own.sentence_counts).all() and own.sentence_counts.tolist() == [2, 0, 1]
    assert (wide.word_counts[:, :2] == own.word_counts).all() and wide.word_counts[:, 2:].sum() == 0
    nothing = document_padding.padded(split, np.arange(0))
    assert nothing.words.shape == (0, 1, 1)


def test_sizes() -> None:
    sentences, words = document_padding.sizes(split_of([[[2, 3], [4]], [], [[5, 6, 7]], []]))
    assert (sentences.tolist(), words.tolist()) == ([2, 0, 1, 0], [2, 0, 3, 0])
    assert [numbers.tolist() for numbers in document_padding.sizes(split_of([[], []]))] == [[0, 0], [0, 0]]


def volume(sizes: list[tuple[int, int]], shapes: list[tuple[int, int]]) -> int:
    return sum(a * b for a, b in (document_padding.shape_for(*size, shapes) for size in sizes))


def least_volume(sizes: list[tuple[int, int]], buckets: int) -> int:
    """The fewest padded words of all divisions into bands of words and each into groups of sentences."""

    def groups(numbers: list[int], count: int) -> int:
        bounds = sorted(set(numbers))
        least = len(numbers) * bounds[-1]
        for inner in combinations(bounds[:-1], min(count, len(bounds)) - 1):
            chosen = [*inner, bounds[-1]]
            least = min(least, sum(min(bound for bound in chosen if bound >= number) for number in numbers))
        return least

    widths = sorted({width for _, width in sizes})
    best: dict[tuple[int, int], int] = {(-1, 0): 0}
    for last in range(len(widths)):
        for (first, used), cost in list(best.items()):
            band = [depth for depth, width in sizes if width in widths[first + 1 : last + 1]]
            for own in range(1, buckets - used + 1):
                key = (last, used + own)
                best[key] = min(best.get(key, 10**9), cost + widths[last] * groups(band, own))
    return min(cost for (last, _), cost in best.items() if last == len(widths) - 1)


@given(SIZES, st.integers(1, 4))
def test_no_other_division_pads_less(sizes: list[tuple[int, int]], buckets: int) -> None:
    sentences, words = (np.array(numbers, np.int64) for numbers in zip(*sizes, strict=True))
    shapes = document_padding.bucket_shapes(sentences, words, buckets=buckets, multiples=(1, 1))
    assert len(shapes) <= buckets and shapes == sorted(set(shapes), key=lambda shape: shape[::-1])
    full = [(max(1, depth), max(1, width)) for depth, width in sizes]
    assert all(any(a >= depth and b >= width for a, b in shapes) for depth, width in full)
    assert volume(full, shapes) <= least_volume(full, buckets)


@given(SIZES)
def test_bounds_are_multiples(sizes: list[tuple[int, int]]) -> None:
    sentences, words = (np.array(numbers, np.int64) for numbers in zip(*sizes, strict=True))
    shapes = document_padding.bucket_shapes(sentences, words, buckets=3, multiples=(2, 5))
    assert all(depth % 2 == 0 and width % 5 == 0 for depth, width in shapes)
    assert max(depth for depth, _ in shapes) - max(1, sentences.max()) < 2


def test_a_document_beyond_all_shapes_gets_one_of_its_own() -> None:
    assert document_padding.shape_for(3, 5, [(2, 9), (4, 6), (3, 8), (9, 5)]) == (4, 6)
    assert document_padding.shape_for(3, 9, [(2, 9), (4, 6)]) == (4, 16)
    assert document_padding.shape_for(0, 0, []) == (1, 1)


@given(TEXTS, st.integers(1, 4), st.integers(0, 5), st.none() | st.integers(1, 60))
def test_every_document_is_in_one_batch_of_one_shape(
    texts: list[list[list[int]]], batch_size: int, seed: int, max_places: int | None
) -> None:
    split = split_of(texts)
    shapes = document_padding.bucket_shapes(*document_padding.sizes(split), buckets=3)
    plain = document_padding.batches(split, batch_size, shapes, max_places=max_places)
    shuffled, again = (
        document_padding.batches(split, batch_size, shapes, np.random.RandomState(seed), max_places=max_places)
        for _ in range(2)
    )
    assert all((a == b).all() for a, b in zip(shuffled, again, strict=True))
    for cut in (plain, shuffled):
        assert sorted(np.concatenate(cut).tolist()) == list(range(len(texts)))
        for rows in cut:
            depth, width = document_padding.padded(split, rows, shapes).words.shape[1:]
            assert (depth, width) in shapes and 1 <= len(rows) <= batch_size
            assert max_places is None or len(rows) == 1 or len(rows) * depth * width <= max_places
    seen = sorted({(len(rows), *document_padding.padded(split, rows, shapes).words.shape[1:]) for rows in plain})
    assert seen == sorted(
        {(len(rows), *document_padding.padded(split, rows, shapes).words.shape[1:]) for rows in shuffled}
    )
    assert len(seen) <= 2 * len(shapes)


def test_thousands_of_sentences_and_a_sentence_of_thousands_of_words() -> None:
    split = split_of([[[2]] * 4_000, [[3] * 5_000], [[4, 5], [6]]])
    shapes = document_padding.bucket_shapes(*document_padding.sizes(split), buckets=3)
    assert shapes == [(4_000, 2), (2, 5_000)] or shapes == [(2, 2), (4_000, 2), (2, 5_000)]
    batch = document_padding.padded(split, np.array([0]), shapes)
    assert batch.words.shape == (1, 4_000, 2) and batch.words.sum() == 4_000 * 3
    assert document_padding.padded(split, np.array([1]), shapes).words.shape == (1, 2, 5_000)


@pytest.mark.parametrize("options", [{"buckets": 0}, {"multiples": (0, 1)}])
def test_senseless_buckets_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        document_padding.bucket_shapes(np.array([1]), np.array([1]), **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="batch_size"):
        document_padding.batches(split_of([[[2]]]), 0, [(1, 1)])
    assert document_padding.bucket_shapes(np.array([], np.int64), np.array([], np.int64)) == [(2, 2)]


@pytest.fixture(scope="module")
def sample() -> Result:
    return documents.prepare("sample", cache=False, processes=1)


def test_the_sample_in_batches(sample: Result) -> None:
    shapes = document_padding.bucket_shapes(*document_padding.sizes(sample.train), buckets=4)
    words = 0
    for rows in document_padding.batches(sample.train, 8, shapes, np.random.RandomState(1)):
        batch = document_padding.padded(sample.train, rows, shapes)
        words += int(batch.word_counts.sum())
        there = np.arange(batch.words.shape[2]) < batch.word_counts[:, :, None]
        flat = np.concatenate([sample.train.sequences()[row] for row in rows])
        assert (batch.words[there] == flat).all()
    assert words == len(sample.train.ids)
