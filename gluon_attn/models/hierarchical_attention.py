"""Hierarchical attention networks (Yang et al., 2016, "Hierarchical attention networks for document classification",
sec. 2.2), and the same with a mean or a maximum in place of attention."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from mxnet import nd
from mxnet.gluon import HybridBlock, nn

from gluon_attn.attention.masks import token_mask
from gluon_attn.attention.pooling import AttentionPooling, max_pooling, mean_pooling
from gluon_attn.layers.encoders import BidirectionalEncoder
from gluon_attn.layers.graphs import Graphs
from gluon_attn.models.outputs import Classifier
from gluon_attn.typing import Operators, Tensor, Tensors

_POOLINGS = ("attention", "mean", "max")


class LevelEncoder(HybridBlock):
    """A bidirectional GRU over a sequence of vectors and what makes one vector of its states.

    Args:
        pooling: ``attention``, ``mean`` or ``max``.
        units: width of one direction.
        attention_units: width of the context vector u_w or u_s and of the hidden layer.
        in_units: width of the vectors.

    Call: ``(sequence, lengths) -> (vector, weights)``, or ``(vector,)`` without attention: sequence (batch, length,
    in_units), lengths (batch,) of 1 or more, vector (batch, 2 * units), weights (batch, length), zero on padding.

    Raises:
        ValueError: another pooling.
    """

    def __init__(self, pooling: str, units: int, attention_units: int, in_units: int, **parameters: Any) -> None:
        super().__init__(**parameters)
        if pooling not in _POOLINGS:
            raise ValueError(f"pooling {pooling!r} is unknown; choose one of {', '.join(_POOLINGS)}")
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
    """Words make a sentence, sentences make a document, and on both levels attention says which of them count.

        h_it = BiGRU over the embeddings of sentence i      s_i = sum over t of alpha_it h_it      (eq. 1-7)
        h_i  = BiGRU over the s_i                           v = sum over i of alpha_i h_i          (eq. 8-10)
        p = softmax(W v + b)                                                                      (eq. 11)

    with the weights of :class:`~gluon_attn.attention.pooling.AttentionPooling`, whose last layer is the context vector
    u_w of the words and u_s of the sentences. ``pooling`` puts a mean (HN-AVE) or a maximum (HN-MAX) in their place.

    Only real sentences are read, those of like length together, wherever in the batch they stand; so padding costs
    nothing and changes nothing, not a bit. How long each is has to be known before any graph runs, so the counts are
    read back from the arrays that hold them.

    Args:
        vocabulary_size: number of words.
        embedding_units: width of an embedding.
        units: width of one direction of both GRUs.
        attention_units: width of both context vectors and of the hidden layers before them.
        classes: number of labels.
        pooling: ``attention`` (HN-ATT), ``mean`` (HN-AVE) or ``max`` (HN-MAX), on both levels.
        embedding_dropout: dropout of the embeddings.
        dropout: dropout of the vectors of sentences and documents; the paper has none.
        embedding: gives vectors (batch, words, embedding_units) for ids (batch, words); one vector a word if None.

    Call: ``(words, sentence_counts, word_counts) -> ClassifierOutput``: words (documents, sentences, words) of int32,
    sentence_counts (documents,) sentences of a document, word_counts (documents, sentences) words of a sentence,
    anything after a document's last; logits, and with attention word_weights and sentence_weights.

    Raises:
        ValueError: a document has no sentence, one of its sentences no word, or there are fewer than it says.
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
        inside, lengths = np.flatnonzero(real), lengths[real]  # the real sentences: where they stand, how long they are

        # Sentences of like length are read together; `place` says where the vector of each is found afterwards.
        rows, read = words.reshape((-3, 0)), []
        place, found = np.zeros(real.size, np.int32), 0
        for group, width in _groups(lengths):
            ids = _resized(nd.take(rows, _array(inside[group], "int32")), width)
            read.append(self._graphs(self._sentence, ids, _array(lengths[group], "float32")))
            place[inside[group]] = np.arange(found, found + len(group))
            found += len(group)
        place = place.reshape(real.shape)

        most = _rung(int(counts.max()))
        kept = np.zeros((documents, most), np.int32)
        kept[:, :sentences] = place[:, :most]
        vectors = nd.take(nd.concat(*(vector for vector, *_ in read), dim=0), _array(kept, "int32"))
        logits, *sentence_weights = self._graphs(self._document, vectors, _array(counts, "float32"))
        if not sentence_weights:
            return (logits,)
        word_weights = nd.concat(*(_resized(weights, longest) for _, weights in read), dim=0)
        word_weights = nd.take(word_weights, _array(place, "int32")) * _array(real[:, :, None], "float32")
        return logits, word_weights, _resized(sentence_weights[0], sentences)

    def _sentence(self, F: Operators, ids: Tensor, lengths: Tensor) -> Tensors:
        vector, *weights = self.words(self.embedding_dropout(self.embedding(ids)), lengths)
        return (self.dropout(vector), *weights)

    def _document(self, F: Operators, vectors: Tensor, counts: Tensor) -> Tensors:
        vector, *weights = self.sentences(vectors, counts)
        return (self.output(self.dropout(vector)), *weights)


def _check(counts: np.ndarray, lengths: np.ndarray, longest: int) -> None:
    """Sentences of each document (documents,) and words of each sentence (documents, sentences) are possible.

    Raises:
        ValueError: they are not.
    """
    sentences = lengths.shape[1]
    for document in np.flatnonzero((counts < 1) | (counts > sentences)):
        raise ValueError(f"document {document} has {counts[document]} sentences, not 1 to {sentences}; count them")
    real = np.arange(sentences) < counts[:, None]
    for document, sentence in np.argwhere(real & ((lengths < 1) | (lengths > longest))):
        words = lengths[document, sentence]
        raise ValueError(f"document {document}, sentence {sentence}: {words} words, not 1 to {longest}; count them")


def _groups(lengths: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
    """Cut sentences of these lengths (sentences,) into groups of like length, longest first: numbers of sentences, and
    the width that they are padded to.

    Widths and sizes come from :func:`_rung`, so groups come in few shapes, as graphs want it. A group is filled up with
    the next shorter sentences, and the last of all with its own last sentence again and again.
    """
    order = np.argsort(-lengths, kind="stable")
    while len(order):
        widths = _rung(lengths[order])
        size = int(_rung((widths == widths[0]).sum()))
        group, order = order[:size], order[size:]
        yield np.pad(group, (0, size - len(group)), mode="edge"), int(widths[0])


# Numbers of which the next is a third or a half larger: rounding up to one of them wastes a sixth.
_RUNGS = np.sort(np.outer([8, 12], 2 ** np.arange(24)).ravel())


def _rung(numbers: Any) -> Any:
    """The least of the rungs that is not below a number, for one number or an array."""
    return _RUNGS[np.searchsorted(_RUNGS, numbers)]


def _resized(values: nd.NDArray, width: int) -> nd.NDArray:
    """The first ``width`` columns of (rows, columns), zeros where there are fewer."""
    missing = width - values.shape[1]
    if missing <= 0:
        return nd.slice_axis(values, axis=1, begin=0, end=width)
    return nd.concat(values, nd.zeros((values.shape[0], missing), dtype=values.dtype), dim=1)


def _array(values: np.ndarray, dtype: str) -> nd.NDArray:
    return nd.array(values, dtype=dtype)
