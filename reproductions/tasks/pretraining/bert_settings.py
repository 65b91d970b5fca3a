"""Settings of BERT, for pretraining and for classification, and its text inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from mxnet import nd

from gluon_attn.models.bert import Bert, BertClassifier, BertForPretraining
from gluon_attn.training.batching import pad
from preprocessing.text.pipeline import Result
from preprocessing.text.vocabulary import CLASSIFY_ID, PADDING_ID, SEPARATOR_ID
from reproductions.protocol.task import Settings
from reproductions.tasks.classification.inputs import Text, TextInputs
from reproductions.tasks.classification.settings import ClassificationData, ClassificationSettings
from reproductions.tasks.prepared import PreparedCorpus

MULTIPLE = 2
"""Texts are padded to a multiple of this length. Multiples of 8 have fewer shapes, and MXNet plans its memory again for
each, but that takes 3 ms, and reviews are so short that a seventh of the tokens would be padding."""

_ONE_IN_ON_SAMPLE = 10


@dataclass(frozen=True, kw_only=True)
class EncoderSettings(Settings):
    """Sizes of the encoder, the arguments of :class:`~gluon_attn.models.bert.Bert`, and of its vocabulary, the
    arguments of :func:`preprocessing.naver_pretraining.pipeline`, where ``pretraining_length`` is called
    ``max_length``. Defaults are those of the base network."""

    pieces: int = 30_000
    pretraining_length: int = 254
    one_in: int = 100
    units: int = 768
    layers: int = 12
    heads: int = 12
    hidden_units: int = 3072
    length: int = 512
    dropout: float = 0.1
    causal: bool = False

    def text_options(self, *, sample: bool) -> dict[str, int]:
        """Return the options of the pipeline that learns the pieces; more of the embedded sample is held out."""
        one_in = min(self.one_in, _ONE_IN_ON_SAMPLE) if sample else self.one_in
        return {"pieces": self.pieces, "one_in": one_in}

    def tiny(self) -> Self:
        """Return a network with a sixteenth of the width and half of the layers, for a preset that takes seconds."""
        units = self.units // 16
        return replace(self, units=units, heads=2, hidden_units=2 * units, layers=self.layers // 2, pieces=800)

    def encoder(self, vocabulary_size: int) -> Bert:
        return Bert(
            vocabulary_size=vocabulary_size,
            units=self.units,
            layers=self.layers,
            heads=self.heads,
            hidden_units=self.hidden_units,
            length=self.length,
            dropout=self.dropout,
            causal=self.causal,
        )


@dataclass(frozen=True, eq=False)
class PretrainingData(PreparedCorpus[Result]):
    """The prepared text for pretraining."""

    @property
    def vocabulary_size(self) -> int:
        """Number of pieces with an embedding, special ones included."""
        return len(self.prepared.vocabulary)


@dataclass(frozen=True, kw_only=True)
class PretrainingSettings(EncoderSettings):
    """Settings of pretraining.

    Attributes:
        steps: number of updates between validations, one epoch of the recipe; each batch has ``recipe.batch_tokens``
            pieces.
        pairs: whether to predict if two reviews are of the same film.
        rate, masked, random, whole_words: see :class:`preprocessing.text.masking.Masking`; ignored by a causal encoder,
            which predicts the next piece.
    """

    steps: int = 25_000
    pairs: bool = True
    rate: float = 0.15
    masked: float = 0.8
    random: float = 0.1
    whole_words: bool = False

    def tiny(self) -> Self:
        return replace(super().tiny(), steps=8)

    def build(self, data: PretrainingData) -> BertForPretraining:
        size = data.vocabulary_size
        return BertForPretraining(self.encoder(size), vocabulary_size=size, units=self.units, pairs=self.pairs)

    def initialize(self, model: BertForPretraining, data: PretrainingData) -> None:
        """Initialise the parameters; the output bias with the logarithm of the relative frequency of each piece in the
        training split, counted from one.

        With a bias of zero, the network first learns these frequencies. A likely reason why it then stays there, not
        measured: Adam moves the embeddings of all pieces in one direction, and the input shares them.
        """
        super().initialize(model, data)
        encoded = data.prepared.train.encoded
        assert encoded is not None
        counts = 1 + encoded.counts(data.vocabulary_size)
        total = int(counts.sum())
        # math.log and not that of NumPy, whose last bit depends on the processor.
        model.bias.set_data(nd.array([math.log(count / total) for count in counts.tolist()]))


@dataclass(frozen=True, kw_only=True)
class BertSettings(EncoderSettings, ClassificationSettings):
    """Settings of :class:`~gluon_attn.models.bert.BertClassifier`; ``output_dropout`` precedes its dense layer."""

    min_freq: int = 1
    pooling: str = "first"
    output_dropout: float = 0.1

    def inputs(self, prepared: Result) -> TextInputs:
        return MarkedSequences(self.length - 2)

    def build(self, data: ClassificationData) -> BertClassifier:
        return BertClassifier(
            self.encoder(data.vocabulary_size),
            units=self.units,
            heads=self.heads,
            classes=data.classes,
            pooling=self.pooling,
            dropout=self.output_dropout,
        )


@dataclass(frozen=True)
class MarkedSequences(TextInputs):
    """``<cls> text <sep>``, padded (batch, length), and the number of tokens including both special ones, (batch,)."""

    max_length: int | None = None

    def arrays(self, texts: Sequence[Text]) -> tuple[np.ndarray, ...]:
        marked = [np.concatenate([[CLASSIFY_ID], self.shortened(text), [SEPARATOR_ID]]) for text in texts]
        lengths = np.array([len(text) for text in marked], dtype=np.float32)
        return pad(marked, PADDING_ID, multiple=MULTIPLE), lengths
