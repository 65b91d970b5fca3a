"""Hierarchical attention networks (Yang et al., 2016, "Hierarchical attention networks for document classification",
sec. 2.2), and the same networks with mean or max pooling instead of attention."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from mxnet import nd
from mxnet.gluon import HybridBlock, nn

from gluon_attn.attention.masks import token_mask
from gluon_attn.attention.pooling import AttentionPooling, max_pooling, mean_pooling
from gluon_attn.errors import UsageError
from gluon_attn.layers.encoders import BidirectionalEncoder
from gluon_attn.layers.graphs import Graphs
from gluon_attn.models.outputs import Classifier
from gluon_attn.typing import Operators, Tensor, Tensors

_POOLINGS = ("attention", "mean", "max")


class LevelEncoder(HybridBlock):
    """One level: a bidirectional GRU over the words of a sentence or the sentences of a document, and pooling.

    Args:
        pooling: ``attention``, ``mean`` or ``max``.
        units: width of one direction.
        attention_units: width of the context vector u_w or u_s and of the hidden layer.
        in_units: width of the input vectors.

    Call: ``(sequence, lengths) -> (vector, weights)``, or ``(vector,)`` without attention: sequence (batch, length,
    in_units), lengths (batch,) of 1 or more, vector (batch, 2 * units), weights (batch, length), zero on padding.

    Raises:
        UsageError: if the pooling is unknown.
    """

    def __init__(self, pooling: str, units: int, attention_units: int, in_units: int, **parameters: Any) -> None:
        super().__init__(**parameters)
        if pooling not in _POOLINGS:
            raise UsageError(f"pooling {pooling!r} is unknown; choose one of {', '.join(_POOLINGS)}")
        self._pooling = pooling
        with self.name_scope():
            self.encoder = BidirectionalEncoder("gru", units, layers=1, in_units=in_units)
            if pooling == "attention":
                self.attention = AttentionPooling(attention_units, in_units=2 * units)

    def hybrid_forward(self, F: Operators, sequence: Tensor, lengths: Tensor) -> Tensors:
        states, _ = self.encoder(sequence, lengths)
        mask = token_mask(F, states, lengths)
        if self._pooling == "attention":
            vector, weights = self.attention(states, mask)
            return vector, weights
        return ((mean_pooling if self._pooling == "mean" else max_pooling)(F, states, mask),)


class HierarchicalAttentionNetwork(Classifier):
    """Pools words into sentences and sentences into a document, with attention on both levels.

        h_it = BiGRU over the embeddings of sentence i      s_i = sum over t of alpha_it h_it      (eq. 1-7)
        h_i  = BiGRU over the s_i                           v = sum over i of alpha_i h_i          (eq. 8-10)
        p = softmax(W v + b)                                                                      (eq. 11)

    with the weights of :class:`~gluon_attn.attention.pooling.AttentionPooling`, whose last layer is the context vector
    u_w of the words and u_s of the sentences. ``pooling`` replaces both by a mean (HN-AVE) or a maximum (HN-MAX).

    Only existing sentences are encoded, in groups of similar length (:func:`length_groups`), so padding costs no time
    and does not change the result. Lengths must be known before any graph runs, so the counts are first copied to
    NumPy.

    Args:
        vocabulary_size: number of words.
        embedding_units: width of an embedding.
        units: width of one direction of both GRUs.
        attention_units: width of both context vectors and of the hidden layers before them.
        classes: number of labels.
        pooling: ``attention`` (HN-ATT), ``mean`` (HN-AVE) or ``max`` (HN-MAX), on both levels.
        embedding_dropout: dropout rate of the embeddings.
        dropout: dropout rate of sentence and document vectors; the paper has none.
        embedding: maps ids (batch, words) to vectors (batch, words, embedding_units); an ``Embedding`` if None.

    Call: ``(words, sentence_counts, word_counts) -> ClassifierOutput``: words (documents, sentences, words) of int32;
    sentence_counts (documents,), the number of sentences of each document; word_counts (documents, sentences), the
    number of words of each sentence, arbitrary after a document's last; logits, and with attention word_weights and
    sentence_weights.

    Raises:
        ValueError: if a document has no sentences or a sentence no words, or if a count exceeds the shape of ``words``.
    """

    outputs = ("word_weights", "sentence_weights")

    def __init__(
        self,
        *,
        vocabulary_size: int,
        embedding_units: int,
        units: int,
        attention_units: int,
        classes: int,
        pooling: str,
        embedding_dropout: float,
        dropout: float,
        embedding: HybridBlock | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__(**parameters)
        self._graphs = Graphs(self)
        with self.name_scope():
            if embedding is None:
                embedding = nn.Embedding(vocabulary_size, embedding_units, sparse_grad=True)
            self.embedding = embedding
            self.embedding_dropout = nn.Dropout(embedding_dropout)
            self.words = LevelEncoder(pooling, units, attention_units, in_units=embedding_units)
            self.sentences = LevelEncoder(pooling, units, attention_units, in_units=2 * units)
            self.dropout = nn.Dropout(dropout)
            self.output = nn.Dense(classes, in_units=2 * units)

    def forward(
        self, words: nd.NDArray, sentence_counts: nd.NDArray, word_counts: nd.NDArray
    ) -> tuple[nd.NDArray, ...]:
        documents, sentences, longest = words.shape
        counts, lengths = (array.asnumpy().astype(np.int64) for array in (sentence_counts, word_counts))
        _check(counts, lengths, longest)
        real = np.arange(sentences) < counts[:, None]
        positions, lengths = np.flatnonzero(real), lengths[real]

        # Encode sentences of similar length together; `row` is the row of each sentence's vector in the result.
        flat, encoded = words.reshape((-3, 0)), []
        row, total = np.zeros(real.size, np.int32), 0
        for group, width in length_groups(lengths):
            ids = _resized(nd.take(flat, nd.array(positions[group], dtype="int32")), width)
            encoded.append(self._graphs(self._sentence, ids, nd.array(lengths[group], dtype="float32")))
            row[positions[group]] = np.arange(total, total + len(group))
            total += len(group)
        row = row.reshape(real.shape)

        # The vectors of each document, padded to one of few numbers of sentences.
        most = _rounded_up(int(counts.max()))
        padded = np.zeros((documents, most), np.int32)
        padded[:, :sentences] = row[:, :most]
        vectors = nd.take(nd.concat(*(vector for vector, *_ in encoded), dim=0), nd.array(padded, dtype="int32"))
        logits, *sentence_weights = self._graphs(self._document, vectors, nd.array(counts, dtype="float32"))
        if not sentence_weights:
            return (logits,)
        word_weights = nd.concat(*(_resized(weights, longest) for _, weights in encoded), dim=0)
        word_weights = nd.take(word_weights, nd.array(row, dtype="int32")) * nd.array(real[:, :, None], dtype="float32")
        return logits, word_weights, _resized(sentence_weights[0], sentences)

    def _sentence(self, F: Operators, ids: Tensor, lengths: Tensor) -> Tensors:
        vector, *weights = self.words(self.embedding_dropout(self.embedding(ids)), lengths)
        return (self.dropout(vector), *weights)

    def _document(self, F: Operators, vectors: Tensor, counts: Tensor) -> Tensors:
        vector, *weights = self.sentences(vectors, counts)
        return (self.output(self.dropout(vector)), *weights)


def _check(counts: np.ndarray, lengths: np.ndarray, longest: int) -> None:
    """Check the numbers of sentences (documents,) and of words (documents, sentences).

    Raises:
        ValueError: if a count is zero or exceeds the shape.
    """
    sentences = lengths.shape[1]
    wrong = (counts < 1) | (counts > sentences)
    if wrong.any():
        document = wrong.argmax()
        raise ValueError(f"document {document} has {counts[document]} sentences, not 1 to {sentences}; count them")
    wrong = (np.arange(sentences) < counts[:, None]) & ((lengths < 1) | (lengths > longest))
    if wrong.any():
        document, sentence = np.argwhere(wrong)[0]
        words = lengths[document, sentence]
        raise ValueError(f"document {document}, sentence {sentence}: {words} words, not 1 to {longest}; count them")


def length_groups(lengths: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
    """Group sequences of similar length, the longest first, so that few shapes are compiled and padding is short.

    Widths and sizes of groups are 8, 12, 16, 24, 32, ..., so rounding up wastes a sixth on average. A group is filled
    up with the next shorter sequences, the last group by repeating its last sequence.

    Args:
        lengths: (sequences,), 1 or more each.

    Yields:
        The indices of the sequences of a group, and the width to pad them to.
    """
    order = np.argsort(-lengths, kind="stable")
    while len(order):
        widths = _rounded_up(lengths[order])
        size = int(_rounded_up((widths == widths[0]).sum()))
        group, order = order[:size], order[size:]
        yield np.pad(group, (0, size - len(group)), mode="edge"), int(widths[0])


_SIZES = np.sort(np.outer([8, 12], 2 ** np.arange(24)).ravel())


def _rounded_up(numbers: Any) -> Any:
    """Round a number, or each number of an array, up to the next of the sizes."""
    return _SIZES[np.searchsorted(_SIZES, numbers)]


def _resized(values: nd.NDArray, width: int) -> nd.NDArray:
    """Return the first ``width`` columns of (rows, columns), padded with zeros if there are fewer."""
    missing = width - values.shape[1]
    if missing <= 0:
        return nd.slice_axis(values, axis=1, begin=0, end=width)
    return nd.concat(values, nd.zeros((values.shape[0], missing), dtype=values.dtype), dim=1)
