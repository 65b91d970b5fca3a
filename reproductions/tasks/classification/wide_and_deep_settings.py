"""Settings of a recurrent network that is trained together with fastText."""

from __future__ import annotations

from dataclasses import dataclass

from gluon_attn.models.fasttext import NgramClassifier
from gluon_attn.models.wide_and_deep import WideAndDeep
from preprocessing.text.pipeline import Result
from reproductions.tasks.classification.inputs import SequencesWithBags, TextInputs
from reproductions.tasks.classification.settings import ClassificationData, StackedSettings


@dataclass(frozen=True, kw_only=True)
class WideAndDeepSettings(StackedSettings):
    """Settings of the network, and of fastText, which reads the same tokens: ``orders`` are the values of n of its
    n-grams, ``bag_units`` is the width of their vectors."""

    orders: tuple[int, ...] = (2,)
    buckets: int = 500_000
    bag_units: int = 16

    def inputs(self, prepared: Result) -> TextInputs:
        sequences = super().inputs(prepared)
        return SequencesWithBags(
            self.max_length,
            sequences.spelling,
            vocabulary_size=len(prepared.vocabulary),
            orders=self.orders,
            buckets=self.buckets,
        )

    def build(self, data: ClassificationData) -> WideAndDeep:
        rows = data.vocabulary_size + self.buckets
        wide = NgramClassifier(rows=rows, units=self.bag_units, classes=data.classes)
        return WideAndDeep(super().build(data), wide)
