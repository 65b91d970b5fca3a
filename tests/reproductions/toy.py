"""A toy paper, trained in milliseconds: is a point in the first or third quadrant?

A network without a hidden layer cannot tell, one with a hidden layer can. Tests load this script by its path, from a
folder of their own, or import it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
from mxnet import gluon, nd
from mxnet.gluon import HybridBlock, nn

from gluon_attn.errors import UsageError
from gluon_attn.evaluation.statistics import bootstrap
from gluon_attn.training.checkpoint import Checkpoint
from gluon_attn.training.objective import Batch, Objective, share_of_mean
from gluon_attn.training.recipe import Recipe
from gluon_attn.typing import Operators, Tensor
from reproductions.protocol import task
from reproductions.protocol.claims import Better, Effect, Measured
from reproductions.protocol.reported import Reported, Table
from reproductions.protocol.reproduction import Ensemble, Groups, Override, Reproduction
from reproductions.protocol.results import Row
from reproductions.protocol.rows import row, validation_row
from reproductions.protocol.runs import Outcome
from reproductions.protocol.task import AnswerOptions, Column, Evaluation, TrainedModel, Variant
from reproductions.tasks.lines import lines

RECIPE = Recipe(epochs=3, batch_size=20, learning_rate=0.1)


class Network(HybridBlock):
    """Points (batch, 2) to logits (batch, 2), with a hidden layer unless it has no units."""

    def __init__(self, units: int) -> None:
        super().__init__()
        with self.name_scope():
            self.hidden = nn.Dense(units, activation="tanh", in_units=2) if units else None
            self.output = nn.Dense(2, in_units=units or 2)

    def hybrid_forward(self, F: Operators, points: Tensor) -> Tensor:
        return self.output(self.hidden(points) if self.hidden is not None else points)


@dataclass(frozen=True, kw_only=True)
class Settings(task.Settings):
    """Number of training points, and of units of the hidden layer."""

    points: int = 400
    units: int = 8

    def build(self, data: Points) -> Network:
        return Network(self.units)


@dataclass(frozen=True)
class Points:
    """Points (rows, 2) and labels (rows,) of each split; restored from a run, only their digest."""

    corpus: str
    splits: Mapping[str, tuple[np.ndarray, np.ndarray]]
    packages: tuple[str, ...] = ("scipy",)
    restored: str = ""

    @property
    def digest(self) -> str:
        return (
            self.restored
            or hashlib.sha256(
                b"".join(array.tobytes() for split in self.splits.values() for array in split)
            ).hexdigest()
        )

    @property
    def corpora(self) -> Mapping[str, str]:
        return {name: hashlib.sha256(points.tobytes()).hexdigest() for name, (points, _) in self.splits.items()}


def probabilities(model: HybridBlock, points: np.ndarray) -> np.ndarray:
    """Probability of label 1 of each point, (rows,)."""
    return nd.softmax(model(nd.array(points))).asnumpy()[:, 1]


def measured(labels: np.ndarray, probability: np.ndarray) -> Evaluation:
    arrays = {"label": labels, "probability": probability, "right": (probability > 0.5) == labels}
    return Evaluation({"accuracy": 100 * float(arrays["right"].mean())}, arrays)


@dataclass(frozen=True)
class Quadrants(task.Task[Settings, Points]):
    """The sample has other points than the corpus, which is registered as NSMC: a corpus must be in the registry."""

    corpus: str = "nsmc"

    name = "quadrants"
    command = "predict"
    columns = (Column("accuracy", "accuracy"), Column("accuracy of the first half", "accuracy", "half"))
    metrics = ("accuracy",)

    def prepare(self, settings: Settings, *, sample: bool = False) -> Points:
        generator = np.random.RandomState(1 if sample else 2)
        splits = {}
        for split, number in {"train": settings.points, "validation": 50, "test": 60}.items():
            points = generator.uniform(-1, 1, (number, 2)).astype(np.float32)
            splits[split] = points, (points.prod(axis=1) > 0).astype(np.int32)
        return Points("sample" if sample else self.corpus, splits)

    def save(self, settings: Settings, data: Points, path: Path) -> None:
        path.write_text(data.digest, encoding="utf-8")

    def restore(self, settings: Settings, path: Path, *, sample: bool = False) -> Points:
        return Points("sample" if sample else self.corpus, {}, restored=path.read_text(encoding="utf-8"))

    def initialize(self, model: HybridBlock, data: Points, pretrained: TrainedModel[Settings, Points]) -> None:
        model.hidden.weight.set_data(pretrained.model.hidden.weight.data())

    def objective(self, settings: Settings, recipe: Recipe, data: Points) -> Objective:
        points, labels = data.splits["train"]
        loss = gluon.loss.SoftmaxCrossEntropyLoss()

        def batches(generator: np.random.RandomState) -> Iterator[Batch]:
            order = generator.permutation(len(points))
            for start in range(0, len(order), recipe.batch_size):
                rows = order[start : start + recipe.batch_size]
                yield Batch((points[rows],), labels[rows])

        def evaluate(model: HybridBlock) -> dict[str, float]:
            points, labels = data.splits["validation"]
            mean = float(loss(model(nd.array(points)), nd.array(labels)).mean().asscalar())
            return {"loss": mean, **measured(labels, probabilities(model, points)).metrics}

        return Objective(batches, -(-len(points) // recipe.batch_size), loss, evaluate, share=share_of_mean)

    def evaluate(self, model: HybridBlock, settings: Settings, data: Points, last: Checkpoint) -> Evaluation:
        points, labels = data.splits["test"]
        examples = {"points": points[:2].tolist()}
        return replace(measured(labels, probabilities(model, points)), examples=examples, texts={"points": points})

    def combine(
        self, members: Sequence[Outcome], models: Callable[[], Sequence[TrainedModel[Settings, Points]]]
    ) -> Evaluation:
        mean = np.mean([member.predictions["probability"] for member in members], axis=0)
        return measured(members[0].predictions["label"], mean)

    def rows(self, outcomes: Sequence[Outcome], variant: Variant[Settings]) -> list[Row]:
        right = np.array([100.0 * outcome.predictions["right"] for outcome in outcomes])
        rows = []
        for signature, items in (("all points", slice(None)), ("first half", slice(30))):
            values, interval = right[:, items].mean(axis=1).tolist(), bootstrap(right[:, items].mean(axis=0), seed=0)
            given = {"split": "test", "metric": "accuracy", "signature": signature}
            rows.append(row(outcomes, variant, **given, values=values, ci95=interval))
        return rows if outcomes[0].is_ensemble else [*rows, validation_row(outcomes, variant, "accuracy")]

    def difference(self, metric: str, better: Sequence[Outcome], worse: Sequence[Outcome]) -> Effect:
        sides = [np.mean([100.0 * one.predictions["right"] for one in side], axis=0) for side in (better, worse)]
        return Effect(bootstrap(sides[0] - sides[1], seed=0), "accuracy points", "points")

    def training_curves(self, outcomes: Mapping[str, Outcome], path: Path) -> None:
        draw(path, {name: outcome.record["history"] for name, outcome in outcomes.items()})

    def figures(self, outcome: Outcome, variant: Variant[Settings], directory: Path) -> dict[str, Path]:
        path = directory / f"points_{variant.name}.png"
        draw(path, outcome.examples["points"])
        return {f"points of {variant.name}": path}

    def pages(self, outcome: Outcome, variant: Variant[Settings], directory: Path) -> dict[str, Path]:
        path = directory / f"points_{variant.name}.txt"
        if outcome.texts:
            path.write_text(str(outcome.texts["points"].tolist()), encoding="utf-8")
        return {f"all points of {variant.name}": path} if outcome.texts else {}

    def answer(
        self, trained: TrainedModel[Settings, Points], stream: BinaryIO, options: AnswerOptions
    ) -> Iterator[str]:
        for number, text in lines(stream):
            if not text:
                yield ""
                continue
            try:
                x, y = map(float, text.split())
            except ValueError:
                raise UsageError(f"standard input, line {number}: not a point; give two numbers") from None
            yield str(int(probabilities(trained.model, np.array([[x, y]], np.float32))[0] > 0.5))


def draw(path: Path, content: object) -> None:
    """A file instead of a figure."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(json.dumps(content).encode())


