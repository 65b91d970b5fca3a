"""Self-training on film reviews: networks also learn what trained ones predict for reviews without labels."""

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
class WithUnlabelled(ClassificationData):
    """A prepared corpus, and texts without labels."""

    unlabelled: Sequence[str] = field(default=(), repr=False)


@dataclass(frozen=True)
class SelfTraining(NSMC):
    """NSMC, and reviews of its crawl without labels (:mod:`preprocessing.naver_unlabelled`), whose targets are the mean
    probabilities of trained networks (Scudder, 1965, "Probability of error of some adaptive pattern-recognition
    machines"; with noise in the student, Xie et al., 2020, "Self-training with noisy student").

    Attributes:
        teachers: these networks.
    """

    teachers: tuple[TrainedModel[Any, Any], ...] = field(default=(), compare=False, repr=False, kw_only=True)

    @property
    def corpora(self) -> tuple[str, ...]:
        return (self.corpus, CRAWL)

    def can_read(self, own: OwnData) -> bool:
        return False

    def taught_by(self, teachers: Sequence[TrainedModel[Any, Any]]) -> Self:
        return replace(self, teachers=tuple(teachers))

    def prepare(self, settings: SequenceSettings, *, sample: bool = False) -> WithUnlabelled:
        data = super().prepare(settings, sample=sample)
        crawl = naver_unlabelled.prepare("sample" if sample else CRAWL)
        corpora = {**data.corpora, **hashes(crawl), "unlabelled": crawl.digest}
        return WithUnlabelled(data.corpus, corpora, data.prepared, data.inputs, data.labels, crawl.train.text.tolist())

    def training_texts(self, data: ClassificationData) -> tuple[Sequence[Text], np.ndarray]:
        assert isinstance(data, WithUnlabelled)
        if not self.teachers:
            raise UsageError("self-training needs trained networks; name them as `teachers` of the variant")
        texts, labels = super().training_texts(data)
        unlabelled = data.inputs.texts(data.prepared.encode(data.unlabelled))
        taught = np.mean([_probabilities(teacher, data.unlabelled) for teacher in self.teachers], axis=0)
        return [*texts, *unlabelled], np.concatenate([np.eye(data.classes)[labels], taught]).astype(np.float32)


def _probabilities(teacher: TrainedModel[Any, Any], texts: Sequence[str]) -> np.ndarray:
    """The probabilities of a trained classifier for texts, (texts, classes)."""
    data = teacher.data
    return classify(teacher.model, data.inputs, data.inputs.texts(data.prepared.encode(texts))).probabilities
