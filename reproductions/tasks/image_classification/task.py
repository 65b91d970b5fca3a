"""Image classification: training on a corpus, and evaluation by accuracy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar

import numpy as np
from mxnet import nd
from mxnet.gluon import HybridBlock

from gluon_attn.errors import UsageError
from gluon_attn.evaluation.statistics import bootstrap
from gluon_attn.training.checkpoint import Checkpoint
from gluon_attn.training.objective import Batch, Objective, share_of_mean
from gluon_attn.training.recipe import Recipe
from preprocessing import cifar10
from preprocessing.images.augmentation import Augmentation
from preprocessing.images.data import ImageSplit
from preprocessing.images.pipeline import ImageResult
from reproductions.protocol.claims import Effect
from reproductions.protocol.results import Row
from reproductions.protocol.rows import row, validation_row
from reproductions.protocol.runs import SAMPLE, Outcome
from reproductions.protocol.task import AnswerOptions, Column, Evaluation, Settings, Task, TrainedModel, Variant
from reproductions.tasks.classification.accuracy import accuracies, compare, scores, share_right
from reproductions.tasks.classification.results import training_curves
from reproductions.tasks.image_classification.results import ITEMS
from reproductions.tasks.prepared import PreparedCorpus

BATCH = 256
"""Batch size in evaluation."""


@dataclass(frozen=True)
class ImageCorpus(PreparedCorpus[ImageResult]):
    """A prepared corpus of images.

    Attributes:
        labels: names of the classes.
        size: height and width of an image.
        archive: the archive that the images were read from.
    """

    labels: tuple[str, ...] = cifar10.CLASSES
    size: int = cifar10.SIZE
    archive: str = ""

    @property
    def classes(self) -> int:
        """Number of labels."""
        return len(self.labels)


@dataclass(frozen=True, kw_only=True)
class ImageSettings(Settings):
    """Settings shared by all image classifiers.

    Attributes:
        size: height and width to which images are resized.
        images: number of training images, a nested subset balanced over classes; None for all.
        passes: passes over the training images per epoch, after which validation follows.
        padding, flip, cutout: see :class:`~preprocessing.images.augmentation.Augmentation`.
        smoothing: label smoothing, the probability mass spread evenly over all classes (Szegedy et al., 2016, sec. 7).
    """

    size: int = cifar10.SIZE
    images: int | None = None
    passes: int = 1
    padding: int = 4
    flip: bool = True
    cutout: int = 0
    smoothing: float = 0.0


@dataclass(frozen=True)
class EvaluatedImageModel:
    """A trained network with its predictions for the test split, as input of further measurements.

    Attributes:
        model, data: the network with the parameters of its best epoch, and its data.
        probabilities: (images, classes), probabilities for the test split.
    """

    model: Any
    data: ImageCorpus
    probabilities: np.ndarray

    @property
    def test(self) -> ImageSplit:
        """The test split."""
        return self.data.prepared.splits["test"]


SettingsT = TypeVar("SettingsT", bound=ImageSettings)

ImageMeasurement = Callable[[EvaluatedImageModel], Mapping[str, Any]]
"""A measurement of a trained network that is stored in the examples of an :class:`Evaluation`."""


@dataclass(frozen=True)
class ImageClassification(Task[SettingsT, ImageCorpus], Generic[SettingsT]):
    """Classification of the images of one corpus. The epoch with the best validation accuracy is selected.

    Attributes:
        corpus: name of the corpus.
        part: part of the reproduction; the figure of training curves shows the variants of one part.
        measurements: additional measurements of a trained network.
    """

    corpus: str = "cifar10"
    part: str = ""
    measurements: tuple[ImageMeasurement, ...] = field(default=())

    name = "image classification"
    command = "classify"
    columns = (Column("accuracy, %", "accuracy"),)
    metrics = ("accuracy",)

    @property
    def group(self) -> str:
        return f"{self.corpus} {self.part}".strip()

    def prepare(self, settings: SettingsT, *, sample: bool = False) -> ImageCorpus:
        return self._data(cifar10.pipeline(size=settings.size).run("sample cifar10" if sample else self.corpus))

    def save(self, settings: SettingsT, data: ImageCorpus, path: Path) -> None:
        data.prepared.save(path)

    def restore(self, settings: SettingsT, path: Path, *, sample: bool = False) -> ImageCorpus:
        return self._data(cifar10.pipeline(size=settings.size).load(path), settings.size)

    def _data(self, prepared: ImageResult, size: int = 0) -> ImageCorpus:
        name, corpora = prepared.card["corpus"]["name"], prepared.corpora
        if name == SAMPLE:  # its parts for different corpora have files with the same names
            corpora = {f"{self.corpus} {part}": sha256 for part, sha256 in corpora.items()}
        size = size or prepared.splits["train"].decoded.shape[1]
        return ImageCorpus(
            name, corpora, prepared, size=size, archive=cifar10.archive_of(prepared), packages=("pillow",)
        )

    def objective(self, settings: SettingsT, recipe: Recipe, data: ImageCorpus) -> Objective:
        train, validation = data.prepared.splits["train"], data.prepared.splits["validation"]
        rows = np.arange(len(train)) if settings.images is None else cifar10.subset(train, settings.images)
        pixels, label = train.decoded[rows], train.label[rows]
        held_out = validation.decoded
        augment = Augmentation(settings.padding, settings.flip, settings.cutout)
        batch_size = min(recipe.batch_size, len(rows))
        steps = len(rows) * settings.passes // batch_size

        def batches(generator: np.random.RandomState) -> Iterator[Batch]:
            """Yield only complete batches: for a batch of another size, MXNet would plan its memory again."""
            order = np.concatenate([generator.permutation(len(rows)) for _ in range(settings.passes)])
            for step in range(steps):
                chosen = order[step * batch_size : (step + 1) * batch_size]
                inputs = data.prepared.inputs(augment(pixels[chosen], generator))
                yield Batch((inputs,), label[chosen].astype(np.float32))

        def loss(logits: nd.NDArray, target: nd.NDArray) -> nd.NDArray:
            """(1 - smoothing) * (-ln p of the label) + smoothing * (mean of -ln p over all classes)."""
            log_p = nd.log_softmax(logits)
            of_label = -nd.pick(log_p, target)
            if not settings.smoothing:
                return of_label
            return (1 - settings.smoothing) * of_label - settings.smoothing * log_p.mean(axis=1)

        def evaluate(model: HybridBlock) -> dict[str, float]:
            return scores(classify(model, data.prepared, held_out), validation.label)

        return Objective(batches, steps, loss, evaluate, share=share_of_mean)

    def evaluate(self, model: HybridBlock, settings: SettingsT, data: ImageCorpus, last: Checkpoint) -> Evaluation:
        """Evaluate on the test split. Predictions are by image: ``right``, ``label``, ``predicted``. The examples have
        ``archive``, the archive that the images were read from, and the additional measurements."""
        test = data.prepared.splits["test"]
        probabilities = classify(model, data.prepared, test.decoded)
        predicted = probabilities.argmax(axis=1)
        arrays = {
            "right": predicted == test.label,
            "label": test.label.astype(np.uint8),
            "predicted": predicted.astype(np.uint8),
        }
        examples: dict[str, Any] = {"archive": data.archive}
        for measure in self.measurements:
            examples |= measure(EvaluatedImageModel(model, data, probabilities))
        return Evaluation(scores(probabilities, test.label), arrays, examples)

    def rows(self, outcomes: Sequence[Outcome], variant: Variant[SettingsT]) -> list[Row]:
        """Return accuracy in per cent on test, with a bootstrap interval over images, and the validation accuracy that
        selected the epoch, with its range over seeds."""
        first = outcomes[0]
        images = f"{len(first.predictions['right'])} test images, {first.examples['archive']}"
        values, interval = accuracies(outcomes), bootstrap(share_right(outcomes), seed=0)
        return [
            row(outcomes, variant, split="test", metric="accuracy", signature=images, values=values, ci95=interval),
            validation_row(outcomes, variant, "accuracy"),
        ]

    def difference(self, metric: str, better: Sequence[Outcome], worse: Sequence[Outcome]) -> Effect:
        return compare(better, worse, ITEMS)

    def training_curves(self, outcomes: Mapping[str, Outcome], path: Path) -> None:
        training_curves(outcomes, path)

    def answer(
        self, trained: TrainedModel[SettingsT, ImageCorpus], lines: BinaryIO, options: AnswerOptions
    ) -> Iterator[str]:
        raise UsageError("classes are of image files, not of lines; use gluon-attn classify")


def classify(model: HybridBlock, prepared: ImageResult, pixels: np.ndarray) -> np.ndarray:
    """Return class probabilities (images, classes) for pixels (images, height, width, 3)."""
    batches = [pixels[start : start + BATCH] for start in range(0, len(pixels), BATCH)]
    outputs = [nd.softmax(model(nd.array(prepared.inputs(batch)))).asnumpy() for batch in batches]
    probabilities: np.ndarray = np.concatenate(outputs)
    return probabilities
