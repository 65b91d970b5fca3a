"""A user's own toy paper, in one file outside the package: attention over a bag of words on Naver film reviews.

Claim: weighting the words of a review by attention is better than their mean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mxnet.gluon import nn

from gluon_attn.attention.masks import token_mask
from gluon_attn.attention.pooling import AttentionPooling, mean_pooling
from gluon_attn.models.outputs import Classifier
from gluon_attn.training.recipe import Recipe
from gluon_attn.typing import Operators, Tensor, Tensors
from reproductions.protocol.claims import Better
from reproductions.protocol.reported import Reported
from reproductions.protocol.reproduction import Override, Reproduction
from reproductions.protocol.task import Variant
from reproductions.tasks.classification.corpora import NSMC
from reproductions.tasks.classification.settings import ClassificationData, SequenceSettings


class BagOfWords(Classifier):
    outputs = ("weights",)

    def __init__(self, words: int, units: int, classes: int, attention: bool) -> None:
        super().__init__()
        with self.name_scope():
            self.embedding = nn.Embedding(words, units)
            self.pooling = AttentionPooling(units, in_units=units) if attention else None
            self.output = nn.Dense(classes, in_units=units)

    def hybrid_forward(self, F: Operators, tokens: Tensor, lengths: Tensor) -> Tensors:
        vectors = self.embedding(tokens)
        mask = token_mask(F, vectors, lengths)
        if self.pooling is None:
            return (self.output(mean_pooling(F, vectors, mask)),)
        context, weights = self.pooling(vectors, mask)
        return self.output(context), weights


@dataclass(frozen=True, kw_only=True)
class Settings(SequenceSettings):
    min_freq: int = 1
    max_length: int = 50
    units: int = 64
    attention: bool = True

    def build(self, data: ClassificationData) -> BagOfWords:
        return BagOfWords(data.vocabulary_size, self.units, data.classes, self.attention)


RECIPE = Recipe(epochs=3, batch_size=32, learning_rate=0.01)
FASTTEXT = Reported("fastText", 85.5, "nsmc", "accuracy", "monologg/KoBERT-nsmc")
ATTENTION = Variant("attention", "attention over words", Settings(), RECIPE, beside=FASTTEXT, differs="no bigrams")
REPRODUCTION = Reproduction(
    title="Attention over a bag of words",
    source="Nobody (2026)",
    task=NSMC(),
    reported=(FASTTEXT,),
    variants=(ATTENTION, Variant("mean", "mean of all words", Settings(attention=False), RECIPE)),
    claims=(Better("attention", "Attention is better than the mean of all words", "attention", "mean"),),
    headline=("attention", "mean"),
    seeds=(1, 2, 3),
    smoke=Override(lambda variant: replace(variant, settings=replace(variant.settings, units=8))),
    paper=Override(lambda variant: variant),
)
