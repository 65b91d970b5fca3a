"""Language modelling: training on a text, and evaluation by perplexity and attention to previous words."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Self

import numpy as np
from mxnet.gluon import HybridBlock

from gluon_attn.errors import UsageError
from gluon_attn.evaluation.statistics import perplexity
from gluon_attn.metrics import perplexity_of
from gluon_attn.models.language_model import LanguageModel
from gluon_attn.training import bptt
from gluon_attn.training.bptt import Piece, language_objective
from gluon_attn.training.checkpoint import Checkpoint
from gluon_attn.training.objective import Objective
from gluon_attn.training.recipe import Recipe
from preprocessing import ptb
from preprocessing.text.data import Split
from preprocessing.text.pipeline import Result, TextPipeline
from preprocessing.text.vocabulary import UNKNOWN_ID
from reproductions.protocol.attention_view import AttentionView
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
from reproductions.tasks.language_modelling import results
from reproductions.tasks.lines import lines
from reproductions.tasks.prepared import PreparedCorpus

_DRAWN, _SHORTEST, _LONGEST = 3, 6, 12  # number of validation lines whose weights are kept, and range of their lengths


@dataclass(frozen=True, kw_only=True)
class LanguageModelSettings(Settings):
    """Settings shared by all language models.

    Attributes:
        steps: number of words through which gradients flow (truncated backpropagation through time).
        restart: probability that a row of a batch starts from the initial state.
    """

    steps: int = 35
    restart: float = 0.0

    @abstractmethod
    def build(self, data: LanguageModellingData) -> LanguageModel:
        """Return the network for these data, not yet initialised."""


@dataclass(frozen=True)
class LanguageModellingData(PreparedCorpus[Result]):
    """A prepared text."""

    @property
    def vocabulary_size(self) -> int:
        """Number of words, including the end of a line and the unknown word."""
        return len(self.prepared.vocabulary)

    @property
    def end_of_line(self) -> int:
        """Id of the end of a line, which precedes the first word, so that the first word is predicted too."""
        return self.prepared.vocabulary[ptb.END_OF_LINE]

    def pieces(self, ids: np.ndarray, rows: int, steps: int) -> list[Piece]:
        """Cut a text into pieces for a network that carries its state along."""
        return bptt.pieces(ids, rows, steps, first=self.end_of_line)


@dataclass(frozen=True)
class WordPrediction(Task[SettingsT, LanguageModellingData]):
    """Prediction of each word of a text from previous words, whose number depends on the model. The epoch with the
    lowest validation perplexity is selected.

    Attributes:
        corpus: name of the corpus.
        own: user data that are read instead of the corpus.
    """

    corpus: str = "ptb"
    own: OwnData | None = field(default=None, kw_only=True)

    name = "language modelling"
    command = "perplexity"
    columns: ClassVar[tuple[Column, ...]] = results.COLUMNS
    notes: ClassVar[tuple[str, ...]] = results.NOTES
    metrics = ("perplexity",)

    def own_data(self, options: DataOptions) -> OwnData:
        """Text files, one sentence per line."""
        options.require(self.name, ("train", "test"), optional=("validation",))
        assert options.train is not None and options.test is not None
        return OwnData(ptb.own_lines(options.train, options.test, options.validation), options)

    def can_read(self, own: OwnData) -> bool:
        return own.files.name == ptb.OWN_LINES

    def on(self, own: OwnData) -> Self:
        return replace(self, corpus=own.files.name, own=own)

    @property
    def _pipeline(self) -> TextPipeline:
        """Return the pipeline of the corpus; on user data, words that occur once are unknown, so that a network learns
        the contexts of unknown words."""
        return ptb.pipeline() if self.corpus != ptb.OWN_LINES else ptb.reading_own_lines(ptb.pipeline(min_freq=2))

    def prepare(self, settings: SettingsT, *, sample: bool = False) -> LanguageModellingData:
        prepared = self._pipeline.run(self.own.files if self.own else "sample" if sample else self.corpus)
        return LanguageModellingData(prepared.card["corpus"]["name"], prepared.corpora, prepared)

    def save(self, settings: SettingsT, data: LanguageModellingData, path: Path) -> None:
        data.prepared.save(path)

    def restore(self, settings: SettingsT, path: Path, *, sample: bool = False) -> LanguageModellingData:
        prepared = self._pipeline.load(path)
        return LanguageModellingData(prepared.card["corpus"]["name"], prepared.corpora, prepared)

    @abstractmethod
    def losses(
        self, model: HybridBlock, settings: SettingsT, data: LanguageModellingData, ids: np.ndarray
    ) -> np.ndarray:
        """-ln p of each word of a text in nats, (tokens,), after the end of a line."""

    def likelihood(
        self, model: HybridBlock, settings: SettingsT, data: LanguageModellingData, split: Split
    ) -> np.ndarray:
        """Return, for each line of a split, which is read as one text, -ln p in nats and the number of words including
        the end of the line, (lines, 2)."""
        return np.stack([by_line(split, self.losses(model, settings, data, split.ids)), split.lengths], axis=1)

    def rows(self, outcomes: Sequence[Outcome], variant: Variant[SettingsT]) -> list[Row]:
        return results.rows(outcomes, variant)

    def difference(self, metric: str, better: Sequence[Outcome], worse: Sequence[Outcome]) -> Effect:
        return results.compare(better, worse)

    def training_curves(self, outcomes: Mapping[str, Outcome], path: Path) -> None:
        results.training_curves(outcomes, path)

    def answer(
        self, trained: TrainedModel[SettingsT, LanguageModellingData], stream: BinaryIO, options: AnswerOptions
    ) -> Iterator[str]:
        """Answer each line, in the format of the corpus (lower-cased, words between spaces, N for numbers), with its
        perplexity including the end of the line, its number of words, and the number of unknown words, separated by
        tabs. With ``options.weights``, each word follows with the word that it attends to most, and that weight."""
        data, settings = trained.data, trained.variant.settings
        if options.weights and not self.has_weights(trained.model):
            raise UsageError(
                f"variant {trained.variant.name} has no attention and so no weights; choose another --variant"
            )
        for _, text in lines(stream, options.source):
            if not text:
                yield ""
                continue
            line = data.prepared.encode([text])
            nats = self.losses(trained.model, settings, data, line.ids).mean(dtype=np.float64)
            answer = f"{perplexity_of(nats):.2f}\t{len(line.ids) - 1}\t{int((line.ids == UNKNOWN_ID).sum())}"
            if options.weights:
                answer += "\t" + " ".join(self.most_attended(trained, line))
            yield answer

    def attention_of(
        self, trained: TrainedModel[SettingsT, LanguageModellingData], text: str, *, beam: int | None = None
    ) -> AttentionView:
        """Return the attention over a single line: the end of the previous line, then its words, each of which attends
        to the previous ones."""
        line = trained.data.prepared.encode([text])
        *words, _ = line.words(0)
        if not words:
            raise UsageError("there is no word in this line; type a sentence")
        weights = self.weights_of_line(trained, line)
        return AttentionView(
            tokens=[ptb.END_OF_LINE, *words],
            unknown=(1 + np.flatnonzero(line.ids[:-1] == UNKNOWN_ID)).tolist(),
            matrix=weights,
            queries="word",
            surprise=self.losses(trained.model, trained.variant.settings, trained.data, line.ids).tolist(),
            text=text,
            notes=["This network has no attention: there are no weights to show."] if weights is None else [],
        )

    def has_weights(self, model: HybridBlock) -> bool:
        """Return whether a model attends to earlier words."""
        return False

    def most_attended(self, trained: TrainedModel[SettingsT, LanguageModellingData], line: Split) -> Iterator[str]:
        """Yield ``word>attended:weight`` for each word of a split with a single line."""
        raise NotImplementedError

    def weights_of_line(
        self, trained: TrainedModel[SettingsT, LanguageModellingData], line: Split
    ) -> np.ndarray | None:
        """Return the attention weights (words, words) of a split with a single line; None without attention."""
        return None


@dataclass(frozen=True)
class LanguageModelling(WordPrediction[LanguageModelSettings]):
    """Prediction of each word of a text from all previous words."""

    def objective(self, settings: LanguageModelSettings, recipe: Recipe, data: LanguageModellingData) -> Objective:
        training, validation = (
            data.pieces(split.ids, recipe.batch_size, settings.steps)
            for split in (data.prepared.train, data.prepared.validation)
        )
        # This network is only used for the shapes of its state.
        start = settings.build(data).start(recipe.batch_size)
        return language_objective(start, training, validation, restart=settings.restart)

    def evaluate(
        self, model: Any, settings: LanguageModelSettings, data: LanguageModellingData, last: Checkpoint
    ) -> Evaluation:
        """Evaluate on the test split, read as one row, so that each word is predicted from all previous words.

        Predictions are by line: ``likelihood`` (lines, 2), -ln p in nats and the number of words including the end of
        the line; with attention, ``weight_by_distance`` (lines, window), the weights of the memories before each word,
        summed over the words of the line, the nearest memory first. The examples ``lines`` are the first validation
        lines of 6 to 12 known words, with the weights of each word over the previous ones.
        """
        test = data.prepared.test
        arrays = {"likelihood": self.likelihood(model, settings, data, test)}
        examples: dict[str, Any] = {}
        if model.window is not None:
            stream = data.pieces(test.ids, 1, settings.steps)
            arrays["weight_by_distance"] = by_line(test, bptt.attention_weights(model, stream)[:, ::-1])
            examples["lines"] = _example_lines(model, settings, data)
        return Evaluation({"perplexity": perplexity(arrays["likelihood"].sum(axis=0))}, arrays, examples)

    def figures(self, outcome: Outcome, variant: Variant[LanguageModelSettings], directory: Path) -> dict[str, Path]:
        return results.draw_lines(outcome, variant, directory)

    def losses(
        self, model: Any, settings: LanguageModelSettings, data: LanguageModellingData, ids: np.ndarray
    ) -> np.ndarray:
        return bptt.losses(model, data.pieces(ids, 1, settings.steps))

    def has_weights(self, model: Any) -> bool:
        return model.window is not None

    def most_attended(
        self, trained: TrainedModel[LanguageModelSettings, LanguageModellingData], line: Split
    ) -> Iterator[str]:
        model: Any = trained.model
        pieces = trained.data.pieces(line.ids, 1, trained.variant.settings.steps)
        return _most_attended(line.words(0)[:-1], bptt.attention_weights(model, pieces))

    def weights_of_line(
        self, trained: TrainedModel[LanguageModelSettings, LanguageModellingData], line: Split
    ) -> np.ndarray | None:
        if not self.has_weights(trained.model):
            return None
        model: Any = trained.model
        return line_weights(model, trained.variant.settings, trained.data, line, 0)

    def published_attention(self, outcome: Outcome) -> list[AttentionView]:
        return [
            AttentionView(
                tokens=[ptb.END_OF_LINE, *example["words"]],
                matrix=np.array(example["weights"], np.float32),
                queries="word",
                title=f"validation line {example['line'] + 1}",
            )
            for example in outcome.examples.get("lines", ())
        ]


def line_weights(
    model: LanguageModel, settings: LanguageModelSettings, data: LanguageModellingData, split: Split, line: int
) -> np.ndarray:
    """The weights (words, words) of one line, read after all lines before it. In row t are those of word t of the line:
    of the end of the line before in column 0, of word i in column i + 1; none after column t, nor further back than the
    window. The rest of a row to 1 is on words of the lines before.
    """
    begin, end = split.offsets[line : line + 2]
    weights = bptt.attention_weights(model, data.pieces(split.ids[:end], 1, settings.steps))
    words = int(end - begin) - 1
    matrix = np.zeros((words, words), np.float32)
    for t in range(words):
        memories = min(t + 1, weights.shape[1])
        # Row i of the weights belongs to the step that reads token i - 1; its last column is the token before that one.
        matrix[t, t + 1 - memories : t + 1] = weights[begin + t + 1, -memories:]
    return matrix


def _example_lines(
    model: LanguageModel, settings: LanguageModelSettings, data: LanguageModellingData
) -> list[dict[str, Any]]:
    split = data.prepared.validation
    words = split.lengths - 1
    unknown = np.add.reduceat(split.ids == UNKNOWN_ID, split.offsets[:-1], dtype=int)
    chosen = np.flatnonzero((words >= _SHORTEST) & (words <= _LONGEST) & (unknown == 0))[:_DRAWN]
    examples = []
    for line in chosen.tolist():
        *tokens, _ = split.words(line)
        weights = line_weights(model, settings, data, split, line)
        examples.append({"line": line, "words": tokens, "weights": weights.tolist(), "window": model.window})
    return examples


def by_line(split: Split, values: np.ndarray) -> np.ndarray:
    """Sum values of each token (tokens, ...) over lines (lines, ...); every line has at least its end."""
    summed: np.ndarray = np.add.reduceat(values.astype(np.float64), split.offsets[:-1], axis=0)
    return summed


def _most_attended(words: Sequence[str], weights: np.ndarray) -> Iterator[str]:
    """Yield ``word>attended:weight`` for each word of a line; weights: (words + 1, window)."""
    before = [ptb.END_OF_LINE, *words]
    for position, word in enumerate(words, start=1):
        distance = int(weights[position, ::-1].argmax()) + 1
        yield f"{word}>{before[position - distance]}:{weights[position, -distance]:.3f}"
