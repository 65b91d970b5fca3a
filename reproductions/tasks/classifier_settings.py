"""Settings of networks that read tokens, with or without their syllables."""

from __future__ import annotations

from dataclasses import dataclass

from gluon_attn.models.outputs import ClassifierOutput
from gluon_attn.models.stacked_classifier import StackedClassifier
from gluon_attn.models.structured_classifier import StructuredClassifier
from gluon_attn.typing import Tensor
from reproductions.tasks.classification import ClassificationData, SpelledSettings


@dataclass(frozen=True, kw_only=True)
class StructuredSettings(SpelledSettings):
    """As the arguments of :class:`~gluon_attn.models.structured_classifier.StructuredClassifier`; ``penalty`` is the
    coefficient of the penalty on hops that attend to the same tokens."""

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
    """As the arguments of :class:`~gluon_attn.models.stacked_classifier.StackedClassifier`."""

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
