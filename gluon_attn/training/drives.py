"""Sequences of frames of a drive: training a network that steers, and predicting a whole drive."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from mxnet import nd
from mxnet.gluon import HybridBlock

from gluon_attn.errors import UsageError
from gluon_attn.models.visual_attention_driving import Steering, unattended
from gluon_attn.training.objective import Batch, Objective, share_of_mean


@dataclass(frozen=True)
class Frames:
    """The frames of a split in temporal order.

    Attributes:
        pixels: (frames, height, width, 3) uint8.
        inputs: converts pixels to float32 inputs (frames, 3, height, width).
        target: (frames,), in degrees.
        stretches: row numbers of consecutive frames without a gap in time.
    """

    pixels: np.ndarray
    inputs: Callable[[np.ndarray], np.ndarray]
    target: np.ndarray
    stretches: Sequence[np.ndarray]


@dataclass(frozen=True)
class Predictions:
    """Predictions of a network for each frame of a split.

    Attributes:
        degrees: (frames,).
        weights: (frames, regions); None without attention.
    """

    degrees: np.ndarray
    weights: np.ndarray | None


@dataclass(frozen=True)
class Stretch:
    """Values that a network with memory computes for the frames of one stretch, all (frames, ...): row numbers of the
    frames, degrees, weights, features, and h and c *before* each frame."""

    rows: np.ndarray
    degrees: np.ndarray
    weights: np.ndarray
    features: np.ndarray
    h: np.ndarray
    c: np.ndarray


def steering_objective(
    train: Frames,
    validation: Frames,
    *,
    steps: int,
    batch_size: int,
    state_units: int,
    penalty: float = 0.0,
    mirror: bool = False,
    brightness: float = 0.0,
) -> Objective:
    """Objective of imitating a driver's steering, for :func:`gluon_attn.training.loop.fit`.

    An epoch reads as many frames as the split has, in sequences with random starts whose state is initialised from
    their first frame. The loss of a sequence is the mean absolute error in degrees plus ``penalty / steps`` times
    :func:`unattended`. This is Kim and Canny's objective (2017, eq. 6) divided by the number of steps, except that they
    sum over regions instead of averaging. The epoch is selected by the mean absolute error on validation.

    Args:
        train, validation: frames of the two splits.
        steps: number of frames per sequence.
        batch_size: number of sequences per step.
        state_units: width of the network's state; 0 without memory.
        penalty: lambda.
        mirror: whether to mirror half of the sequences and their targets at random.
        brightness: the last channel, the value of HSV, is multiplied by a random factor that differs from 1 by at most
            this much, the same for a whole sequence, and clipped at 255.

    Raises:
        UsageError: if the training split, or its stretches without a gap, are too short.
    """
    starts = np.concatenate([rows[: max(0, len(rows) - steps + 1)] for rows in train.stretches])
    count = len(train.target) // (steps * batch_size)
    if count < 1:
        reason = f"{len(train.target)} training frames are too few for one batch of {batch_size} sequences of {steps}"
        raise UsageError(f"{reason}; record a longer drive")
    if len(starts) < count * batch_size:
        reason = f"{len(starts)} sequences of {steps} frames fit between the gaps, {count * batch_size} are needed"
        raise UsageError(f"{reason}; record a drive with fewer gaps")

    def batches(generator: np.random.RandomState) -> Iterator[Batch]:
        chosen = generator.choice(starts, (count, batch_size), replace=False)
        mirrored = generator.random_sample(chosen.shape) < 0.5
        factors = 1 + brightness * (2 * generator.random_sample(chosen.shape) - 1)
        for first, flip, factor in zip(chosen, mirrored, factors, strict=True):
            rows = first[:, None] + np.arange(steps)
            target = train.target[rows].astype(np.float32)
            pixels = train.pixels[rows]
            if mirror:
                pixels[flip] = pixels[flip, ..., ::-1, :]
                target[flip] *= -1
            if brightness:
                value = pixels[..., 2] * factor[:, None, None, None]
                pixels[..., 2] = np.rint(np.minimum(value, 255))
            yield Batch((_inputs(train, pixels), *initial_state(batch_size, state_units)), target)

    def loss(output: Steering, target: nd.NDArray) -> nd.NDArray:
        error = nd.abs(output.degrees - target).mean(axis=1)
        if not penalty:
            return error
        assert output.weights is not None, "a penalty on attention is for a network that has it"
        return error + penalty / steps * unattended(nd, output.weights)

    def evaluate(model: HybridBlock) -> Mapping[str, float]:
        degrees = predict(model, validation, steps=steps, state_units=state_units).degrees
        error = float(np.abs(degrees - validation.target).mean())
        return {"error": error, "loss": error}

    return Objective(batches, count, loss, evaluate, select="error", share=share_of_mean)


def initial_state(rows: int, units: int) -> tuple[np.ndarray, ...]:
    """Return ``start``, h and c for sequences that begin; nothing for a network without memory."""
    if not units:
        return ()
    return np.ones((rows, 1), np.float32), *(np.zeros((rows, units), np.float32) for _ in range(2))


def predict(model: Any, frames: Frames, *, steps: int, state_units: int) -> Predictions:
    """Predict each stretch from its first frame to its last with the state carried along, so that each prediction uses
    all previous frames of the stretch."""
    degrees = np.zeros(len(frames.target))
    weights: np.ndarray | None = None
    for rows, real, output in _read(model, frames, steps, state_units):
        degrees[rows[real]] = output.degrees.asnumpy()[real]
        if output.weights is not None:
            attended = output.weights.asnumpy()
            weights = np.zeros((len(degrees), attended.shape[2]), np.float32) if weights is None else weights
            weights[rows[real]] = attended[real]
    return Predictions(degrees, weights)


def stretches(model: Any, frames: Frames, *, steps: int, state_units: int) -> list[Stretch]:
    """Return the intermediate values of a network with attention, stretch by stretch."""
    computed: list[Stretch] = []
    for rows in frames.stretches:
        alone = Frames(frames.pixels, frames.inputs, frames.target, [rows])
        parts: list[list[np.ndarray]] = []
        before: tuple[np.ndarray, ...] = ()
        for numbers, real, output in _read(model, alone, steps, state_units):
            assert output.weights is not None and output.features is not None
            before = before or tuple(state.asnumpy() for state in model.begin(output.features[:, 0]))
            after = [state.asnumpy() for state in output.states]
            states = [
                np.concatenate([first[:, None], all_[:, :-1]], axis=1)
                for first, all_ in zip(before, after, strict=True)
            ]
            before = tuple(state[:, -1] for state in after)
            values = [value.asnumpy() for value in (output.degrees, output.weights, output.features)]
            parts.append([numbers[real], *(value[real] for value in (*values, *states))])
        computed.append(Stretch(*(np.concatenate(column) for column in zip(*parts, strict=True))))
    return computed


def _read(model: Any, frames: Frames, steps: int, units: int) -> Iterator[tuple[np.ndarray, np.ndarray, Steering]]:
    """Yield pieces of ``steps`` frames of all stretches at once, with their row numbers (stretches, steps) and a mask
    of existing frames: shorter stretches repeat their last frame."""
    longest = max(len(rows) for rows in frames.stretches)
    length = -(-longest // steps) * steps
    padded = np.stack([np.append(rows, np.full(length - len(rows), rows[-1])) for rows in frames.stretches])
    lengths = np.array([len(rows) for rows in frames.stretches])
    state = [nd.array(array) for array in initial_state(len(padded), units)]
    for first in range(0, length, steps):
        rows = padded[:, first : first + steps]
        output = model(nd.array(_inputs(frames, frames.pixels[rows])), *state)
        yield rows, np.arange(first, first + steps) < lengths[:, None], output
        if state:
            state = [nd.zeros_like(state[0]), *(carried[:, -1] for carried in output.states)]


def _inputs(frames: Frames, pixels: np.ndarray) -> np.ndarray:
    """Convert pixels (batch, steps, height, width, 3) to inputs (batch, steps, 3, height, width)."""
    inputs = frames.inputs(pixels.reshape(-1, *pixels.shape[2:]))
    return inputs.reshape(*pixels.shape[:2], *inputs.shape[1:])
