"""Tasks, settings and variants: what is trained, on what, and how it is measured.

A task prepares the data, gives the training objective, measures a trained network, and turns outcomes into rows,
figures and pages. Settings hold the hyper-parameters of a network and build it. A variant is one system of a paper: its
settings, its recipe and its task. Nothing here knows a paper, a variant or a network by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Generic, Protocol, Self, TypeVar

import mxnet as mx
import numpy as np
from mxnet.gluon import HybridBlock

from gluon_attn.errors import UsageError
from gluon_attn.training.checkpoint import Checkpoint
from gluon_attn.training.objective import Objective
from gluon_attn.training.recipe import Recipe
from reproductions.protocol.attention_view import AttentionView
from reproductions.protocol.claims import Effect
from reproductions.protocol.own_data import DataOptions, OwnData
from reproductions.protocol.reported import Reported
from reproductions.protocol.results import Row
from reproductions.protocol.runs import Outcome


@dataclass(frozen=True, kw_only=True)
class Settings(ABC):
    """The hyper-parameters of one system that are not the recipe's. Defaults are the paper's values."""

    @abstractmethod
    def build(self, data: Any) -> HybridBlock:
        """The network for these data, not yet initialised."""

    def initialize(self, model: HybridBlock, data: Any) -> None:
        """Draw the initial parameters of a built network."""
        model.initialize(mx.init.Xavier())

    def as_json(self) -> dict[str, Any]:
        """The settings by name, as ``config.json`` holds them."""
        return asdict(self)


class PreparedData(Protocol):
    """What the protocol needs to know of prepared data."""

    @property
    def corpus(self) -> str:
        """Name of the corpus; ``sample`` for the embedded sample."""

    @property
    def corpora(self) -> Mapping[str, str]:
        """SHA-256 of each corpus file."""

    @property
    def digest(self) -> str:
        """SHA-256 of the prepared data."""

    @property
    def packages(self) -> tuple[str, ...]:
        """Packages that influence the numbers, besides those that always do."""


SettingsT = TypeVar("SettingsT", bound=Settings)
DataT = TypeVar("DataT", bound=PreparedData)


@dataclass(frozen=True)
class Column:
    """One column of a results table: the test row of that metric whose signature contains these words."""

    title: str
    metric: str
    signature: str = ""


@dataclass(frozen=True)
class Variant(Generic[SettingsT]):
    """One system of a paper.

    Attributes:
        name, title: of the system.
        settings, recipe: what is built and how it is trained for the tables (preset ``cpu``).
        task: the reproduction's if None.
        seeds: its own where they are fewer than the preset's.
        beside: the reported number next to it in the table; ``comparable`` says whether the two may be compared, and
            ``differs`` why not, or in what they differ.
        pretrained: ``paper/variant`` of the network that parts of this one are initialised from (seed 1).
        deterministic: it has no random part, so that one training, with ``seeds`` of one, is compared with each seed of
            other variants.
    """

    name: str
    title: str
    settings: SettingsT
    recipe: Recipe
    task: Task[SettingsT, Any] | None = None
    seeds: tuple[int, ...] | None = None
    beside: Reported | None = None
    comparable: bool = False
    differs: str = ""
    pretrained: str | None = None
    deterministic: bool = False


@dataclass(frozen=True)
class TrainedModel(Generic[SettingsT, DataT]):
    """A trained network with the parameters of its best epoch, its variant and task, and its data."""

    model: HybridBlock
    variant: Variant[SettingsT]
    task: Task[SettingsT, DataT]
    data: DataT
    parameters_sha256: str


@dataclass(frozen=True)
class Evaluation:
    """What is measured on the test split with the parameters of the best epoch.

    Attributes:
        metrics: by name.
        predictions: arrays over the test items, in the order of the corpus. They are published with the outcome and are
            all that rows and claims are computed from.
        examples: what figures show (tokens, weights, titles), as JSON values; published too.
        texts: arrays that a page of all test items needs, such as texts and the weights of every token. They stay in
            the run directory: corpora are not published.
    """

    metrics: dict[str, float]
    predictions: dict[str, np.ndarray]
    examples: dict[str, Any] = field(default_factory=dict)
    texts: dict[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class AnswerOptions:
    """How lines of text are answered.

    Attributes:
        weights: with each answer, the attention weights or cosines that belong to it.
        alignments: a new folder for the attention weights of each line, where the task writes such files.
        interactive: answer each line before the next is read; otherwise lines are answered in batches.
        source: where the lines are from, as messages name it.
        batch_size: lines that a network reads at once; None for the task's default.
        json: each answer is a JSON object, on one line.
        beam: width of a search; None for that of the variant's settings.
        n_best: number of answers to each line, the best first.
    """

    weights: bool = False
    alignments: Path | None = None
    interactive: bool = False
    source: str = "standard input"
    batch_size: int | None = None
    json: bool = False
    beam: int | None = None
    n_best: int = 1


class Task(ABC, Generic[SettingsT, DataT]):
    """One task on one corpus.

    Attributes:
        name: of the kind of task, such as ``translation``.
        command: the command that answers lines of text with a trained network: ``predict``, ``translate``,
            ``neighbours`` or ``perplexity``.
        columns: of a results table. A variant is compared by the first in which it has a number.
        corpus: its name in the registry, or of data of one's own.
        group: variants of one group share a figure of training curves; those of the empty one have none.
        notes: paragraphs of every results README with this task: how its numbers are counted.
    """

    name: ClassVar[str]
    command: ClassVar[str]
    columns: ClassVar[tuple[Column, ...]]
    notes: ClassVar[tuple[str, ...]] = ()
    corpus: str

    @property
    def group(self) -> str:
        return self.name

    @property
    def corpora(self) -> tuple[str, ...]:
        """All corpora that trainings and measurements need, by name."""
        return (self.corpus,)

    @property
    def input_language(self) -> str:
        """Language of the texts that a trained network reads, as HTML names it."""
        return "en"

    @property
    def reads(self) -> tuple[str, ...]:
        """What of which corpus it reads: tasks that read the same are compared on the same data of one's own."""
        return (self.corpus,)

    def own_data(self, options: DataOptions) -> OwnData:
        """The data of one's own that the options name.

        Raises:
            UsageError: this task is not trained on data of one's own, or needs other options.
            InputError: a file is missing.
        """
        raise UsageError(f"{self.name} is not trained on data of your own; choose another variant or paper")

    def can_read(self, own: OwnData) -> bool:
        """Whether :meth:`on` takes these data."""
        return False

    def on(self, own: OwnData) -> Self:
        """The same task on data of one's own that it can read, instead of its corpus."""
        raise NotImplementedError

    @abstractmethod
    def prepare(self, settings: SettingsT, *, sample: bool = False) -> DataT:
        """Read and preprocess the corpus; with ``sample`` the embedded sample instead.

        Raises:
            InputError: the corpus is missing or damaged.
        """

    @abstractmethod
    def save(self, settings: SettingsT, data: DataT, path: Path) -> None:
        """Write what a trained network needs of its data to read new inputs: vocabularies and models of tokens, no
        rows.

        Raises:
            InputError: the file cannot be written.
        """

    @abstractmethod
    def restore(self, settings: SettingsT, path: Path, *, sample: bool = False) -> DataT:
        """The data that :meth:`save` wrote, which have no rows; the corpus is not needed.

        Raises:
            InputError: the file is missing or damaged, or the preprocessing here is another one.
        """

    def initialize(self, model: HybridBlock, data: DataT, pretrained: TrainedModel[Any, Any]) -> None:
        """Initialise parts of an initialised network from a pretrained one.

        Raises:
            UsageError: this task cannot use it.
        """
        raise UsageError(f"{pretrained.variant.name}: {self.name} cannot be initialised from a pretrained network")

    @abstractmethod
    def objective(self, settings: SettingsT, recipe: Recipe, data: DataT) -> Objective:
        """Training batches, loss and validation."""

    @abstractmethod
    def evaluate(self, model: HybridBlock, settings: SettingsT, data: DataT, last: Checkpoint) -> Evaluation:
        """Measure a network with the parameters of its best epoch on the test split; ``last`` holds those of the last
        epoch too."""

    def combine(
        self, members: Sequence[Outcome], models: Callable[[], Sequence[TrainedModel[SettingsT, DataT]]]
    ) -> Evaluation:
        """Measure the networks of several seeds as one ensemble; ``models`` loads them, where outcomes are not enough.

        Raises:
            UsageError: this task has no ensembles.
        """
        raise UsageError(f"{self.name} has no ensembles")

    @abstractmethod
    def rows(self, outcomes: Sequence[Outcome], variant: Variant[SettingsT]) -> list[Row]:
        """The rows of one variant, from the outcomes of its seeds."""

    @abstractmethod
    def compare(self, metric: str, better: Sequence[Outcome], worse: Sequence[Outcome]) -> Effect | None:
        """By how much the first side is better in a metric, in the main one if it is empty; None where the outcomes do
        not allow to measure it.

        Raises:
            UsageError: this task has no such metric.
        """

    @abstractmethod
    def training_curves(self, outcomes: Mapping[str, Outcome], path: Path) -> None:
        """Draw the training curves of some variants, one outcome of each."""

    def figures(self, outcome: Outcome, variant: Variant[SettingsT], directory: Path) -> dict[str, Path]:
        """Draw what is shown of every variant of this task, from what the outcome holds; PNGs by title."""
        return {}

    def pages(self, outcome: Outcome, variant: Variant[SettingsT], directory: Path) -> dict[str, Path]:
        """Write what can be read of a variant besides tables and figures; files by title."""
        return {}

    @abstractmethod
    def answer(self, trained: TrainedModel[SettingsT, DataT], lines: BinaryIO, options: AnswerOptions) -> Iterator[str]:
        """Answer each line of UTF-8 text with one line: a label, a translation, neighbours, a perplexity. A blank line
        gives an empty answer, so that the answers have the line numbers of the questions.

        Raises:
            UsageError: a line is not UTF-8, or weights are asked of a network that has none.
        """

    def attention_of(
        self, trained: TrainedModel[SettingsT, DataT], text: str, *, beam: int | None = None
    ) -> AttentionView:
        """What a trained network attends to while it reads one text; ``beam`` is that of a network that translates, by
        default that of its settings.

        Raises:
            UsageError: the text cannot be read, or networks of this task attend to nothing.
        """
        raise UsageError(f"{self.name} has no attention to show; choose another network")

    def published_attention(self, outcome: Outcome) -> list[AttentionView]:
        """The texts that an outcome publishes with their attention weights."""
        return []

    def published_page(self, outcome: Outcome, title: str, path: Path) -> bool:
        """Write a page on which the texts that an outcome publishes can be searched and read; false if it has none.

        Args:
            outcome: of which the corpus texts are not known.
            title: of the paper.
            path: the HTML file.
        """
        return False
