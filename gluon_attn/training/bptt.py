"""Truncated backpropagation through time: a text is cut into parallel rows, which are read a few steps at a time; the
state is carried from one call to the next."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from mxnet import nd
from mxnet.gluon import HybridBlock

from gluon_attn.metrics import perplexity_of
from gluon_attn.models.language_model import NO_TARGET, LanguageModel
from gluon_attn.models.outputs import LanguageModelOutput
from gluon_attn.training.objective import Batch, Objective, Share, share_of_rows, share_of_sum


@dataclass(frozen=True)
class Piece:
    """Several steps of every row: inputs and targets (rows, steps) of int32, and the number of targets that are not
    ``NO_TARGET``."""

    inputs: np.ndarray
    targets: np.ndarray
    tokens: int


def pieces(ids: np.ndarray, rows: int, steps: int, first: int) -> list[Piece]:
    """Cut a text into rows of equal length, and the rows into pieces of equal shape.

    Every token is a target exactly once, predicted from the previous one; each row starts where the previous row ends.
    The rows at the end that the text does not fill are padded with token 0 as input and ``NO_TARGET`` as target.

    Args:
        ids: (tokens,), the text.
        rows: number of rows read in parallel; 1 reads the text as a whole, which gives its exact perplexity.
        steps: number of tokens of a row in a piece.
        first: the input for the first token; the end-of-sentence token in a text of sentences.

    Raises:
        ValueError: if there are no tokens, rows or steps.
    """
    if min(len(ids), rows, steps) < 1:
        raise ValueError(f"{len(ids)} tokens cannot be cut into {rows} rows of {steps} steps; each must be 1 or more")
    count = -(-len(ids) // (rows * steps))
    filled = np.zeros((2, count * rows * steps), np.int32)
    filled[1] = NO_TARGET
    filled[0, : len(ids)], filled[1, : len(ids)] = np.append(first, ids[:-1]), ids
    cut = filled.reshape(2, rows, count, steps).transpose(2, 0, 1, 3)
    return [Piece(inputs, targets, int((targets != NO_TARGET).sum())) for inputs, targets in np.ascontiguousarray(cut)]


def losses(model: LanguageModel, stream: Sequence[Piece]) -> np.ndarray:
    """-ln p of each token in nats, (tokens,) in text order, given all previous tokens of its row."""
    state, nlls = model.start(len(stream[0].inputs)), []
    for piece in stream:
        output = model(_ids(piece.inputs), _ids(piece.targets), *state)
        state = output.state
        nlls.append(output.nll.asnumpy())
    return _in_order(nlls, stream)


def attention_weights(model: LanguageModel, stream: Sequence[Piece]) -> np.ndarray:
    """Return the attention weights of each word of a stream (:meth:`LanguageModel.attend`), (tokens, window) in text
    order.

    Row i belongs to the step that reads token i - 1 to predict token i. Its last column is token i - 2, the column
    before it token i - 3, and so on.
    """
    state, weights = model.start(len(stream[0].inputs)), []
    for piece in stream:
        attended, state = model.attend(_ids(piece.inputs), *state)
        weights.append(attended.asnumpy())
    return _in_order(weights, stream)


def stream_perplexity(model: LanguageModel, stream: Sequence[Piece]) -> float:
    """Perplexity of a stream: exp of the mean of :func:`losses`, each token with equal weight."""
    return perplexity_of(losses(model, stream).mean(dtype=np.float64))


def _ids(values: np.ndarray) -> nd.NDArray:
    return nd.array(values, dtype="int32")


def _in_order(parts: Sequence[np.ndarray], stream: Sequence[Piece]) -> np.ndarray:
    """Concatenate values (rows, steps, ...) of each piece to (tokens, ...) in text order, without padding."""
    is_token = np.concatenate([piece.targets for piece in stream], axis=1) != NO_TARGET
    return np.concatenate(parts, axis=1)[is_token]


def language_objective(
    start: Sequence[nd.NDArray], training: Sequence[Piece], validation: Sequence[Piece], *, restart: float = 0.0
) -> Objective:
    """Objective of predicting each token of a stream, for :func:`gluon_attn.training.loop.fit`.

    Every epoch reads the stream in order from the initial state. The loss of a step is the mean of -ln p over its
    tokens; the epoch is selected by the perplexity of the validation stream.

    If rows start from the initial state only once per epoch, the network does not learn to start: 2 of 20 validation
    rows diverged to a state that never occurs in training (15 nats per token instead of 5). Hence ``restart``.

    Args:
        start: the initial state, :meth:`LanguageModel.start`, for as many rows as ``training`` has.
        training, validation: from :func:`pieces`; they may differ in rows and in steps.
        restart: probability with which a row of a training piece starts from ``start`` instead of the last state of
            the previous piece.
    """
    initial = [array.asnumpy() for array in start]
    carried: list[nd.NDArray] = []  # the last state of the previous step
    own: list[slice] = []  # the rows that this worker computes, if not all; it carries no other states

    def batches(generator: np.random.RandomState) -> Iterator[Batch]:
        carried[:] = start
        for piece in training:
            state = [array.asnumpy() for array in carried]
            restarted = np.flatnonzero(generator.random_sample(len(piece.inputs)) < restart)
            for array, first in zip(state, initial, strict=True):
                array[restarted] = first[restarted]
            yield Batch((piece.inputs, piece.targets, *state), np.array([piece.tokens], np.float32))

    def share(batch: Batch, number: int, shares: int) -> Share:
        own[:] = [share_of_rows(len(batch.inputs[0]), number, shares)[1]]
        return share_of_sum(batch, number, shares)

    def loss(output: LanguageModelOutput, tokens: nd.NDArray) -> nd.NDArray:
        carried[:] = output.state if not own else map(_with_rows, carried, own * len(carried), output.state)
        return output.loss.sum() / tokens

    def evaluate(model: HybridBlock) -> Mapping[str, float]:
        assert isinstance(model, LanguageModel)
        value = stream_perplexity(model, validation)
        return {"perplexity": value, "loss": math.log(value)}

    return Objective(batches, len(training), loss, evaluate, "perplexity", share=share)


def _with_rows(whole: nd.NDArray, rows: slice, values: nd.NDArray) -> nd.NDArray:
    """Return a copy in which some rows are replaced."""
    array = whole.asnumpy()
    array[rows] = values.asnumpy()
    return nd.array(array)
