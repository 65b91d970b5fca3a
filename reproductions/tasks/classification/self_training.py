"""Self-training on film reviews: networks also learn what trained ones predict, for reviews without labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from gluon_attn.errors import UsageError
from preprocessing import naver_unlabelled
from reproductions.protocol.own_data import OwnData
from reproductions.protocol.task import TrainedModel
from reproductions.tasks.classification.corpora import NSMC
from reproductions.tasks.classification.inputs import Text
from reproductions.tasks.classification.predictions import classify
from reproductions.tasks.classification.settings import ClassificationData, SequenceSettings
from reproductions.tasks.prepared import hashes

CRAWL = "nsmc-raw"


@dataclass(frozen=True)
class WithTaught(ClassificationData):
    """A prepared corpus, and texts whose targets are the predictions of teachers."""

    taught: Sequence[str] = field(default=(), repr=False)


@dataclass(frozen=True)
class SelfTraining(NSMC):
    """NSMC, and reviews of its crawl without labels (:mod:`preprocessing.naver_unlabelled`), whose targets are the mean
    probabilities of trained networks (Scudder, 1965, "Probability of error of some adaptive pattern-recognition
    machines"; with noise in the student, Xie et al., 2020, "Self-training with noisy student").

    Attributes:
        crawl: whether these reviews are of the crawl; if not, the training reviews of NSMC are read twice, with labels
            and with probabilities (distillation; Hinton et al., 2015).
        teachers: these networks.
    """

    crawl: bool = True
    teachers: tuple[TrainedModel[Any, Any], ...] = field(default=(), compare=False, repr=False, kw_only=True)

    @property
    def corpora(self) -> tuple[str, ...]:
        return (self.corpus, CRAWL) if self.crawl else (self.corpus,)

    def can_read(self, own: OwnData) -> bool:
        return False

    def taught_by(self, teachers: Sequence[TrainedModel[Any, Any]]) -> Self:
        return replace(self, teachers=tuple(teachers))

    def prepare(self, settings: SequenceSettings, *, sample: bool = False) -> WithTaught:
        data = super().prepare(settings, sample=sample)
        corpora, taught = data.corpora, data.prepared.train.text
        if self.crawl:
            crawl = naver_unlabelled.prepare("sample" if sample else CRAWL)
            corpora, taught = {**corpora, **hashes(crawl), "unlabelled": crawl.digest}, crawl.train.text
        return WithTaught(data.corpus, corpora, data.prepared, data.inputs, data.labels, taught.tolist())

    def training_texts(self, data: ClassificationData) -> tuple[Sequence[Text], np.ndarray]:
        assert isinstance(data, WithTaught)
        if not self.teachers:
            raise UsageError("self-training needs trained networks; name them as `teachers` of the variant")
        texts, labels = super().training_texts(data)
        again = data.inputs.texts(data.prepared.encode(data.taught))
        probabilities = np.mean([_probabilities(teacher, data.taught) for teacher in self.teachers], axis=0)
        return [*texts, *again], np.concatenate([np.eye(data.classes)[labels], probabilities]).astype(np.float32)


def _probabilities(teacher: TrainedModel[Any, Any], texts: Sequence[str]) -> np.ndarray:
    """The probabilities of a trained classifier for texts, (texts, classes)."""
    data = teacher.data
    return classify(teacher.model, data.inputs, data.inputs.texts(data.prepared.encode(texts))).probabilities
