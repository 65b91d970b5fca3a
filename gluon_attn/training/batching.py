"""Batches of sequences of like length, and their padding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def length_batches(
    lengths: np.ndarray, batch_size: int, generator: np.random.RandomState | None = None
) -> list[np.ndarray]:
    """Cut rows into batches of like length.

    Args:
        lengths: (rows,) tokens of each row.
        batch_size: rows of a batch; the last batch holds the rest.
        generator: shuffles rows within a length and the order of the batches; None keeps both in order, for evaluation.

    Returns:
        Row numbers, an array for each batch; every row is in exactly one.
    """
    rows = np.arange(len(lengths)) if generator is None else generator.permutation(len(lengths))
    rows = rows[np.argsort(lengths[rows], kind="stable")]
    batches = [rows[start : start + batch_size] for start in range(0, len(rows), batch_size)]
    if generator is not None:
        batches = [batches[index] for index in generator.permutation(len(batches))]
    return batches


def shuffled_batches(rows: int, batch_size: int, generator: np.random.RandomState) -> list[np.ndarray]:
    """Cut rows into batches in random order, whatever their length."""
    order = generator.permutation(rows)
    return [order[start : start + batch_size] for start in range(0, rows, batch_size)]


def pad(sequences: Sequence[np.ndarray], padding: int, multiple: int = 1) -> np.ndarray:
    """Stack sequences of ids into (rows, length, ...) of int32, the length of the longest, rounded up to ``multiple``.

    Sequences are (tokens, ...): what comes behind the tokens is the same for all. Rounding keeps the number of shapes
    small, since every new shape makes MXNet plan its memory anew.
    """
    longest = max((len(sequence) for sequence in sequences), default=0)
    width = max(1, -(-longest // multiple)) * multiple
    behind = sequences[0].shape[1:] if sequences else ()
    padded = np.full((len(sequences), width, *behind), padding, dtype=np.int32)
    for row, sequence in enumerate(sequences):
        padded[row, : len(sequence)] = sequence
    return padded


def pair_batches(
    source_lengths: np.ndarray,
    target_lengths: np.ndarray,
    batch_size: int,
    multiples: tuple[int, int],
    generator: np.random.RandomState,
) -> list[np.ndarray]:
    """Cut pairs of sequences into batches of like length on both sides, in random order.

    Args:
        source_lengths, target_lengths: (rows,) tokens of each row.
        batch_size: rows of a batch; the last batch holds the rest.
        multiples: to what lengths the batches will be padded on either side; lengths with the same multiple are alike.
        generator: shuffles the rows of like length and the order of the batches.

    Returns:
        Row numbers, an array for each batch; every row is in exactly one.
    """
    rows = generator.permutation(len(source_lengths))
    source, target = (
        -(-lengths[rows] // multiple)
        for lengths, multiple in zip((source_lengths, target_lengths), multiples, strict=True)
    )
    rows = rows[np.lexsort((source, target))]
    batches = [rows[start : start + batch_size] for start in range(0, len(rows), batch_size)]
    return [batches[index] for index in generator.permutation(len(batches))]


def pad_documents(documents: Sequence[Sequence[np.ndarray]], padding: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Stack documents, lists of sentences of ids (words,), each of one sentence or more.

    Returns:
        ids (documents, sentences, words) of int32, the number of sentences (documents,) and of words of each sentence
        (documents, sentences), both of int32; 0 words for a sentence that is not there.
    """
    counts = np.array([len(document) for document in documents], np.int32)
    words = np.zeros((len(documents), counts.max(initial=1)), np.int32)
    there = np.arange(words.shape[1]) < counts[:, None]
    sentences = [ids for document in documents for ids in document]
    words[there] = [len(ids) for ids in sentences]
    padded = np.full((*words.shape, words.max(initial=1)), padding, np.int32)
    padded[np.arange(padded.shape[2]) < words[:, :, None]] = np.concatenate([np.empty(0, np.int32), *sentences])
    return padded, counts, words
