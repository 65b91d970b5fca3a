"""Settings of the network of the GluonNLP post. Several scripts train variants of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gluonnlp.model import AttentionCell

from gluon_attn.attention.additive import AdditiveAttention
from gluon_attn.attention.multiplicative import scaled_dot
from gluon_attn.models.outputs import Classifier
from gluon_attn.models.self_attention_classifier import AsWritten, Masked
from preprocessing.text.pipeline import Result
from reproductions.tasks.classification.inputs import FixedLength, TextInputs, TokenSequences
from reproductions.tasks.classification.settings import ClassificationData, SequenceSettings


@dataclass(frozen=True)
class Additive:
    units: int = 30
    dropout: float = 0.2

    def cell(self, length: int | None = None) -> AttentionCell:
        return AdditiveAttention(self.units, self.dropout, length)


@dataclass(frozen=True)
class ScaledDot:
    dropout: float = 0.2

    def cell(self, length: int | None = None) -> AttentionCell:
        return scaled_dot(self.dropout)


@dataclass(frozen=True, kw_only=True)
class Post(SequenceSettings):
    """The network of the post. Without ``attention`` the dense layer reads the GRU states directly."""

    min_freq: int = 5
    max_length: int = 30
    embedding_units: int = 128
    units: int = 32
    dropout: float = 0.3
    attention: Additive | ScaledDot | None = Additive()

    def inputs(self, prepared: Result) -> TextInputs:
        return FixedLength(self.max_length)

    def sizes(self, data: ClassificationData) -> dict[str, Any]:
        sizes = {"embedding_units": self.embedding_units, "units": self.units, "dropout": self.dropout}
        return {"vocabulary_size": data.vocabulary_size, "classes": data.classes, **sizes}

    def build(self, data: ClassificationData) -> Classifier:
        cell = self.attention.cell(self.max_length) if self.attention else None
        return AsWritten(**self.sizes(data), length=self.max_length, attention=cell)


@dataclass(frozen=True, kw_only=True)
class Pooled(Post):
    """The same network with padding masked and positions pooled, in batches of reviews of similar length.

    ``pooling`` is ``attention``, the mean of the self-attention's contexts; ``mean``, the mean of the GRU's states; or
    ``last``, the last state of each direction.
    """

    pooling: str = "attention"

    def inputs(self, prepared: Result) -> TextInputs:
        return TokenSequences(self.max_length)

    def build(self, data: ClassificationData) -> Classifier:
        cell = self.attention.cell() if self.attention else None
        return Masked(**self.sizes(data), pooling=self.pooling, attention=cell)
