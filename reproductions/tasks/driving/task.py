"""Driving: training networks on frames and steering angles, and evaluation by the error in degrees."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Self

import numpy as np
from mxnet import nd
from mxnet.gluon import HybridBlock

from gluon_attn.errors import UsageError
from gluon_attn.models.visual_attention_driving import LastSteering
from gluon_attn.training.checkpoint import Checkpoint
from gluon_attn.training.drives import Frames, Predictions, initial_state, predict, steering_objective
from gluon_attn.training.objective import Objective
from gluon_attn.training.recipe import Recipe
from preprocessing import driving
from preprocessing.driving import DriveResult
from preprocessing.errors import InputError
from reproductions.protocol.claims import Effect
from reproductions.protocol.own_data import DataOptions, OwnData
from reproductions.protocol.results import Row
from reproductions.protocol.runs import Outcome
from reproductions.protocol.task import (
    AnswerOptions,
    Column,
    Evaluation,
    Settings,
    SettingsT,
    Task,
    TrainedModel,
    Variant,
)
from reproductions.tasks.driving import results
from reproductions.tasks.driving.filtering import filtered
from reproductions.tasks.lines import lines
from reproductions.tasks.prepared import PreparedCorpus

ITEM = 20
"""Number of frames of a test item, over which outcomes are summed."""


@dataclass(frozen=True, kw_only=True)
class FrameSettings(Settings):
    """Preprocessing of frames and targets. Defaults are the paper's values (sec. 3.1), except for the smoothing, which
    it does not state.

    Attributes:
        height, width: size of the frames.
        smoothing: factor of the exponential smoothing of targets.
    """

    height: int = 80
    width: int = 160
    smoothing: float = 0.2


@dataclass(frozen=True, kw_only=True)
class DrivingSettings(FrameSettings):
    """Settings shared by all networks.

    Attributes:
        channels: number of channels of the five convolutions.
        units: width of the LSTM, or of the layer before the output.
        steps: number of frames of a training sequence.
        dropout: dropout rate before the output.
        penalty: lambda, for networks with attention.
        mirror, brightness: augmentation of training sequences (:func:`steering_objective`).
        unit: degrees that correspond to an output of 1.
        density: threshold of attended regions, as a multiple of the uniform weight.
        least_effect: minimum change of the steering in degrees for a region to be kept.
    """

    channels: tuple[int, ...] = (24, 36, 48, 64, 64)
    units: int = 1024
    steps: int = 20
    dropout: float = 0.5
    penalty: float = 0.0
    mirror: bool = False
    brightness: float = 0.0
    unit: float = 1.0
    density: float = 1.5
    least_effect: float = 0.1

    @abstractmethod
    def build(self, data: DrivingData) -> HybridBlock:
        """Return the network for these data, not yet initialised."""


@dataclass(frozen=True, kw_only=True)
class UntrainedSettings(FrameSettings):
    """Baseline without a network: ``factor`` times the target of the previous frame."""

    factor: float

    def build(self, data: DrivingData) -> LastSteering:
        return LastSteering(self.factor)


@dataclass(frozen=True)
class DrivingData(PreparedCorpus[DriveResult]):
    """A prepared drive, and one on another road that is used only for testing; None if there is none. The digest is
    that of the drive used for training."""

    other: DriveResult | None = None

    def frames(self, split: str) -> Frames:
        """Return a split as inputs of networks; ``other`` is the other road."""
        result = self.prepared if split != "other" else self.other
        assert result is not None
        drive = result.splits["test" if split == "other" else split]
        return Frames(drive.decoded, result.inputs, drive.target, drive.stretches)


@dataclass(frozen=True)
class Drives(Task[SettingsT, DrivingData]):
    """Imitating a driver's steering. The epoch with the lowest mean absolute error on validation is selected.

    Attributes:
        corpus: corpus of the drive used for training.
        other: corpus of the drive on another road, used only for testing.
        own: the user's own drive, which is read instead of both.
    """

    corpus: str = "udacity lake"
    other: str = "udacity track"
    own: OwnData | None = field(default=None, kw_only=True)

    name = "driving"
    command = "predict"
    columns: ClassVar[tuple[Column, ...]] = results.COLUMNS
    metrics = ("error",)
    notes = results.NOTES

    @property
    def corpora(self) -> tuple[str, ...]:
        return (self.corpus,) if self.own else (self.corpus, self.other)

    def own_data(self, options: DataOptions) -> OwnData:
        """A folder with a log and its frames."""
        options.require(self.name, ("folder",))
        assert options.folder is not None
        return OwnData(driving.own_folder(options.folder), options)

    def can_read(self, own: OwnData) -> bool:
        return own.files.name == driving.OWN_DRIVE

    def on(self, own: OwnData) -> Self:
        return replace(self, corpus=own.files.name, own=own)

    def pipeline(self, settings: FrameSettings, *, sample: bool, cycle: Sequence[str]) -> driving.DrivePipeline:
        """Return the pipeline of a drive; the sample is short, and so are its blocks."""
        seconds = driving.SAMPLE_BLOCKS if sample else driving.BLOCKS
        return driving.pipeline(
            height=settings.height,
            width=settings.width,
            smoothing=settings.smoothing,
            block_seconds=seconds,
            gap_seconds=seconds / 10,
            cycle=cycle,
        )

    def prepare(self, settings: SettingsT, *, sample: bool = False) -> DrivingData:
        assert isinstance(settings, FrameSettings)
        if self.own:
            drive = self.pipeline(settings, sample=False, cycle=driving.CYCLE).run(self.own.files)
            return DrivingData(drive.card["corpus"]["name"], drive.corpora, drive)
        drive, other = (
            self.pipeline(settings, sample=sample, cycle=cycle).run("sample" if sample else corpus)
            for corpus, cycle in ((self.corpus, driving.CYCLE), (self.other, driving.TEST_ONLY))
        )
        corpora = drive.corpora | {f"other {part}": sha256 for part, sha256 in other.corpora.items()}
        return DrivingData(drive.card["corpus"]["name"], corpora, drive, other=other)

    def save(self, settings: SettingsT, data: DrivingData, path: Path) -> None:
        data.prepared.save(path)

    def restore(self, settings: SettingsT, path: Path, *, sample: bool = False) -> DrivingData:
        assert isinstance(settings, FrameSettings)
        prepared = self.pipeline(settings, sample=sample, cycle=driving.CYCLE).load(path)
        return DrivingData(prepared.card["corpus"]["name"], prepared.corpora, prepared)

    @abstractmethod
    def steer(self, model: Any, settings: SettingsT, frames: Frames) -> Predictions:
        """Return the predictions of a model for each frame of a split."""

    def measured(self, model: Any, settings: SettingsT, data: DrivingData) -> tuple[dict[str, np.ndarray], Predictions]:
        """Return the arrays of a test outcome that all systems have, and the predictions for the test blocks.

        The arrays for the test blocks (frames,) are the predicted ``degrees``, ``target``, and the indices of test
        ``item`` and ``block``; those of the other road, if there is one, have the prefix ``other_``.
        """
        arrays: dict[str, np.ndarray] = {}
        on_test: Predictions | None = None
        for split, prefix in (("test", ""), ("other", "other_")):
            if split == "other" and data.other is None:
                continue
            frames = data.frames(split)
            predictions = self.steer(model, settings, frames)
            on_test = on_test or predictions
            arrays |= {
                f"{prefix}degrees": predictions.degrees.astype(np.float32),
                f"{prefix}target": frames.target.astype(np.float32),
                f"{prefix}item": items(frames.stretches),
                f"{prefix}block": np.repeat(range(len(frames.stretches)), [len(rows) for rows in frames.stretches]),
            }
        assert on_test is not None
        return arrays, on_test

    def rows(self, outcomes: Sequence[Outcome], variant: Variant[SettingsT]) -> list[Row]:
        return results.rows(outcomes, variant, self.other)

    def difference(self, metric: str, better: Sequence[Outcome], worse: Sequence[Outcome]) -> Effect:
        return results.compare(better, worse)

    def training_curves(self, outcomes: Mapping[str, Outcome], path: Path) -> None:
        results.training_curves(outcomes, path)

    def answer(
        self, trained: TrainedModel[SettingsT, DrivingData], stream: BinaryIO, options: AnswerOptions
    ) -> Iterator[str]:
        raise UsageError(f"variant {trained.variant.name} reads no frames; choose another --variant")


def items(stretches: Sequence[np.ndarray]) -> np.ndarray:
    """Return the index of the test item of each frame, (frames,) int32: pieces of at most :data:`ITEM` frames."""
    numbers: list[np.ndarray] = []
    first = 0
    for rows in stretches:
        numbers.append(first + np.arange(len(rows)) // ITEM)
        first = int(numbers[-1][-1]) + 1
    return np.concatenate(numbers).astype(np.int32)


@dataclass(frozen=True)
class Driving(Drives[DrivingSettings]):
    """Steering by a network that reads frames."""

    def objective(self, settings: DrivingSettings, recipe: Recipe, data: DrivingData) -> Objective:
        return steering_objective(
            data.frames("train"),
            data.frames("validation"),
            steps=settings.steps,
            batch_size=recipe.batch_size,
            # This network is only used for the size of its state.
            state_units=_state_units(settings.build(data)),
            penalty=settings.penalty,
            mirror=settings.mirror,
            brightness=settings.brightness,
        )

    def steer(self, model: Any, settings: DrivingSettings, frames: Frames) -> Predictions:
        return predict(model, frames, steps=settings.steps, state_units=_state_units(model))

    def evaluate(self, model: Any, settings: DrivingSettings, data: DrivingData, last: Checkpoint) -> Evaluation:
        """Predictions are those of :meth:`Drives.measured` and, with attention, those of :func:`filtered`."""
        arrays, predictions = self.measured(model, settings, data)
        metrics = results.errors(arrays)
        if predictions.weights is None:
            return Evaluation(metrics, arrays)
        split = data.prepared.splits["test"]
        findings = filtered(
            model,
            data.frames("test"),
            split,
            predictions,
            arrays["item"],
            steps=settings.steps,
            density=settings.density,
            least_effect=settings.least_effect,
        )
        return Evaluation(metrics, arrays | findings.arrays, findings.examples, findings.texts)

    def answer(
        self, trained: TrainedModel[DrivingSettings, DrivingData], stream: BinaryIO, options: AnswerOptions
    ) -> Iterator[str]:
        """Answer each line, the path of a frame in temporal order, with degrees, negative to the left, or with
        ``options.json`` an object; a blank line begins another drive."""
        if options.weights:
            raise UsageError("the weights of frames are images; see the page of the test drive that score writes")
        if options.batch_size is not None:
            raise UsageError("frames are read one by one, since each needs the state before it; leave out --batch-size")
        model: Any = trained.model
        steps, units = trained.variant.settings.steps, _state_units(trained.model)
        state = begin = [nd.array(array) for array in initial_state(1, units)]
        for number, name in lines(stream, options.source):
            if not name:
                state = begin
                yield json.dumps({"line": number, "frame": "", "degrees": None}) if options.json else ""
                continue
            try:
                content = Path(name).read_bytes()
            except (OSError, ValueError) as error:  # a path with a NUL is a ValueError
                reason = f"frame {name!r} cannot be read ({getattr(error, 'strerror', None) or error})"
                raise UsageError(f"{options.source}, line {number}: {reason}; give the path of an image") from None
            prepared = trained.data.prepared
            try:
                inputs = prepared.inputs(prepared.encode([content]).decoded)
            except InputError as error:
                where = f"{options.source}, line {number}: frame {name}"
                raise InputError(where, error.reason, remedy=error.remedy) from error
            # The graph reads ``steps`` frames: this one and copies of it, whose results are not used.
            output = model(nd.array(np.repeat(inputs[None], steps, axis=1)), *state)
            if state:
                state = [nd.zeros_like(state[0]), *(carried[:, 0] for carried in output.states)]
            degrees = round(float(output.degrees[0, 0].asscalar()), 3)
            record = {"line": number, "frame": name, "degrees": degrees}
            yield json.dumps(record, ensure_ascii=False) if options.json else f"{degrees:.3f}"


@dataclass(frozen=True)
class WithoutTraining(Drives[UntrainedSettings]):
    """Steering without training: a run has one epoch without steps."""

    group = ""

    def objective(self, settings: UntrainedSettings, recipe: Recipe, data: DrivingData) -> Objective:
        def evaluate(model: HybridBlock) -> dict[str, float]:
            frames = data.frames("validation")
            error = float(np.abs(self.steer(model, settings, frames).degrees - frames.target).mean())
            return {"error": error, "loss": error}

        return Objective.untrained(evaluate, select="error")

    def steer(self, model: Any, settings: UntrainedSettings, frames: Frames) -> Predictions:
        """The first frame of a stretch has no previous frame; its prediction is 0."""
        before = np.zeros(len(frames.target))
        for rows in frames.stretches:
            before[rows[1:]] = frames.target[rows[:-1]]
        return Predictions(model(nd.array(before, dtype="float64")).asnumpy(), None)

    def evaluate(self, model: Any, settings: UntrainedSettings, data: DrivingData, last: Checkpoint) -> Evaluation:
        """Predictions are those of :meth:`Drives.measured`."""
        arrays, _ = self.measured(model, settings, data)
        metrics = results.errors(arrays)
        return Evaluation(metrics, arrays)


def _state_units(model: Any) -> int:
    return int(model.state_units)
