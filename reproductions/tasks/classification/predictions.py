"""Predictions of trained classifiers with their attention weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from mxnet import nd

from gluon_attn.models.outputs import Classifier, ClassifierOutput
from gluon_attn.training.batching import length_batches
from reproductions.tasks.classification.inputs import Text, TextInputs


@dataclass(frozen=True)
class TextPredictions:
    """Predictions for a list of texts, in their order.

    Attributes:
        probabilities: (texts, classes).
        token_weights: for each text (tokens,), the weight of each token, averaged over hops, or over the queries that
            attend to any; for a document, the weight of a word in its sentence times that of the sentence. Empty for
            networks without attention. If padding is not masked, the weights sum to less than 1: the rest is on
            padding.
        sentence_weights: for each document (sentences,).
        matrices: for each text (queries, tokens), if requested.
        queries: what the rows of a matrix are: ``token``, the tokens themselves, or ``hop``.
    """

    probabilities: np.ndarray
    token_weights: list[np.ndarray]
    sentence_weights: list[np.ndarray]
    matrices: list[np.ndarray]
    queries: str

    @property
    def probability(self) -> np.ndarray:
        """Probability of the second of two classes, (texts,)."""
        return self.probabilities[:, 1]

    @property
    def predicted(self) -> np.ndarray:
        """The likeliest class, (texts,)."""
        return self.probabilities.argmax(axis=1)

    @property
    def has_weights(self) -> bool:
        """Whether the network has attention over tokens."""
        return any(len(weights) for weights in self.token_weights)


def classify(
    model: Classifier,
    inputs: TextInputs,
    texts: Sequence[Text],
    *,
    matrices: bool = False,
    batch_size: int | None = None,
) -> TextPredictions:
    """Predict the classes of texts with a trained network, in batches of texts of similar length. The default batch
    size is ``inputs.batch_size``."""
    weights = [_NO_WEIGHTS] * len(texts)
    batches, queries = [], "hop"
    for rows in length_batches(np.array([len(text) for text in texts]), batch_size or inputs.batch_size):
        batch = [texts[row] for row in rows]
        output = model(*(nd.array(array, dtype=array.dtype) for array in inputs.arrays(batch)))
        batches.append((rows, nd.softmax(output.logits).asnumpy()))
        queries = "hop" if output.matrix is None else "token"
        for row, collected in zip(rows, _weights(output, batch, inputs.max_length), strict=True):
            weights[row] = collected if matrices else collected._replace(matrix=_NO_WEIGHTS.matrix)
    probabilities = np.zeros((len(texts), batches[0][1].shape[1] if batches else 2))
    for rows, of_batch in batches:
        probabilities[rows] = of_batch
    tokens, sentences, of_rows = ([getattr(each, name) for each in weights] for name in _Weights._fields)
    return TextPredictions(probabilities, tokens, sentences, of_rows, queries)


class _Weights(NamedTuple):
    """Weights of one text, without padding, as in :class:`TextPredictions`."""

    tokens: np.ndarray
    sentences: np.ndarray
    matrix: np.ndarray


_NOTHING = np.zeros(0, np.float32)
_NO_WEIGHTS = _Weights(_NOTHING, _NOTHING, np.zeros((0, 0), np.float32))


def _weights(output: ClassifierOutput, texts: Sequence[Text], max_length: int | None) -> list[_Weights]:
    """The weights of each text of a batch, for all kinds of networks.

    Args:
        output: output of the network for the batch.
        texts: the texts of the batch.
        max_length: maximum number of tokens of a text.
    """
    arrays = {name: value.asnumpy() for name, value in output._asdict().items() if value is not None}
    collected = []
    for row, text in enumerate(texts):
        tokens = min(len(text), max_length or len(text))
        if "word_weights" in arrays:
            sentences = arrays["sentence_weights"][row, : len(text)]
            words = zip(sentences, arrays["word_weights"][row, : len(text)], text, strict=True)
            in_document = [_NOTHING, *(weight * of_words[: len(ids)] for weight, of_words, ids in words)]
            collected.append(_Weights(np.concatenate(in_document), sentences, _NO_WEIGHTS.matrix))
            continue
        if "matrix" in arrays:
            matrix = arrays["matrix"][row, :tokens, :tokens]
        elif "hops" in arrays:
            matrix = arrays["hops"][row, :, :tokens]
        elif "weights" in arrays:
            matrix = arrays["weights"][row, None, :tokens]
        else:
            collected.append(_NO_WEIGHTS)
            continue
        collected.append(_Weights(_mean_over_queries(matrix) if tokens else _NOTHING, _NOTHING, matrix))
    return collected


def _mean_over_queries(matrix: np.ndarray) -> np.ndarray:
    """(queries, tokens) -> (tokens,), over the queries that attend to a token: where words attend to those before them,
    the first one attends to none."""
    attending = matrix[matrix.any(axis=1)]
    return np.asarray((attending if len(attending) else matrix).mean(axis=0))
