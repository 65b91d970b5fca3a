"""Tasks, settings and variants: what is trained, on which data, and how it is measured.

A task prepares the data, provides the training objective, measures a trained network, and turns outcomes into rows,
figures and pages. Settings hold the hyper-parameters of a network and build it. A variant is one system of a paper: its
settings, its recipe and its task. This module refers to no paper, variant or network by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Generic, Protocol, Self, TypeVar

import mxnet as mx
import numpy as np
from mxnet.gluon import HybridBlock

from gluon_attn.errors import UsageError
from gluon_attn.training.checkpoint import Checkpoint
from gluon_attn.training.objective import Objective
from gluon_attn.training.recipe import Recipe, fields_as_json
from reproductions.protocol.attention_view import AttentionView
from reproductions.protocol.claims import Effect
from reproductions.protocol.own_data import DataOptions, OwnData
from reproductions.protocol.reported import Reported
from reproductions.protocol.results import Row
from reproductions.protocol.runs import Outcome


@dataclass(frozen=True, kw_only=True)
class Settings(ABC):
    """The hyper-parameters of one system, except those of the recipe. Defaults are the paper's values."""

    later: ClassVar[tuple[str, ...]] = ()
    """Fields that came after the first published runs, whose configurations do not name them."""

    @abstractmethod
    def build(self, data: Any) -> HybridBlock:
        """Build the network for these data, without initialising it."""

    def initialize(self, model: HybridBlock, data: Any) -> None:
        """Initialise the parameters of a built network."""
        model.initialize(mx.init.Xavier())

    def as_json(self) -> dict[str, Any]:
        """The settings by name, as ``config.json`` holds them; fields added later are included only if they are set."""
        return fields_as_json(self, later=self.later)


class PreparedData(Protocol):
    """The attributes of prepared data that the protocol needs."""

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
        """Packages that influence the numbers, in addition to those that always do."""

    @property
    def rows(self) -> Mapping[str, int]:
        """Number of rows by split."""

    @property
    def warnings(self) -> Sequence[str]:
        """Warnings about oddities in the data."""


SettingsT = TypeVar("SettingsT", bound=Settings)
DataT = TypeVar("DataT", bound=PreparedData)


@dataclass(frozen=True)
class Column:
    """One column of a results table: the test row with this metric whose signature contains ``signature``.

    ``of_pretraining``: a variant without such a row shows that of the network of its paper from which it is
    initialised. ``signed``: a difference, shown with its sign and its interval. ``interval``: shown with its interval
    in the results page, as the first column always is.
    """

    title: str
    metric: str
    signature: str = ""
    of_pretraining: bool = False
    signed: bool = False
    interval: bool = False


PRETRAINED, TEACHER = "pretrained", "teacher "
"""Names, in records, of the network from which another is initialised, and of its teachers, before their number."""


