"""Word vectors by negative sampling: skip-gram and continuous bag of words (Mikolov, Chen, Corrado and Dean, 2013,
"Efficient estimation of word representations in vector space"; Mikolov, Sutskever, Chen, Corrado and Dean, 2013,
"Distributed representations of words and phrases and their compositionality", eq. 4 and 5).

The authors update two vectors at a time, for each pair of words with noise words of its own. Here a batch is some rows
of text on end, and its noise words are shared: the scores of all words with all noise words are one matrix product, and
so are those of the words of a row with all words near it, of which the ones outside the window are masked. A noise word
counts ``negatives / noise`` for each pair, so the loss has the same mean as with ``negatives`` of its own; one that
happens to stand beside the word is not left out.

Measured on a stream of one million words drawn by Zipf's law from 60 000, 100 units, window 5, 5 negatives, one thread,
words of the stream per second: pairs with noise of their own as batches in MXNet 59 000; rows with shared noise 260 000
in NumPy (gradients sorted and summed by word) and 310 000 to 490 000 in MXNet (1 024 and 4 096 words a batch). So ten
million words take about half a minute an epoch, and the gradients stay row-sparse: only the rows of a batch are read
and updated, by the shared training loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import mxnet as mx
import numpy as np
from mxnet import nd
from mxnet.gluon import HybridBlock, nn

from gluon_attn.training import Batch, Task

KINDS = ("skip-gram", "cbow")


@dataclass(frozen=True)
class Sampling:
    """How examples are drawn from a corpus.

    Attributes:
        window: the farthest a context word may stand; for each word the distance is drawn anew, from 1 to this.
        negatives: noise words that count for a pair, *k*.
        noise: noise words of a batch, shared by all its pairs.
        threshold: words with a higher share f of the corpus are kept with probability sqrt(threshold / f).
        rows, length: a batch is ``rows`` pieces of ``length`` words, with as many around them as the window reaches.
    """

    window: int = 5
    negatives: int = 5
    noise: int = 64
    threshold: float = 1e-4
    rows: int = 32
    length: int = 32


@dataclass(frozen=True)
class Corpus:
    """Texts as one array: ids (words,) of int32, text (words,) the number of the text of each word, and how often each
    word of the vocabulary stands in the whole, counts (vocabulary,)."""

    ids: np.ndarray
    text: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, texts: Sequence[np.ndarray], vocabulary_size: int) -> Corpus:
        ids = np.concatenate([np.empty(0, np.int32), *texts]).astype(np.int32)
        text = np.repeat(np.arange(len(texts), dtype=np.int32), [len(one) for one in texts])
        return cls(ids, text, np.bincount(ids, minlength=vocabulary_size))


def kept_share(counts: np.ndarray, threshold: float) -> np.ndarray:
    """The probability with which each word is kept: min(1, sqrt(threshold / f)) (eq. 5); 1 for one never seen."""
    share = counts / counts.sum()
    return np.minimum(1.0, np.sqrt(threshold / np.where(share > 0, share, threshold)))


def noise_share(counts: np.ndarray) -> np.ndarray:
    """The probability with which each word is drawn as noise: the 3/4 power of its count, normalised."""
    powers = counts.astype(np.float64) ** 0.75
    return powers / powers.sum()


def steps_of(corpus: Corpus, sampling: Sampling) -> int:
    """Batches of an epoch: as many as the words take that subsampling is expected to keep, one or more."""
    words = float(kept_share(corpus.counts, sampling.threshold)[corpus.ids].sum())
    return max(1, round(words / (sampling.rows * sampling.length)))


def batches(corpus: Corpus, sampling: Sampling, generator: np.random.RandomState) -> Iterator[Batch]:
    """The batches of one epoch, :func:`steps_of` of them, as :class:`Word2Vec` reads them.

    The corpus is subsampled and cut into pieces, which come in random order. Since it is a matter of chance how many
    words are kept, some last pieces are left out, or some come twice. The target of a batch is empty: the words are
    all there is to predict.
    """
    window, length = sampling.window, sampling.length
    kept = generator.random_sample(len(corpus.ids)) < kept_share(corpus.counts, sampling.threshold)[corpus.ids]
    pieces = max(1, -(-int(kept.sum()) // length))
    around = (window, window + pieces * length - int(kept.sum()))
    ids, text = np.pad(corpus.ids[kept], around), np.pad(corpus.text[kept], around, constant_values=-1)
    order = np.resize(generator.permutation(pieces), steps_of(corpus, sampling) * sampling.rows)
    cumulative = np.cumsum(noise_share(corpus.counts))
    distance = np.abs(np.arange(-window, window + 1))
    for chosen in order.reshape(-1, sampling.rows):
        near = length * chosen[:, None] + np.arange(length + 2 * window)
        own = text[near][:, window : window + length, None]
        same_text = np.lib.stride_tricks.sliding_window_view(text[near], 2 * window + 1, axis=1) == own
        reach = generator.randint(1, window + 1, own.shape)
        band = same_text & (own >= 0) & (distance > 0) & (distance <= reach)
        mask = np.zeros((sampling.rows, length, near.shape[1]), np.float32)
        # The word at place i sees the places i to i + 2 * window of those around: a diagonal band of the mask.
        per_row, per_word, per_place = mask.strides
        np.lib.stride_tricks.as_strided(mask, band.shape, (per_row, per_word + per_place, per_place))[:] = band
        drawn = np.searchsorted(cumulative, generator.random_sample(sampling.noise) * cumulative[-1], side="right")
        contexts = band.sum(axis=2).astype(np.float32)
        words = ids[near]
        inputs = (words[:, window : window + length], words, drawn.astype(np.int32), mask, contexts)
        yield Batch(inputs, np.zeros(1, np.float32))


class Word2Vec(HybridBlock):
    """Two vectors for each word, v as one that predicts and u as one that is predicted.

        skip-gram, for each word w and each context word c:    -ln s(v_w . u_c) - sum of k noise words ln s(-v_w . u_n)
        cbow, for each word w, v the mean of its contexts':    -ln s(v . u_w) - sum of k noise words ln s(-v . u_n)

    with s the logistic function.

    Args:
        kind: ``skip-gram`` or ``cbow``.
        vocabulary_size: number of words.
        units: width of a vector.
        sampling: what the batches are drawn with; its ``negatives`` and ``noise`` are read.

    Call: ``(words, near, noise, mask, contexts) -> (loss, examples)``: words (rows, length) of int32, near (rows,
    length + 2 * window) the same with those around them, noise (noise,), mask (rows, length, length + 2 * window), 1
    for each context word, contexts (rows, length) their number; loss (rows,) in nats, summed over the examples, and
    their number (rows,): pairs of a word and a context word, or words that have a context.
    """

    def __init__(self, *, kind: str, vocabulary_size: int, units: int, sampling: Sampling, **parameters: Any) -> None:
        super().__init__(**parameters)
        if kind not in KINDS:
            raise ValueError(f"{kind!r} is no kind of word2vec; choose one of {', '.join(KINDS)}")
        self._cbow = kind == "cbow"
        self._noise, self._weight = sampling.noise, sampling.negatives / sampling.noise
        small = mx.init.Uniform(0.5 / units)
        with self.name_scope():
            self.predicting = nn.Embedding(vocabulary_size, units, weight_initializer=small, sparse_grad=True)
            self.predicted = nn.Embedding(vocabulary_size, units, weight_initializer="zeros", sparse_grad=True)

    def hybrid_forward(self, F: Any, words: Any, near: Any, noise: Any, mask: Any, contexts: Any) -> tuple[Any, Any]:
        targets = words if self._cbow else near
        # One look into the table for both: two gradients of a row-sparse parameter cost more to add.
        both = self.predicted(F.concat(F.reshape(targets, (-1,)), noise, dim=0))
        known = F.slice_axis(both, axis=0, begin=0, end=-self._noise)
        known = F.reshape_like(known, targets, lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=2)
        if self._cbow:
            pairs = F.minimum(contexts, 1.0)  # a word without context is not predicted
            mean = F.broadcast_div(mask, F.expand_dims(F.maximum(contexts, 1.0), axis=2))
            predicting = F.batch_dot(mean, self.predicting(near))
            each = F.expand_dims(F.reshape(predicting, (-3, 0)), axis=1)
            scores = F.batch_dot(each, F.expand_dims(F.reshape(known, (-3, 0)), axis=2))
            scores, counted = F.reshape_like(scores, contexts), pairs
        else:
            pairs = contexts
            predicting = self.predicting(words)
            scores, counted = F.batch_dot(predicting, known, transpose_b=True), mask
        drawn = F.slice_axis(both, axis=0, begin=-self._noise, end=None)
        against = F.FullyConnected(predicting, drawn, no_bias=True, num_hidden=self._noise, flatten=False)
        # Products with the weights cost a tenth of sums over an axis.
        wrong = F.batch_dot(F.expand_dims(pairs, axis=1), F.Activation(against, act_type="softrelu"))
        right = F.reshape(F.Activation(-scores, act_type="softrelu"), (0, 1, -1))
        right = F.batch_dot(right, F.reshape(counted, (0, -1, 1)))
        loss = F.reshape(right, (-1,)) + self._weight * F.sum(wrong, axis=(1, 2))
        return loss, F.sum(pairs, axis=1)

    def vectors(self) -> np.ndarray:
        """The vectors v (vocabulary, units): what is used of the model."""
        found: np.ndarray = self.predicting.weight.data().asnumpy()
        return found


def mean_loss(outputs: tuple[nd.NDArray, nd.NDArray], _: nd.NDArray) -> nd.NDArray:
    """The loss of an example, from what the model gives for a batch."""
    loss, examples = outputs
    return loss.sum() / nd.maximum(examples.sum(), 1.0)


def held_out_loss(model: Word2Vec, corpus: Corpus, sampling: Sampling, seed: int) -> float:
    """Loss of an example of texts that were not trained on; the same draws for the same seed."""
    sums = np.zeros(2)
    for batch in batches(corpus, sampling, np.random.RandomState(seed)):
        outputs = model(*(nd.array(array, dtype=array.dtype) for array in batch.inputs))
        sums += [float(output.asnumpy().sum(dtype=np.float64)) for output in outputs]
    return float(sums[0] / max(1.0, sums[1]))


def vector_task(training: Corpus, held_out: Corpus, sampling: Sampling, *, seed: int) -> Task:
    """The task of training vectors, for :func:`gluon_attn.training.fit`; selects by the loss on held-out texts.

    What is held out is subsampled by the counts of the training texts, and their noise is its noise.
    """
    held_out = replace(held_out, counts=training.counts)

    def evaluate(model: HybridBlock) -> Mapping[str, float]:
        assert isinstance(model, Word2Vec)
        return {"loss": held_out_loss(model, held_out, sampling, seed)}

    return Task(
        lambda generator: batches(training, sampling, generator),
        steps_of(training, sampling),
        mean_loss,
        evaluate,
        select="loss",
        higher_is_better=False,
    )
