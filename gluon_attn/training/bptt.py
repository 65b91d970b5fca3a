"""Streams of text for language models: side by side in rows, a few steps at a time, the state carried from one call to
the next (truncated backpropagation through time)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from mxnet import nd
from mxnet.gluon import HybridBlock

from gluon_attn.models.language_model import NO_TARGET, LanguageModel
from gluon_attn.models.outputs import LanguageModelOutput
from gluon_attn.training.objective import Batch, Objective


@dataclass(frozen=True)
class Piece:
    """Some steps of every row: inputs and targets (rows, steps) of int32, and how many of the targets are tokens, not
    ``NO_TARGET``."""

    inputs: np.ndarray
    targets: np.ndarray
    tokens: int


def pieces(ids: np.ndarray, rows: int, steps: int, first: int) -> list[Piece]:
    """Cut a text into rows of like length and these into pieces, all of one shape.

    Every token is a target exactly once, read behind the one before it; the row behind another one goes on where that
    one ends. The last row is filled up: the places behind its end read token 0 and have ``NO_TARGET``.

    Args:
        ids: (tokens,) the text.
        rows: number of rows, read at the same time; 1 reads the text as one, which gives its exact perplexity.
        steps: tokens of a row in a piece.
        first: what is read before the first token; of a text of sentences their end.

    Raises:
        ValueError: there is nothing to cut, or into nothing.
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
    """-ln p of each token in nats, (tokens,) in the order of the text, each read behind all that stands before it in
    its row."""
    state, found = model.start(len(stream[0].inputs)), []
    for piece in stream:
        output = model(_ids(piece.inputs), _ids(piece.targets), *state)
        state = output.state
        found.append(output.nll.asnumpy())
    return _in_order(found, stream)


def attention_weights(model: LanguageModel, stream: Sequence[Piece]) -> np.ndarray:
    """What each word of a stream looks at (:meth:`LanguageModel.attend`), (tokens, window) in the order of the text.

    Row i is of the step that reads token i - 1 to predict token i; its last place is the word before the one that is
    read, the place before it the word before that, and so on.
    """
    state, found = model.start(len(stream[0].inputs)), []
    for piece in stream:
        attended, state = model.attend(_ids(piece.inputs), *state)
        found.append(attended.asnumpy())
    return _in_order(found, stream)


def stream_perplexity(model: LanguageModel, stream: Sequence[Piece]) -> float:
    """exp of the mean of :func:`losses`, every token with the same weight."""
    return math.exp(losses(model, stream).mean(dtype=np.float64))


def _ids(values: np.ndarray) -> nd.NDArray:
    return nd.array(values, dtype="int32")


def _in_order(parts: Sequence[np.ndarray], stream: Sequence[Piece]) -> np.ndarray:
    """Of (rows, steps, ...) for each piece what belongs to a token, in the order of the text."""
    there = np.concatenate([piece.targets for piece in stream], axis=1) != NO_TARGET
    return np.concatenate(parts, axis=1)[there]


def language_objective(
    start: Sequence[nd.NDArray], training: Sequence[Piece], validation: Sequence[Piece], *, restart: float = 0.0
) -> Objective:
    """The task of predicting each token of a stream, for :func:`gluon_attn.training.loop.fit`.

    Every epoch reads the stream in order from the state before the first word. The loss of a step is the mean of -ln p
    over its tokens; training selects by the perplexity of the validation stream.

    A network that begins a text but once an epoch need not learn to: of twenty rows of validation text, two went from
    there into a state that no row of the training text was in, and never out of it (a loss of 15 nats for 5). So rows
    should now and then begin anew.

    Args:
        start: the state before the first word of as many rows as those of ``training``: :meth:`LanguageModel.start`.
        training, validation: what :func:`pieces` gives; they may differ in rows and in steps.
        restart: probability with which a row of a piece of the training stream begins in the state ``start`` instead of
            the one behind the piece before.
    """
    begin = [array.asnumpy() for array in start]
    carried: list[nd.NDArray] = []  # between two steps: the state behind the first

    def batches(generator: np.random.RandomState) -> Iterator[Batch]:
        carried[:] = start
        for piece in training:
            state = [array.asnumpy() for array in carried]
            anew = np.flatnonzero(generator.random_sample(len(piece.inputs)) < restart)
            for array, first in zip(state, begin, strict=True):
                array[anew] = first[anew]
            yield Batch((piece.inputs, piece.targets, *state), np.array([piece.tokens], np.float32))

    def loss(output: LanguageModelOutput, tokens: nd.NDArray) -> nd.NDArray:
        carried[:] = output.state
        return output.loss.sum() / tokens

    def evaluate(model: HybridBlock) -> Mapping[str, float]:
        assert isinstance(model, LanguageModel)
        found = stream_perplexity(model, validation)
        return {"perplexity": found, "loss": math.log(found)}

    return Objective(batches, len(training), loss, evaluate, select="perplexity", higher_is_better=False)
