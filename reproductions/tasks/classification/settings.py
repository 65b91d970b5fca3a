"""Prepared data and settings shared by text classifiers of several papers."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from gluon_attn.layers.embeddings import SpelledEmbedding
from gluon_attn.models.outputs import ClassifierOutput
from gluon_attn.models.stacked_classifier import StackedClassifier
from gluon_attn.models.structured_classifier import StructuredClassifier
from gluon_attn.typing import Tensor
from preprocessing.text.pipeline import Result
from preprocessing.text.syllables import Spelling
from reproductions.protocol.task import Settings
from reproductions.tasks.classification.inputs import SYLLABLES, TextInputs, TokenSequences
from reproductions.tasks.prepared import PreparedCorpus


@dataclass(frozen=True)
class ClassificationData(PreparedCorpus[Result]):
    """A prepared corpus, and how its texts are read.

    Attributes:
        inputs: converts texts to the inputs of a network.
        labels: names of the labels.
    """

    inputs: TextInputs
    labels: tuple[str, ...] = ("negative", "positive")

    @property
    def vocabulary_size(self) -> int:
        """Number of tokens with an embedding."""
        return len(self.prepared.vocabulary)

    @property
    def classes(self) -> int:
        """Number of labels."""
        return len(self.labels)


@dataclass(frozen=True, kw_only=True)
class ClassificationSettings(Settings):
    """Settings shared by all text classifiers.

    Attributes:
        min_freq: minimum frequency of a token in the training split to be in the vocabulary.
        token_dropout: probability that a token is replaced by the unknown token in training.
    """

    min_freq: int
    token_dropout: float = 0.0

    @abstractmethod
    def inputs(self, prepared: Result) -> TextInputs:
        """Return how texts are converted to inputs of the network."""

    def losses(self, output: ClassifierOutput, cross_entropy: Tensor) -> Tensor:
        """Return the loss (batch,): the cross-entropy (batch,) plus additional terms of the network."""
        return cross_entropy

    @property
    def warmup_of_terms(self) -> int:
        """Number of updates over which the weight of the additional terms rises linearly from 0; 0 for no warm-up."""
        return 0


@dataclass(frozen=True, kw_only=True)
class SequenceSettings(ClassificationSettings):
    """Settings of networks that read a text as one sequence of up to ``max_length`` tokens."""

    max_length: int

    def inputs(self, prepared: Result) -> TextInputs:
        return TokenSequences(self.max_length)


@dataclass(frozen=True, kw_only=True)
class Syllables:
    """The syllables that are read with each token.

    Attributes:
        units: width of a syllable's embedding.
        min_freq: minimum frequency of a syllable in the training split to have an embedding.
        per_token: number of syllables read per token.
    """

    units: int = 100
    min_freq: int = 5
    per_token: int = 4


@dataclass(frozen=True, kw_only=True)
class SpelledSettings(SequenceSettings):
    """Settings of networks that may also read the syllables of each token.

    Attributes:
        embedding_units: width of a token's embedding.
        syllables: syllables of each token; None to read only tokens.
    """

    embedding_units: int
    syllables: Syllables | None = None

    def inputs(self, prepared: Result) -> TextInputs:
        if self.syllables is None:
            return TokenSequences(self.max_length)
        width, saved = self.syllables.per_token, prepared.data.learned.get(SYLLABLES)
        if saved is None:
            spelling = Spelling.learn(prepared.train, width=width, min_freq=self.syllables.min_freq)
        else:
            spelling = Spelling.restored(saved, width=width)
        return TokenSequences(self.max_length, spelling)

    def embedding(self, data: ClassificationData) -> SpelledEmbedding | None:
        """Return the embedding layer of tokens with their syllables; None for tokens only."""
        spelling = data.inputs.spelling
        if self.syllables is None or spelling is None:
            return None
        return SpelledEmbedding(
            vocabulary_size=data.vocabulary_size,
            units=self.embedding_units,
            syllables=len(spelling.syllables),
            syllable_units=self.syllables.units,
            width=spelling.width,
        )


@dataclass(frozen=True, kw_only=True)
class StructuredSettings(SpelledSettings):
    """Arguments of :class:`~gluon_attn.models.structured_classifier.StructuredClassifier`; ``penalty`` is the
    coefficient of the penalty on redundant hops, which rises from 0 over the first ``penalty_warmup`` updates."""

    cell: str
    units: int
    layers: int = 1
    hops: int
    attention_units: int
    pooling: str | None = None
    hidden: int
    embedding_dropout: float
    dropout: float
    masked: bool = True
    penalty: float = 0.0
    penalty_warmup: int = 0

    later: ClassVar[tuple[str, ...]] = ("penalty_warmup",)

    @property
    def warmup_of_terms(self) -> int:
        return self.penalty_warmup

    def losses(self, output: ClassifierOutput, cross_entropy: Tensor) -> Tensor:
        if output.penalty is None or not self.penalty:
            return cross_entropy
        return cross_entropy + self.penalty * output.penalty

    def build(self, data: ClassificationData) -> StructuredClassifier:
        return StructuredClassifier(
            vocabulary_size=data.vocabulary_size,
            embedding_units=self.embedding_units,
            cell=self.cell,
            units=self.units,
            layers=self.layers,
            hops=self.hops,
            attention_units=self.attention_units,
            pooling=self.pooling,
            hidden=self.hidden,
            classes=data.classes,
            embedding_dropout=self.embedding_dropout,
            dropout=self.dropout,
            masked=self.masked,
            embedding=self.embedding(data),
        )


@dataclass(frozen=True, kw_only=True)
class StackedSettings(SpelledSettings):
    """Arguments of :class:`~gluon_attn.models.stacked_classifier.StackedClassifier`."""

    cell: str = "gru"
    units: int
    layers: int = 1
    attention_units: int
    embedding_dropout: float = 0.5
    dropout: float = 0.5

    def build(self, data: ClassificationData) -> StackedClassifier:
        return StackedClassifier(
            vocabulary_size=data.vocabulary_size,
            embedding_units=self.embedding_units,
            cell=self.cell,
            units=self.units,
            layers=self.layers,
            attention_units=self.attention_units,
            classes=data.classes,
            embedding_dropout=self.embedding_dropout,
            dropout=self.dropout,
            embedding=self.embedding(data),
        )
