"""Word vectors by negative sampling: skip-gram and continuous bag of words (Mikolov, Chen, Corrado and Dean, 2013,
"Efficient estimation of word representations in vector space"; Mikolov, Sutskever, Chen, Corrado and Dean, 2013,
"Distributed representations of words and phrases and their compositionality", eq. 4 and 5).

The authors update two vectors at a time and draw noise words for each pair of words. Here a batch consists of rows of
contiguous text that share their noise words. The scores of all words with all noise words are one matrix product, and
so are the scores of the words of a row with all words near them; words outside the window are masked. Each noise word
has a weight of ``negatives / noise`` for each pair, so the loss has the same mean as with ``negatives`` noise words per
pair. A noise word that happens to be in the window is not left out.

Measured in words per second on a stream of one million words drawn from 60 000 by Zipf's law, with 100 units, window 5,
5 negatives and one thread: batches of pairs, each with its own noise, in MXNet, 59 000; rows with shared noise, 260 000
in NumPy (gradients sorted and summed by word) and 310 000 to 490 000 in MXNet (1 024 and 4 096 words per batch). Ten
million words thus take about half a minute per epoch. Gradients are row-sparse: the shared training loop reads and
updates only the rows of a batch.
"""

from __future__ import annotations

from typing import Any

import mxnet as mx
import numpy as np
from mxnet.gluon import HybridBlock, nn

from gluon_attn.errors import UsageError
from gluon_attn.typing import Operators, Tensor

KINDS = ("skip-gram", "cbow")


class Word2Vec(HybridBlock):
    """Two vectors for each word: v if it predicts and u if it is predicted.

        skip-gram, for word w and context word c:          -ln s(v_w . u_c) - sum over k noise words of ln s(-v_w . u_n)
        cbow, for word w with v the mean over its context: -ln s(v . u_w) - sum over k noise words of ln s(-v . u_n)

    with s the logistic function.

    Args:
        kind: ``skip-gram`` or ``cbow``.
        vocabulary_size: number of words.
        units: width of a vector.
        negatives: number of noise words per pair, *k*.
        noise: number of noise words per batch, shared by all its pairs.

    Call: ``(words, near, noise, mask, contexts) -> (loss, examples)``: words (rows, length) of int32; near (rows,
    length + 2 * window), the words with their surroundings; noise (noise,); mask (rows, length, length + 2 * window), 1
    for each context word; contexts (rows, length), the number of context words; loss (rows,) in nats, summed over the
    examples; examples (rows,), their number: pairs of a word and a context word, or words that have a context.

    Raises:
        UsageError: if ``kind`` is unknown.
    """

    def __init__(
        self, *, kind: str, vocabulary_size: int, units: int, negatives: int, noise: int, **parameters: Any
    ) -> None:
        super().__init__(**parameters)
        if kind not in KINDS:
            raise UsageError(f"kind {kind!r} is unknown; choose one of {', '.join(KINDS)}")
        self._cbow = kind == "cbow"
        self._noise, self._weight = noise, negatives / noise
        uniform = mx.init.Uniform(0.5 / units)
        with self.name_scope():
            self.predicting = nn.Embedding(vocabulary_size, units, weight_initializer=uniform, sparse_grad=True)
            self.predicted = nn.Embedding(vocabulary_size, units, weight_initializer="zeros", sparse_grad=True)

    def hybrid_forward(
        self, F: Operators, words: Tensor, near: Tensor, noise: Tensor, mask: Tensor, contexts: Tensor
    ) -> tuple[Tensor, Tensor]:
        targets = words if self._cbow else near
        # One lookup for both: adding two row-sparse gradients would take longer.
        both = self.predicted(F.concat(F.reshape(targets, (-1,)), noise, dim=0))
        positive = F.slice_axis(both, axis=0, begin=0, end=-self._noise)
        positive = F.reshape_like(positive, targets, lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=2)
        if self._cbow:
            pairs = F.minimum(contexts, 1.0)  # a word without context is not predicted
            mean = F.broadcast_div(mask, F.expand_dims(F.maximum(contexts, 1.0), axis=2))
            predicting = F.batch_dot(mean, self.predicting(near))
            example = F.expand_dims(F.reshape(predicting, (-3, 0)), axis=1)
            scores = F.batch_dot(example, F.expand_dims(F.reshape(positive, (-3, 0)), axis=2))
            scores, counted = F.reshape_like(scores, contexts), pairs
        else:
            pairs = contexts
            predicting = self.predicting(words)
            scores, counted = F.batch_dot(predicting, positive, transpose_b=True), mask
        negative = F.slice_axis(both, axis=0, begin=-self._noise, end=None)
        noise_scores = F.FullyConnected(predicting, negative, no_bias=True, num_hidden=self._noise, flatten=False)
        # Products with the weights take a tenth of the time of sums over an axis.
        negative_loss = F.batch_dot(F.expand_dims(pairs, axis=1), F.Activation(noise_scores, act_type="softrelu"))
        positive_loss = F.reshape(F.Activation(-scores, act_type="softrelu"), (0, 1, -1))
        positive_loss = F.batch_dot(positive_loss, F.reshape(counted, (0, -1, 1)))
        loss = F.reshape(positive_loss, (-1,)) + self._weight * F.sum(negative_loss, axis=(1, 2))
        return loss, F.sum(pairs, axis=1)

    def vectors(self) -> np.ndarray:
        """Return the vectors v (vocabulary, units), which are used as word vectors after training."""
        vectors: np.ndarray = self.predicting.weight.data().asnumpy()
        return vectors
