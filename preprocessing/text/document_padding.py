"""Documents as padded arrays of sentences of words, and the few shapes that waste little of them.

    shapes = two_level.bucket_shapes(*two_level.sizes(result.train), buckets=12)
    for rows in two_level.batches(result.train, 32, shapes, generator):
        batch = two_level.padded(result.train, rows, shapes)
        batch.words, batch.sentence_counts, batch.word_counts, result.train.label[rows]

A document of S sentences whose longest has W words takes S x W places, most of them padding: one long sentence widens
all the others. So documents go into buckets by both numbers, and every bucket has one shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from preprocessing.pipeline.ragged import Ragged
from preprocessing.text.data import Split
from preprocessing.text.vocabulary import PADDING_ID

Shape = tuple[int, int]
"""Sentences and words of a padded document."""


@dataclass(frozen=True, eq=False)
class Documents:
    """Some documents, padded on both levels.

    ``words`` (documents, sentences, words) int32 ids; ``sentence_counts`` (documents,) int32: sentences that are there,
    0 for a document without any; ``word_counts`` (documents, sentences) int32: words of each, 0 for one that is not.
    """

    words: np.ndarray
    sentence_counts: np.ndarray
    word_counts: np.ndarray


def sizes(split: Split) -> tuple[np.ndarray, np.ndarray]:
    """Sentences of each document and words of its longest sentence, each (documents,) int64; 0 where there are none."""
    lengths = split.sentence_lengths
    longest = np.zeros(len(split), np.int64)
    there = lengths.lengths > 0
    if there.any():
        longest[there] = np.maximum.reduceat(lengths.ids, lengths.offsets[:-1][there])
    return lengths.lengths, longest


def padded(split: Split, rows: np.ndarray, shapes: Sequence[Shape] = (), *, padding: int = PADDING_ID) -> Documents:
    """Documents of a split as one array.

    Args:
        split: encoded, its rows cut into sentences.
        rows: (documents,) which, in the order of the batch.
        shapes: the batch is padded to the smallest of them that holds it, see :func:`shape_for`; without any, to its
            own largest document.
        padding: the id behind the words of a sentence and in the sentences behind those of a document.
    """
    lengths = split.sentence_lengths.take(rows)
    sentence_counts = lengths.lengths
    most, longest = int(sentence_counts.max(initial=0)), int(lengths.ids.max(initial=0))
    depth, width = shape_for(most, longest, shapes) if shapes else (max(1, most), max(1, longest))

    there = np.arange(depth) < sentence_counts[:, None]
    word_counts = np.zeros((len(rows), depth), np.int32)
    word_counts[there] = lengths.ids
    words = np.full((len(rows), depth, width), padding, np.int32)
    words[np.arange(width) < word_counts[:, :, None]] = Ragged(split.ids, split.offsets).take(rows).ids
    return Documents(words, sentence_counts.astype(np.int32), word_counts)


def bucket_shapes(
    sentences: np.ndarray, words: np.ndarray, *, buckets: int = 12, multiples: Shape = (2, 2)
) -> list[Shape]:
    """Few shapes that hold all documents with little padding.

    Documents are cut into bands by the words of their longest sentence, and each band by the number of its sentences;
    bounds are multiples of ``multiples``. Of all such divisions into at most ``buckets`` shapes this is one with the
    fewest padded words (by dynamic programming, so the same one always).

    Args:
        sentences, words: (documents,) each, of :func:`sizes`.
        buckets: how many shapes at most.
        multiples: of which sentences and words of a shape are multiples.

    Returns:
        Shapes (sentences, words) in ascending order of words, then of sentences.
    """
    if buckets < 1 or min(multiples) < 1:
        raise ValueError(f"buckets and multiples must be at least 1, got {buckets} and {multiples}")
    deep, wide = (_multiple(sizes, multiple) for sizes, multiple in zip((sentences, words), multiples, strict=True))
    depths, depth_of = np.unique(deep, return_inverse=True)
    widths, width_of = np.unique(wide, return_inverse=True)
    if not len(depths):
        return [multiples]
    # documents[w, d]: those whose width is among the first w and whose depth is among the first d.
    documents = np.zeros((len(widths) + 1, len(depths) + 1), np.int64)
    np.add.at(documents, (width_of + 1, depth_of + 1), 1)
    documents = documents.cumsum(0).cumsum(1)

    # best[k, w]: fewest padded words of the first w widths in at most k shapes; cuts: where its last band begins and
    # how many shapes that has.
    best = np.full((buckets + 1, len(widths) + 1), np.inf)
    best[:, 0] = 0
    cuts = np.zeros((buckets + 1, len(widths) + 1, 2), np.int64)
    for last in range(1, len(widths) + 1):
        for first in range(last):
            band = widths[last - 1] * _depth_costs(documents[last] - documents[first], depths, buckets)
            for own in range(1, buckets + 1):
                costs = best[: buckets + 1 - own, first] + band[own]
                better = costs < best[own:, last]
                best[own:, last][better] = costs[better]
                cuts[own:, last][better] = first, own
    shapes: list[Shape] = []
    total, last = buckets, len(widths)
    while last:
        first, own = cuts[total, last].tolist()
        bounds = _depth_bounds(documents[last] - documents[first], depths, own)
        shapes += [(bound, int(widths[last - 1])) for bound in bounds]
        total, last = total - own, first
    return sorted(shapes, key=lambda shape: (shape[1], shape[0]))


def shape_for(sentences: int, words: int, shapes: Sequence[Shape]) -> Shape:
    """The shape with the fewest places that holds a document, of equals the first; a document too large for all of them
    gets a shape of its own, both numbers rounded up to powers of two, so that few more shapes arise."""
    fitting = [shape for shape in shapes if shape[0] >= sentences and shape[1] >= words]
    if fitting:
        return min(fitting, key=lambda shape: shape[0] * shape[1])
    return _power_of_two(sentences), _power_of_two(words)


def batches(
    split: Split,
    batch_size: int,
    shapes: Sequence[Shape],
    generator: np.random.RandomState | None = None,
    *,
    max_places: int | None = None,
) -> list[np.ndarray]:
    """Cut the documents of a split into batches of one shape each.

    Args:
        split: its rows cut into sentences.
        batch_size: documents of a batch; the last batch of each shape holds the rest, so that there are at most two
            sizes for each shape, the same in every epoch.
        shapes: of :func:`bucket_shapes`, usually of the training split.
        generator: shuffles the documents of a shape and the order of the batches; None keeps both, for evaluation.
        max_places: at most so many padded words in a batch, whatever ``batch_size``; one document is always taken.

    Returns:
        Row numbers, an array for each batch; every row is in exactly one.
    """
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, got {batch_size}")
    members: dict[Shape, list[int]] = {}
    known: dict[Shape, Shape] = {}
    for row, size in enumerate(zip(*(numbers.tolist() for numbers in sizes(split)), strict=True)):
        if size not in known:
            known[size] = shape_for(size[0], size[1], shapes)
        members.setdefault(known[size], []).append(row)
    cut = []
    for (depth, width), own in sorted(members.items()):
        rows = np.array(own, np.int64)
        if generator is not None:
            rows = rows[generator.permutation(len(rows))]
        most = batch_size if max_places is None else max(1, min(batch_size, max_places // (depth * width)))
        cut += [rows[start : start + most] for start in range(0, len(rows), most)]
    return cut if generator is None else [cut[index] for index in generator.permutation(len(cut))]


def _multiple(sizes: np.ndarray, of: int) -> np.ndarray:
    rounded: np.ndarray = np.maximum(1, -(-sizes // of)) * of
    return rounded


def _power_of_two(size: int) -> int:
    return 1 << max(0, size - 1).bit_length()


def _depth_table(documents: np.ndarray, depths: np.ndarray, groups: int) -> np.ndarray:
    """(groups + 1, depths + 1): the fewest padded sentences of the documents among the first d depths in just k groups.

    ``documents`` (depths + 1,): how many there are among the first d depths.
    """
    # group[i, j]: all documents of the depths from i to j, padded to the last of these.
    group = np.where(
        np.tri(len(depths), dtype=np.bool_).T, (documents[None, 1:] - documents[:-1, None]) * depths, np.inf
    )
    best = np.full((groups + 1, len(depths) + 1), np.inf)
    best[0, 0] = 0
    for count in range(1, groups + 1):
        best[count, 1:] = (best[count - 1, :-1, None] + group).min(0)
    return best


def _depth_costs(documents: np.ndarray, depths: np.ndarray, groups: int) -> np.ndarray:
    """(groups + 1,): the fewest padded sentences of all these documents in just so many groups."""
    deepest = int(np.searchsorted(documents, documents[-1]))
    costs: np.ndarray = _depth_table(documents[: deepest + 1], depths[:deepest], groups)[:, -1]
    return costs


def _depth_bounds(documents: np.ndarray, depths: np.ndarray, groups: int) -> list[int]:
    """The greatest depth of each group of the division that :func:`_depth_costs` found."""
    last = int(np.searchsorted(documents, documents[-1]))
    table = _depth_table(documents[: last + 1], depths[:last], groups)
    bounds: list[int] = []
    for left in range(groups - 1, -1, -1):
        bounds.append(int(depths[last - 1]))
        last = int(np.argmin(table[left, :last] + (documents[last] - documents[:last]) * depths[last - 1]))
    return bounds[::-1]