def both(groups: Groups, directory: Path) -> dict[str, Path]:
    """The paper's own figure, of two variants."""
    names = [name for name in ("curved", "straight") if name in groups]
    draw(directory / "both.png", names)
    return {"both": directory / "both.png"}


def notes(groups: Groups, directory: Path) -> dict[str, Path]:
    """The paper's own page."""
    (directory / "notes.txt").write_text(", ".join(groups), encoding="utf-8")
    return {"notes": directory / "notes.txt"}


def above_chance(outcomes: Sequence[Outcome]) -> Effect:
    right = np.mean([100.0 * outcome.predictions["right"] for outcome in outcomes], axis=0)
    return Effect(bootstrap(right - 50, seed=0), "accuracy above 50 %", "points")


TABLE = Table("Someone (1969), Table 1", corpus="nsmc", metric="accuracy", checked="memory")
PEER = TABLE.entry("a perceptron", 96.5)


def smoke(variant: Variant[Settings]) -> Variant[Settings]:
    return replace(variant, settings=replace(variant.settings, points=60), recipe=replace(RECIPE, epochs=2))


def paper(variant: Variant[Settings]) -> Variant[Settings] | None:
    return replace(variant, settings=Settings(points=10_000)) if variant.name == "curved" else None


REPRODUCTION = Reproduction(
    title="Quadrants: the hidden layer",
    source="Someone (1969)",
    task=Quadrants(),
    reported=(
        PEER,
        TABLE.entry("a committee", 99.0, "three members"),
        Reported("a re-implementation", 97.0, "nsmc", "accuracy", "its/repository", "secondary"),
    ),
    variants=(
        Variant(
            "curved", "with a hidden layer", Settings(), RECIPE, beside=PEER, comparable=True, differs="our points"
        ),
        Variant("straight", "without a hidden layer", Settings(units=0), RECIPE),
        Variant("pretrained", "with a trained hidden layer", Settings(), RECIPE, seeds=(1,), pretrained="toy/curved"),
    ),
    claims=(
        Better("bend", "A hidden layer is better than none", "curved", "straight", source="sec. 1"),
        Measured("chance", "Without a hidden layer it is better than chance", "ours", ("straight",), above_chance),
    ),
    headline=("curved", "straight"),
    seeds=(1, 2),
    smoke=Override(smoke),
    paper=Override(paper, seeds=(3,)),
    ensembles=(Ensemble("committee", "networks of all seeds", "curved"),),
    figures=(both,),
    pages=(notes,),
)
