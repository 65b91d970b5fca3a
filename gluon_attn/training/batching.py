"""Batches of sequences of similar length, and padding.

``gluonnlp.data.FixedBucketSampler`` is not used because it shuffles with NumPy's global generator, so that its order
depends on everything else drawn from it, while every committed hash of parameters depends on the order of the batches;
and because its batches mix all lengths of a bucket. Here rows are sorted by length, rows of equal length are in random
order, and the caller seeds the generator.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def length_batches(
    lengths: np.ndarray, batch_size: int, generator: np.random.RandomState | None = None
) -> list[np.ndarray]:
    """Cut rows into batches of similar length.

    Args:
        lengths: (rows,) tokens of each row.
        batch_size: rows of a batch; the last batch has the rest.
        generator: shuffles rows within a length and the order of the batches; None keeps both in order, for evaluation.

    Returns:
        Row numbers, one array per batch; every row is in exactly one batch.
    """
    rows = np.arange(len(lengths)) if generator is None else generator.permutation(len(lengths))
    rows = rows[np.argsort(lengths[rows], kind="stable")]
    batches = [rows[start : start + batch_size] for start in range(0, len(rows), batch_size)]
    if generator is not None:
        batches = [batches[index] for index in generator.permutation(len(batches))]
    return batches


def shuffled_batches(rows: int, batch_size: int, generator: np.random.RandomState) -> list[np.ndarray]:
    """Cut rows into batches in random order, regardless of their length."""
    order = generator.permutation(rows)
    return [order[start : start + batch_size] for start in range(0, rows, batch_size)]


def pad(sequences: Sequence[np.ndarray], padding: int, multiple: int = 1) -> np.ndarray:
    """Pad sequences of ids to the longest, rounded up to ``multiple``, and stack them: (rows, length, ...) of int32.

    Sequences are (tokens, ...); trailing dimensions must agree. Rounding reduces the number of shapes, since MXNet
    plans its memory again for every new shape.
    """
    longest = max((len(sequence) for sequence in sequences), default=0)
    width = max(1, -(-longest // multiple)) * multiple
    trailing = sequences[0].shape[1:] if sequences else ()
    padded = np.full((len(sequences), width, *trailing), padding, dtype=np.int32)
    for row, sequence in enumerate(sequences):
        padded[row, : len(sequence)] = sequence
    return padded


def pair_batches(
    source_lengths: np.ndarray,
    target_lengths: np.ndarray,
    batch_size: int,
    multiples: tuple[int, int],
    generator: np.random.RandomState,
    *,
    batch_tokens: int | None = None,
) -> list[np.ndarray]:
    """Cut pairs of sequences into batches of similar length on both sides, in random order.

    Args:
        source_lengths, target_lengths: (rows,) tokens of each row.
        batch_size: rows of a batch; the last batch has the rest.
        multiples: multiples to which the lengths of either side are rounded up; lengths with the same result are equal.
        generator: shuffles the rows of equal lengths and the order of the batches.
        batch_tokens: maximum number of tokens on either side of a batch, padding included; a row with more tokens is
            a batch by itself. None for no limit.

    Returns:
        Row numbers, one array per batch; every row is in exactly one batch. The number of batches does not depend on
        the generator.
    """
    rows = generator.permutation(len(source_lengths))
    source, target = (
        -(-lengths[rows] // multiple) * multiple
        for lengths, multiple in zip((source_lengths, target_lengths), multiples, strict=True)
    )
    order = np.lexsort((source, target))
    rows = rows[order]
    if batch_tokens is None:
        batches = [rows[start : start + batch_size] for start in range(0, len(rows), batch_size)]
    else:
        starts = _starts(np.maximum(source, target)[order], batch_size, batch_tokens)
        batches = np.split(rows, starts[1:]) if starts else []
    return [batches[index] for index in generator.permutation(len(batches))]


def _starts(lengths: np.ndarray, batch_size: int, batch_tokens: int) -> list[int]:
    """Return the first row of each batch of consecutive rows, limited in rows and in tokens with padding."""
    starts: list[int] = []
    longest = 0
    for row, length in enumerate(lengths.tolist()):
        longest = max(longest, length)
        size = row - starts[-1] if starts else batch_size
        if size == batch_size or (size + 1) * longest > batch_tokens:
            starts.append(row)
            longest = length
    return starts


def pad_documents(documents: Sequence[Sequence[np.ndarray]], padding: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pad and stack documents, which are non-empty lists of sentences of ids (words,).

    Returns:
        ids (documents, sentences, words), the number of sentences (documents,), and the number of words of each
        sentence (documents, sentences), 0 after the last sentence; all of int32.
    """
    counts = np.array([len(document) for document in documents], np.int32)
    words = np.zeros((len(documents), counts.max(initial=1)), np.int32)
    is_sentence = np.arange(words.shape[1]) < counts[:, None]
    sentences = [ids for document in documents for ids in document]
    words[is_sentence] = [len(ids) for ids in sentences]
    padded = np.full((*words.shape, words.max(initial=1)), padding, np.int32)
    padded[np.arange(padded.shape[2]) < words[:, :, None]] = np.concatenate([np.empty(0, np.int32), *sentences])
    return padded, counts, words
