"""Predictions are in the order of the texts, with the weights of each, whatever the network returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from mxnet import nd

from gluon_attn.models.outputs import ClassifierOutput
from preprocessing.text.vocabulary import UNKNOWN_ID
from reproductions.tasks.classification.inputs import Documents, TokenSequences
from reproductions.tasks.classification.predictions import TextPredictions, classify


def ids(*rows: Sequence[int]) -> list[np.ndarray]:
    return [np.array(row, np.int32) for row in rows]


REVIEWS = ids([2, 6], [9], [], [4, 1, 1, 1, 3, 3, 3], [8, 8])
SEQUENCES = TokenSequences(5)


class Counting:
    """A stub: the logit of "positive" is the first id, and each token's weight is its id over the sum."""

    def __init__(self, *, attention: str) -> None:
        self.attention = attention

    def __call__(self, padded: nd.NDArray, lengths: nd.NDArray) -> ClassifierOutput:
        assert padded.dtype == np.int32
        first = padded[:, 0].astype("float32")
        logits = nd.stack(nd.zeros_like(first), first - 5, axis=1)
        values = padded.asnumpy() * (np.arange(padded.shape[1]) < lengths.asnumpy()[:, None])
        weights = values / np.maximum(1, values.sum(axis=1, keepdims=True))
        if self.attention == "matrix":
            length = padded.shape[1]
            matrix = np.repeat(weights[:, None], length, axis=1) * (1 + np.arange(length))[:, None]
            return ClassifierOutput(logits, matrix=nd.array(matrix))
        return ClassifierOutput(logits, weights=nd.array(weights) if self.attention == "vector" else None)


def predictions_of(attention: str, *, matrices: bool = False) -> TextPredictions:
    model: Any = Counting(attention=attention)
    return classify(model, SEQUENCES, REVIEWS, matrices=matrices)


def test_predictions_are_in_the_order_of_the_texts() -> None:
    predictions = predictions_of("vector")
    expected = 1 / (1 + np.exp(5 - np.array([2, 9, UNKNOWN_ID, 4, 8])))
    np.testing.assert_allclose(predictions.probability, expected, rtol=1e-5)
    np.testing.assert_allclose(predictions.probabilities.sum(axis=1), 1, rtol=1e-6)
    assert predictions.predicted.tolist() == (expected > 0.5).astype(int).tolist()
    wanted = [[0.25, 0.75], [1], [], [0.4, 0.1, 0.1, 0.1, 0.3], [0.5, 0.5]]
    for weights, of_text in zip(predictions.token_weights, wanted, strict=True):
        np.testing.assert_allclose(weights, of_text, rtol=1e-6)


def test_the_weight_of_a_token_is_its_mean_over_the_queries_of_the_text() -> None:
    predictions = predictions_of("matrix", matrices=True)
    np.testing.assert_allclose(predictions.matrices[0], [[0.25, 0.75], [0.5, 1.5]], rtol=1e-6)
    np.testing.assert_allclose(predictions.token_weights[0], [0.375, 1.125], rtol=1e-6)
    assert [matrix.shape for matrix in predictions.matrices] == [(2, 2), (1, 1), (0, 0), (5, 5), (2, 2)]
    assert predictions.token_weights[2].shape == (0,)
    assert [matrix.size for matrix in predictions_of("matrix").matrices] == [0] * 5


def test_queries_that_attend_to_nothing_do_not_count() -> None:
    """As the first word, where queries attend to the words before them."""

    def before(padded: nd.NDArray, lengths: nd.NDArray) -> ClassifierOutput:
        matrix = np.tril(np.ones((padded.shape[1], padded.shape[1])), -1)
        matrix /= np.maximum(1, matrix.sum(axis=1, keepdims=True))
        return ClassifierOutput(nd.zeros((len(padded), 2)), matrix=nd.array(np.repeat(matrix[None], len(padded), 0)))

    model: Any = before
    one, three = classify(model, SEQUENCES, ids([4], [4, 5, 6])).token_weights
    np.testing.assert_allclose(one, [0.0])
    np.testing.assert_allclose(three, [0.75, 0.25, 0.0])


def test_without_attention_there_are_no_weights() -> None:
    predictions = predictions_of("", matrices=True)
    assert [len(weights) for weights in predictions.token_weights] == [0] * 5 and not predictions.has_weights
    assert predictions.probability.min() > 0 and predictions_of("vector").has_weights


def test_all_hops_of_a_short_text_remain() -> None:
    def model(padded: nd.NDArray, lengths: nd.NDArray) -> ClassifierOutput:
        hops = nd.ones((len(padded), 3, padded.shape[1])) / padded.shape[1]
        return ClassifierOutput(nd.zeros((len(padded), 2)), hops=hops, penalty=nd.zeros((len(padded),)))

    predictions = classify(model, SEQUENCES, ids([4, 5], [6]), matrices=True)  # type: ignore[arg-type]
    assert [matrix.shape for matrix in predictions.matrices] == [(3, 2), (3, 1)]
    np.testing.assert_allclose(predictions.token_weights[0], [0.25, 0.25])


def test_the_weight_of_a_word_in_a_document_is_the_product_of_both_levels() -> None:
    def model(padded: nd.NDArray, counts: nd.NDArray, words: nd.NDArray) -> ClassifierOutput:
        real = np.arange(padded.shape[2]) < words.asnumpy()[:, :, None]
        of_words = padded.asnumpy() * real / np.maximum(1, (padded.asnumpy() * real).sum(axis=2, keepdims=True))
        of_sentences = words.asnumpy() / words.asnumpy().sum(axis=1, keepdims=True)
        logits = nd.zeros((len(padded), 3))
        return ClassifierOutput(logits, word_weights=nd.array(of_words), sentence_weights=nd.array(of_sentences))

    documents = [ids([7, 8], [9]), [], ids([2, 3, 4])]
    predictions = classify(model, Documents(), documents)  # type: ignore[arg-type]
    np.testing.assert_allclose(predictions.token_weights[0], [2 / 3 * 7 / 15, 2 / 3 * 8 / 15, 1 / 3], rtol=1e-6)
    np.testing.assert_allclose(predictions.token_weights[2], [2 / 9, 3 / 9, 4 / 9], rtol=1e-6)
    assert [len(weights) for weights in predictions.token_weights] == [3, 0, 3]
    assert [np.round(weights * 3).tolist() for weights in predictions.sentence_weights] == [[2, 1], [], [3]]
    np.testing.assert_allclose(predictions.probabilities, 1 / 3, rtol=1e-6)


def test_an_empty_list_has_no_predictions() -> None:
    model: Any = Counting(attention="vector")
    assert classify(model, SEQUENCES, []).probabilities.shape == (0, 2)
