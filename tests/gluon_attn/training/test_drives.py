"""Sequences of frames: which are drawn, what is mirrored, how whole drives are read, and that a network learns."""

from __future__ import annotations

import mxnet as mx
import numpy as np
import pytest
from mxnet import gluon, nd

from gluon_attn.errors import UsageError
from gluon_attn.models.visual_attention_driving import RecurrentDriver, Steering
from gluon_attn.training.drives import Frames, predict, steering_objective, stretches

STEPS, UNITS = 4, 6


def drive(lengths: tuple[int, ...] = (22, 9), height: int = 16, width: int = 32) -> Frames:
    """A bright column that is where the driver steers to."""
    count = sum(lengths)
    generator = np.random.RandomState(3)
    columns = generator.randint(0, width, count)
    pixels = np.zeros((count, height, width, 3), np.uint8)
    pixels[np.arange(count), :, columns, 2] = 200
    target = 4 * (columns - (width - 1) / 2) / width
    bounds = np.cumsum(lengths)[:-1]
    return Frames(
        pixels, lambda values: np.moveaxis(values, -1, 1) / np.float32(255), target, np.split(np.arange(count), bounds)
    )


def network() -> RecurrentDriver:
    mx.random.seed(4)
    sizes = {"channels": (3, 4, 4, 4, 4), "height": 16, "width": 32}
    model = RecurrentDriver(**sizes, units=UNITS, attention_units=4, steps=STEPS)
    model.initialize(mx.init.Xavier(magnitude=4))
    return model


def objective(frames: Frames, **options: object):  # type: ignore[no-untyped-def]
    return steering_objective(frames, frames, **{"steps": STEPS, "batch_size": 3, "state_units": UNITS, **options})


def test_sequences_do_not_cross_stretches_and_mirrored_ones_are_steered_the_other_way() -> None:
    frames = drive()
    where = {frames.pixels[row].tobytes(): row for row in range(31)}
    mirror = {frames.pixels[row, :, ::-1].tobytes(): row for row in range(31)}
    assert len(where) + len(mirror) > 40
    mirrored = 0
    for seed in range(4):
        batches = list(objective(frames, mirror=True).batches(np.random.RandomState(seed)))
        assert len(batches) == objective(frames).steps == 31 // (STEPS * 3)
        for batch in batches:
            assert batch.inputs[0].shape == (3, STEPS, 3, 16, 32)
            assert [state.shape for state in batch.inputs[1:]] == [(3, 1), (3, UNITS), (3, UNITS)]
            for sequence, target in zip(batch.inputs[0], batch.target, strict=True):
                columns = sequence[:, 2, 0].argmax(axis=1)
                np.testing.assert_allclose(target, 4 * (columns - 15.5) / 32, atol=1e-5)
                pixels = np.rint(np.moveaxis(sequence, 1, -1) * 255).astype(np.uint8)
                plain = all(image.tobytes() in where for image in pixels)
                mirrored += not plain
    assert 3 < mirrored < 21


def test_brightness_changes_the_last_channel_of_a_whole_sequence() -> None:
    frames = drive()
    batch = next(iter(objective(frames, brightness=0.2).batches(np.random.RandomState(1))))
    brightest = batch.inputs[0][:, :, 2].max(axis=(2, 3))
    assert np.ptp(brightest, axis=1).max() < 0.01
    assert np.ptp(brightest[:, 0]) > 0.02
    assert (np.abs(brightest / (200 / 255) - 1) <= 0.21).all()


def test_the_loss_is_the_error_and_the_penalty() -> None:
    output = Steering(nd.array([[1.0, 2.0, 3.0, 4.0]]), nd.array([[[1.0, 0.0]] * 4]))
    target = nd.array([[1.0, 1.0, 1.0, 1.0]])
    assert objective(drive()).loss(output, target).asnumpy().tolist() == [1.5]
    # ((1 - 4)^2 + 1) / 2 = 5, times lambda / steps
    assert objective(drive(), penalty=8.0).loss(output, target).asnumpy().tolist() == [1.5 + 2 * 5]


def test_too_few_frames_are_refused() -> None:
    with pytest.raises(UsageError, match="31 training frames are too few for one batch of 3 sequences of 20; record"):
        objective(drive(), steps=20)


def test_stretches_that_are_too_short_are_refused() -> None:
    frames = drive()
    divided = Frames(frames.pixels, frames.inputs, frames.target, [np.arange(at, at + 2) for at in range(0, 30, 2)])
    with pytest.raises(UsageError, match="0 sequences of 5 frames fit between the gaps, 6 are needed; record a drive"):
        objective(divided, steps=5)


def test_stretches_are_read_from_their_first_frame_whatever_is_next_to_them() -> None:
    frames, model = drive(), network()
    together = predict(model, frames, steps=STEPS, state_units=UNITS)
    for rows in frames.stretches:
        alone = Frames(frames.pixels[rows], frames.inputs, frames.target[rows], [np.arange(len(rows))])
        own = predict(model, alone, steps=STEPS, state_units=UNITS)
        np.testing.assert_allclose(together.degrees[rows], own.degrees, rtol=1e-4, atol=1e-5)
        assert together.weights is not None and own.weights is not None
        np.testing.assert_allclose(together.weights[rows], own.weights, rtol=1e-4, atol=1e-6)
    # In one call: what one frame leaves in the memory reaches those after it.
    changed = frames.pixels.copy()
    changed[0] = 255
    other = predict(
        model, Frames(changed, frames.inputs, frames.target, frames.stretches), steps=STEPS, state_units=UNITS
    )
    assert abs(other.degrees[6] - together.degrees[6]) > 1e-7
    assert np.array_equal(other.degrees[22:], together.degrees[22:])


def test_the_state_before_each_frame_gives_its_steering() -> None:
    frames, model = drive(), network()
    together = predict(model, frames, steps=STEPS, state_units=UNITS)
    for stretch in stretches(model, frames, steps=STEPS, state_units=UNITS):
        np.testing.assert_allclose(stretch.degrees, together.degrees[stretch.rows], rtol=1e-4, atol=1e-5)
        values = (stretch.weights, stretch.features, stretch.h, stretch.c)
        again = model.steer(*(nd.array(value) for value in values)).asnumpy()
        np.testing.assert_allclose(again, stretch.degrees, rtol=1e-3, atol=1e-4)


def test_a_network_learns_to_steer_to_what_it_sees() -> None:
    frames, model = drive((120,)), network()
    model.hybridize()
    goal = objective(frames, batch_size=10)
    trainer = gluon.Trainer(model.collect_params(), "adam", {"learning_rate": 0.01})
    before = goal.evaluate(model)["error"]
    for epoch in range(12):
        for batch in goal.batches(np.random.RandomState(epoch)):
            with mx.autograd.record():
                loss = goal.loss(model(*(nd.array(value) for value in batch.inputs)), nd.array(batch.target)).mean()
            loss.backward()
            trainer.step(1)
    assert goal.evaluate(model)["error"] < 0.6 * before


def test_an_epoch_is_selected_by_the_mean_absolute_error_of_all_frames() -> None:
    frames, model = drive(), network()
    degrees = predict(model, frames, steps=STEPS, state_units=UNITS).degrees
    error = float(np.mean([abs(one - wanted) for one, wanted in zip(degrees, frames.target, strict=True)]))
    assert objective(frames).evaluate(model) == pytest.approx({"error": error, "loss": error})