@dataclass(frozen=True)
class Variant(Generic[SettingsT]):
    """One system of a paper.

    Attributes:
        name, title: name and title of the system.
        settings, recipe: its network and its training, for the tables (preset ``cpu``).
        task: its task; that of the reproduction if None.
        seeds: its seeds, if they are not those of the preset.
        beside: reported number next to it in the table; ``comparable`` says whether the two numbers may be compared,
            and ``differs`` what is different.
        against: name of the variant with which it is compared in the table
            (:data:`~reproductions.protocol.differences.COLUMN`).
        pretrained: ``paper/variant`` of the network, trained with seed 1, from which parts of this one are initialised.
        teachers: ``paper/variant/seed`` of networks whose predictions are targets of its training.
        deterministic: whether it has no random part, so that one training, with a single seed in ``seeds``, is compared
            with each seed of other variants.
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
    against: str = ""
    pretrained: str | None = None
    teachers: tuple[str, ...] = ()
    deterministic: bool = False

    @property
    def networks(self) -> dict[str, str]:
        """The networks that its training needs, by their names in records: ``pretrained``, ``teacher 1``, and so on."""
        teachers = {f"{TEACHER}{number}": name for number, name in enumerate(self.teachers, 1)}
        return teachers | ({} if self.pretrained is None else {PRETRAINED: self.pretrained})


@dataclass(frozen=True)
class TrainedModel(Generic[SettingsT, DataT]):
    """A trained network with the parameters of its best epoch, its variant and task, and its data."""

    model: HybridBlock
    variant: Variant[SettingsT]
    task: Task[SettingsT, DataT]
    data: DataT
    parameters_sha256: str

    def with_chosen(self, chosen: Mapping[str, Any]) -> Self:
        """The same network with what :meth:`Task.choose` returned."""
        return replace(self, variant=replace(self.variant, settings=replace(self.variant.settings, **chosen)))


@dataclass(frozen=True)
class Evaluation:
    """Measurements on the test split with the parameters of the best epoch.

    Attributes:
        metrics: metrics by name.
        predictions: arrays over the test items, in the order of the corpus. They are published with the outcome; rows
            and claims are computed from them alone.
        examples: data that figures show (tokens, weights, titles), as JSON values; also published.
        texts: arrays that a page of all test items needs, such as texts and the weights of every token. They stay in
            the run directory, because corpora are not published.
    """

    metrics: dict[str, float]
    predictions: dict[str, np.ndarray]
    examples: dict[str, Any] = field(default_factory=dict)
    texts: dict[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class AnswerOptions:
    """Options for answering lines of text.

    Attributes:
        weights: whether each answer includes its attention weights or cosines.
        alignments: new folder for the attention weights of each line, if the task writes such files.
        interactive: whether each line is answered before the next one is read; otherwise, lines are answered in
            batches.
        source: origin of the lines, as messages name it.
        batch_size: number of lines that a network reads at once; None for the default of the task.
        json: whether each answer is a JSON object on one line.
        beam: width of the beam; None for that of the variant's settings.
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
        name: name of the kind of task, such as ``translation``.
        command: command that answers with a trained network: ``predict``, ``translate``, ``neighbours``,
            ``perplexity``, ``caption`` or ``classify``.
        columns: columns of a results table. A variant is compared by the first column in which it has a number.
        metrics: metrics in which two systems can be compared, the main one first.
        corpus: name of the corpus in the registry, or of the user's own data.
        group: variants of one group share a figure of training curves; those with an empty group have none.
        keeps_pretrained: whether networks on the user's own data are initialised from the pretrained network of their
            variant, as on the corpus of the paper; variants without one do not read such data.
        notes: paragraphs that explain how the numbers are counted, for every results README with this task.
    """

    name: ClassVar[str]
    command: ClassVar[str]
    columns: ClassVar[tuple[Column, ...]]
    metrics: ClassVar[tuple[str, ...]]
    notes: ClassVar[tuple[str, ...]] = ()
    keeps_pretrained: ClassVar[bool] = False
    corpus: str

    @property
    def group(self) -> str:
        return self.name

    @property
    def corpora(self) -> tuple[str, ...]:
        """Names of all corpora that training and measurements need."""
        return (self.corpus,)

    @property
    def input_language(self) -> str:
        """Language of the texts that a trained network reads, as a language code of HTML."""
        return "en"

    @property
    def output_language(self) -> str:
        """Language into which a trained network translates; empty if it does not translate."""
        return ""

    @property
    def reads(self) -> tuple[str, ...]:
        """What the task reads from which corpus; tasks that read the same are compared on the user's own data."""
        return (self.corpus,)

    def own_data(self, options: DataOptions) -> OwnData:
        """The user's own data that the options name.

        Raises:
            UsageError: if this task cannot be trained on the user's own data, or needs other options.
            InputError: if a file is missing.
        """
        raise UsageError(f"{self.name}: cannot be trained on data of your own; choose another variant or paper")

    def can_read(self, own: OwnData) -> bool:
        """Whether :meth:`on` accepts these data."""
        return False

    def on(self, own: OwnData) -> Self:
        """The same task on the user's own data instead of its corpus; :meth:`can_read` must accept the data."""
        raise NotImplementedError

    def after(self, pretrained: Path) -> Self:
        """The same task for networks that are initialised from a pretrained one, given by its directory. On the user's
        own data, they may have to read text as that network does."""
        return self

    @abstractmethod
    def prepare(self, settings: SettingsT, *, sample: bool = False) -> DataT:
        """Read and preprocess the corpus, or the embedded sample if ``sample`` is set.

        Raises:
            InputError: if the corpus is missing or damaged.
        """

    @abstractmethod
    def save(self, settings: SettingsT, data: DataT, path: Path) -> None:
        """Write the part of the data that a trained network needs to read new inputs: vocabularies and tokenisation
        models, but no rows.

        Raises:
            InputError: if the file cannot be written.
        """

    @abstractmethod
    def restore(self, settings: SettingsT, path: Path, *, sample: bool = False) -> DataT:
        """Read the data that :meth:`save` wrote; they have no rows, and the corpus is not needed.

        Raises:
            InputError: if the file is missing or damaged, or if the current preprocessing differs from that of the
                file.
        """

    def initialize(self, model: HybridBlock, data: DataT, pretrained: TrainedModel[Any, Any]) -> None:
        """Initialise parts of an initialised network from a pretrained one.

        Raises:
            UsageError: if this task cannot use the pretrained network.
        """
        reason = f"{self.name} cannot be initialised from a pretrained network"
        raise UsageError(f"{pretrained.variant.name}: {reason}; remove `pretrained` from the variant")

    def taught_by(self, teachers: Sequence[TrainedModel[Any, Any]]) -> Self:
        """The same task for networks that learn the predictions of trained ones.

        Raises:
            UsageError: if this task has no use for teachers.
        """
        raise UsageError(f"{self.name} learns from no other network; remove `teachers` from the variant")

    @abstractmethod
    def objective(self, settings: SettingsT, recipe: Recipe, data: DataT) -> Objective:
        """The training objective: batches, loss and validation."""

    def choose(self, trained: TrainedModel[SettingsT, DataT]) -> dict[str, Any]:
        """What is chosen for a trained network on the validation split: fields of its settings, such as those of the
        search, by name. They are recorded with the training and replace the declared ones wherever the network is
        used."""
        return {}

    @abstractmethod
    def evaluate(self, model: HybridBlock, settings: SettingsT, data: DataT, last: Checkpoint) -> Evaluation:
        """Measure a network, with the parameters of its best epoch, on the test split; the checkpoint ``last`` also
        contains the parameters of the last epoch."""

    def combine(
        self, members: Sequence[Outcome], models: Callable[[], Sequence[TrainedModel[SettingsT, DataT]]]
    ) -> Evaluation:
        """Measure the networks of several seeds as one ensemble; ``models`` loads the networks, if the outcomes do not
        suffice.

        Raises:
            UsageError: if this task has no ensembles.
        """
        raise UsageError(f"{self.name} has no ensembles; remove them from the reproduction")

    @abstractmethod
    def rows(self, outcomes: Sequence[Outcome], variant: Variant[SettingsT]) -> list[Row]:
        """The rows of one variant, from the outcomes of its seeds."""

    def compare(self, metric: str, better: Sequence[Outcome], worse: Sequence[Outcome]) -> Effect | None:
        """By how much ``better`` is ahead of ``worse`` in a metric, or in the main metric if it is empty; None if the
        outcomes do not suffice to measure it.

        Raises:
            UsageError: if this task has no such metric.
        """
        metric = metric or self.metrics[0]
        if metric not in self.metrics:
            raise UsageError(f"metric {metric!r} is unknown in {self.name}; choose from {', '.join(self.metrics)}")
        return self.difference(metric, better, worse)

    @abstractmethod
    def difference(self, metric: str, better: Sequence[Outcome], worse: Sequence[Outcome]) -> Effect | None:
        """What :meth:`compare` returns, for one of :attr:`metrics`."""

    @abstractmethod
    def training_curves(self, outcomes: Mapping[str, Outcome], path: Path) -> None:
        """Draw the training curves of some variants, from one outcome of each."""

    def figures(self, outcome: Outcome, variant: Variant[SettingsT], directory: Path) -> dict[str, Path]:
        """Draw the figures of one variant of this task from its outcome. Returns PNGs by title."""
        return {}

    def pages(self, outcome: Outcome, variant: Variant[SettingsT], directory: Path) -> dict[str, Path]:
        """Write the pages of one variant from its outcome. Returns files by title."""
        return {}

    @abstractmethod
    def answer(self, trained: TrainedModel[SettingsT, DataT], lines: BinaryIO, options: AnswerOptions) -> Iterator[str]:
        """Answer each line of UTF-8 text with one line: a label, a translation, neighbours or a perplexity. The answer
        to a blank line is empty, so that answers have the same line numbers as their inputs.

        Raises:
            UsageError: if a line is not UTF-8, or if weights are requested from a network that has none.
        """

    def attention_of(
        self, trained: TrainedModel[SettingsT, DataT], text: str, *, beam: int | None = None
    ) -> AttentionView:
        """The attention of a trained network over one text; ``beam`` is the beam width of networks that translate, by
        default that of the settings.

        Raises:
            UsageError: if the text cannot be read, or if networks of this task have no attention to show.
        """
        raise UsageError(f"{self.name} has no attention to show; choose another network")

    def published_attention(self, outcome: Outcome) -> list[AttentionView]:
        """The published texts of an outcome with their attention weights."""
        return []

    def published_page(self, outcome: Outcome, title: str, path: Path) -> bool:
        """Write a page on which the published texts of an outcome can be searched and read. Returns false if it has
        none.

        Args:
            outcome: a published outcome, which does not contain the corpus texts.
            title: title of the paper.
            path: HTML file to write.
        """
        return False
