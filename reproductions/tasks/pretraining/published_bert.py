"""Classification of English sentences with published weights of a network of BERT's architecture."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mxnet.gluon import HybridBlock

from gluon_attn.models.published_bert import (
    FILE,
    SHA256,
    PublishedBertClassifier,
    bert_model,
    published_parameters,
    read_weights,
)
from gluon_attn.training.checkpoint import named_parameters, set_parameters
from preprocessing import sentence_pieces
from preprocessing.text.pipeline import Result, TextPipeline
from preprocessing.text.tokenizers.wordpiece import read_tokens
from reproductions.tasks.classification.inputs import TextInputs
from reproductions.tasks.classification.settings import ClassificationData, ClassificationSettings
from reproductions.tasks.classification.task import Classification
from reproductions.tasks.pretraining.bert_settings import MarkedSequences


@dataclass(frozen=True, kw_only=True)
class PublishedBertSettings(ClassificationSettings):
    """Settings of :class:`~gluon_attn.models.published_bert.PublishedBertClassifier`. The sizes are those of the
    published network.

    Attributes:
        published: whether to start from the published weights; otherwise all parameters are random.
        max_length: maximum number of tokens of a sentence, including special ones.
        output_dropout: dropout rate before the dense layer.
    """

    min_freq: int = 1
    published: bool = True
    units: int = 384
    layers: int = 6
    heads: int = 12
    hidden_units: int = 1536
    length: int = 512
    max_length: int = 128
    pooling: str = "mean"
    dropout: float = 0.1
    output_dropout: float = 0.1

    def inputs(self, prepared: Result) -> TextInputs:
        return MarkedSequences(self.max_length - 2)

    def build(self, data: ClassificationData) -> PublishedBertClassifier:
        bert = bert_model(
            vocabulary_size=data.vocabulary_size,
            units=self.units,
            layers=self.layers,
            heads=self.heads,
            hidden_units=self.hidden_units,
            length=self.length,
            dropout=self.dropout,
            with_pooler=self.pooling == "first",
        )
        return PublishedBertClassifier(
            bert, units=self.units, classes=data.classes, pooling=self.pooling, dropout=self.output_dropout
        )

    def initialize(self, model: HybridBlock, data: ClassificationData) -> None:
        """Draw the initial parameters, and load those of the encoder from the published network.

        Raises:
            UsageError, InputError: the package of the weights is missing or has another version, or the sizes differ.
        """
        super().initialize(model, data)
        if self.published:
            folder = sentence_pieces.published_folder()
            tokens = read_tokens(folder / "vocab.txt", sha256=sentence_pieces.SHA256)
            row = {token: index for index, token in enumerate(tokens)}
            rows = [row[token] for token in data.prepared.vocabulary.idx_to_token]
            names = [name for name, _ in named_parameters(model.bert)]
            given = published_parameters(read_weights(folder / FILE), names, rows)
            set_parameters(model.bert, given, source=folder / FILE)


@dataclass(frozen=True)
class PublishedBert(Classification[PublishedBertSettings]):
    """SST-2 with the tokenizer of the published network."""

    corpus: str = "sst-2"
    language: str = "en"
    items: str = "sentences"

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.corpus, "pieces of the published network")

    def pipeline(self, settings: PublishedBertSettings) -> TextPipeline:
        return sentence_pieces.pipeline(max_length=settings.max_length - 2)

    def _data(self, settings: PublishedBertSettings, prepared: Result) -> ClassificationData:
        data = super()._data(settings, prepared)
        return replace(data, corpora={**data.corpora, "weights": SHA256}) if settings.published else data
