"""Settings of fastText, shared by several scripts."""

from __future__ import annotations

from dataclasses import dataclass

from gluon_attn.models.fasttext import NgramClassifier
from preprocessing.text.pipeline import Result
from reproductions.tasks.classification.inputs import BagsOfNgrams, TextInputs
from reproductions.tasks.classification.settings import ClassificationData, SequenceSettings


@dataclass(frozen=True, kw_only=True)
class FastTextSettings(SequenceSettings):
    """Settings of fastText with the sizes of Joulin et al. (2017); ``orders`` are the values of n of the n-grams,
    ``max_words`` is the number of words of a text that are read, None for all."""

    later = ("max_words",)
    max_words: int | None = None
    max_length: int = 4_000
    units: int = 10
    orders: tuple[int, ...] = ()
    buckets: int = 10_000_000

    def inputs(self, prepared: Result) -> TextInputs:
        size = len(prepared.vocabulary)
        return BagsOfNgrams(
            self.max_length,
            vocabulary_size=size,
            orders=self.orders,
            buckets=self.buckets,
            max_words=self.max_words,
        )

    def build(self, data: ClassificationData) -> NgramClassifier:
        buckets = self.buckets if self.orders else 0
        return NgramClassifier(rows=data.vocabulary_size + buckets, units=self.units, classes=data.classes)
