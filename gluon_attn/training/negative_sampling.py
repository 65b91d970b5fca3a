"""Negative sampling: windows, subsampling and noise words (Mikolov et al., 2013b)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from mxnet import nd

from gluon_attn.models.word2vec import Word2Vec
from gluon_attn.training.objective import Batch, Objective


@dataclass(frozen=True)
class Sampling:
    """How examples are drawn from texts.

    Attributes:
        window: the largest distance of a context word; for each word, the distance is drawn uniformly from 1 to this.
        negatives: number of noise words per pair, *k*.
        noise: number of noise words per batch, shared by all its pairs.
        threshold: words with a relative frequency f above it are kept with probability sqrt(threshold / f).
        rows, length: a batch has ``rows`` pieces of ``length`` words, with ``window`` words on either side.
    """

    window: int = 5
    negatives: int = 5
    noise: int = 64
    threshold: float = 1e-4
    rows: int = 32
    length: int = 32


@dataclass(frozen=True)
class TokenStream:
    """Texts as one sequence of words.

    Attributes:
        ids: (words,) of int32.
        text: (words,), the index of the text of each word.
        counts: (vocabulary,), the number of occurrences of each word.
    """

    ids: np.ndarray
    text: np.ndarray
    counts: np.ndarray


def keep_probability(counts: np.ndarray, threshold: float) -> np.ndarray:
    """Return the probability of keeping each word: min(1, sqrt(threshold / f)), f its relative frequency (eq. 5)."""
    share = counts / counts.sum()
    return np.minimum(1.0, np.sqrt(threshold / np.where(share > 0, share, threshold)))


def noise_distribution(counts: np.ndarray) -> np.ndarray:
    """Return the probability of drawing each word as noise: the 3/4 power of its count, normalised."""
    powers = counts.astype(np.float64) ** 0.75
    return powers / powers.sum()


def batches_per_epoch(stream: TokenStream, sampling: Sampling) -> int:
    """Return the number of batches for the words that subsampling is expected to keep, at least 1."""
    words = float(keep_probability(stream.counts, sampling.threshold)[stream.ids].sum())
    return max(1, round(words / (sampling.rows * sampling.length)))


def batches(stream: TokenStream, sampling: Sampling, generator: np.random.RandomState) -> Iterator[Batch]:
    """Yield the :func:`batches_per_epoch` batches of one epoch, as :class:`Word2Vec` reads them.

    The words are subsampled and cut into pieces, which are shuffled. The number of words that subsampling keeps is
    random but the number of batches is fixed, so a few pieces are left out or used twice. The target of a batch is a
    placeholder, since the model predicts its inputs.
    """
    window, length = sampling.window, sampling.length
    sampled = generator.random_sample(len(stream.ids)) < keep_probability(stream.counts, sampling.threshold)[stream.ids]
    pieces = max(1, -(-int(sampled.sum()) // length))
    around = (window, window + pieces * length - int(sampled.sum()))
    ids, text = np.pad(stream.ids[sampled], around), np.pad(stream.text[sampled], around, constant_values=-1)
    order = np.resize(generator.permutation(pieces), batches_per_epoch(stream, sampling) * sampling.rows)
    cumulative = np.cumsum(noise_distribution(stream.counts))
    distance = np.abs(np.arange(-window, window + 1))
    for chosen in order.reshape(-1, sampling.rows):
        near = length * chosen[:, None] + np.arange(length + 2 * window)
        own = text[near][:, window : window + length, None]
        same_text = np.lib.stride_tricks.sliding_window_view(text[near], 2 * window + 1, axis=1) == own
        reach = generator.randint(1, window + 1, own.shape)
        band = same_text & (own >= 0) & (distance > 0) & (distance <= reach)
        mask = np.zeros((sampling.rows, length, near.shape[1]), np.float32)
        # Columns i to i + 2 * window, a diagonal band of the mask, are the neighbours of word i.
        per_row, per_word, per_column = mask.strides
        np.lib.stride_tricks.as_strided(mask, band.shape, (per_row, per_word + per_column, per_column))[:] = band
        drawn = np.searchsorted(cumulative, generator.random_sample(sampling.noise) * cumulative[-1], side="right")
        contexts = band.sum(axis=2).astype(np.float32)
        words = ids[near]
        inputs = (words[:, window : window + length], words, drawn.astype(np.int32), mask, contexts)
        yield Batch(inputs, np.zeros(1, np.float32))


def mean_loss(outputs: tuple[nd.NDArray, nd.NDArray], _: nd.NDArray) -> nd.NDArray:
    """Return the mean loss of the examples of a batch, in nats."""
    loss, examples = outputs
    return loss.sum() / nd.maximum(examples.sum(), 1.0)


def held_out_loss(model: Word2Vec, stream: TokenStream, sampling: Sampling, seed: int) -> float:
    """Return the mean loss of the examples of held-out texts, in nats; the same seed gives the same draws."""
    sums = np.zeros(2)
    for batch in batches(stream, sampling, np.random.RandomState(seed)):
        outputs = model(*(nd.array(array, dtype=array.dtype) for array in batch.inputs))
        sums += [float(output.asnumpy().sum(dtype=np.float64)) for output in outputs]
    return float(sums[0] / max(1.0, sums[1]))


def word_vector_objective(
    training: TokenStream, sampling: Sampling, evaluate: Callable[[Any], Mapping[str, float]]
) -> Objective:
    """Objective of word vectors, for :func:`gluon_attn.training.loop.fit`; the epoch is selected by the metric ``loss``
    of ``evaluate``."""
    return Objective(
        lambda generator: batches(training, sampling, generator),
        batches_per_epoch(training, sampling),
        mean_loss,
        evaluate,
        select="loss",
    )
