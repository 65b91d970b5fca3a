"""The effect of preprocessing choices: systems that differ from a base system in one or several choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gluon_attn.evaluation.statistics import bootstrap, bootstrap_metric
from gluon_attn.models.outputs import Classifier
from gluon_attn.plots.forest import strips
from gluon_attn.training.checkpoint import Checkpoint
from preprocessing import naver
from preprocessing.text.pipeline import TextPipeline
from reproductions.protocol.claims import Effect
from reproductions.protocol.reproduction import Draw, Groups
from reproductions.protocol.runs import Outcome
from reproductions.protocol.task import Evaluation
from reproductions.tasks.classification.accuracy import accuracies, compare, share_right
from reproductions.tasks.classification.corpora import NSMC
from reproductions.tasks.classification.settings import ClassificationData, SequenceSettings
from reproductions.tasks.worth_of_choices import Scale

TITLES = {
    "mecab": "Mecab",
    "okt": "Okt",
    "okt-stem": "Okt, stemmed",
    "komoran": "Komoran",
    "hannanum": "Hannanum",
    "kkma": "Kkma",
    "whitespace": "whitespace-separated words",
    "syllable": "syllables",
    "jamo": "letters (jamo)",
    "sentencepiece": "SentencePiece",
    "wikidocs-okt": "stop words of the Okt tutorial",
    "wikidocs-mecab": "stop words of the Mecab tutorial",
    "tags": "Lucene's stop tags",
    "lower-case": "lower-cased",
    "repetitions": "repeated characters shortened",
    "laughter": "laughter and tears removed",
    "punctuation": "punctuation removed",
    "hangul-only": "only Hangul kept",
    "no-spaces": "spaces removed",
}
"""Titles of tokenizers, lists of stop words and rules of cleaning."""


@dataclass(frozen=True, kw_only=True)
class Choices:
    """Arguments of :func:`preprocessing.naver.pipeline`."""

    tokenizer: str = "mecab"
    text: str = "official"
    clean: tuple[str, ...] = ()
    stop_words: str | None = None
    keep: str = "first"
    copies: str = "keep"
    validation: str = "hash"


@dataclass(frozen=True)
class ChosenNSMC(NSMC):
    """Korean film reviews with the chosen preprocessing. The test split is the same for all choices; the outcome
    records for each of its reviews whether it is classified correctly."""

    choices: Choices = Choices()

    group = ""  # too many systems for training curves

    def pipeline(self, settings: SequenceSettings) -> TextPipeline:
        return naver.pipeline(min_freq=settings.min_freq, max_length=settings.max_length, **asdict(self.choices))

    def evaluate(
        self, model: Classifier, settings: SequenceSettings, data: ClassificationData, last: Checkpoint
    ) -> Evaluation:
        evaluation = super().evaluate(model, settings, data, last)
        predictions = {name: evaluation.predictions[name] for name in ("right", "seen_in_train")}
        return Evaluation(evaluation.metrics, predictions)


def described(choices: Choices) -> str:
    """A title that names choices."""
    parts = [TITLES[choices.tokenizer], *(TITLES[rule] for rule in choices.clean)]
    if choices.text == "repaired":
        parts.append("doubled quotes repaired")
    if choices.stop_words:
        parts.append(f"{TITLES[choices.stop_words]} removed")
    if choices.copies == "of-train":
        parts.append("duplicates in train removed")
    if choices.validation == "tail":
        parts.append("last tenth for validation")
    return ", ".join(parts)


def random_choices(number: int, tokenizers: Sequence[str]) -> dict[str, Any]:
    """A plausible pipeline: :class:`Choices`, minimum frequency and maximum length, each drawn independently. Tokens
    are removed by part of speech with Mecab only. The draws of a number are the same on every machine."""
    generator = np.random.RandomState(number)

    def one_of(*values: Any) -> Any:
        return values[generator.randint(len(values))]

    tokenizer = one_of(*tokenizers)
    cleaning = ((), ("repetitions",), ("punctuation",), ("hangul-only",), ("lower-case", "repetitions"), ("laughter",))
    removed = ("wikidocs-mecab", "tags") if tokenizer == "mecab" else ("wikidocs-okt",)
    return {
        "tokenizer": tokenizer,
        "text": one_of("official", "official", "repaired"),
        "clean": one_of(*cleaning),
        "stop_words": one_of(None, None, *removed),
        "keep": one_of("first", "first", "last"),
        "copies": one_of("keep", "keep", "of-train"),
        "validation": one_of("hash", "tail"),
        "min_freq": one_of(1, 2, 3, 5, 10),
        "max_length": one_of(30, 40, 60),
    }


ACCURACY = Scale(partial(compare, items="reviews"), accuracies, "accuracy points")


def spread_of_systems(base: str, sets: Mapping[str, Sequence[str]]) -> Draw:
    """A figure of the spread of accuracy: over seeds of the base, and over means of sets of systems.

    Args:
        base: name of the base variant.
        sets: names of variants, by what they differ in.
    """

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        rows = {f"seeds of {base}": np.array(accuracies(groups[base]))} if base in groups else {}
        for title, names in sets.items():
            if means := [float(np.mean(accuracies(groups[name]))) for name in names if name in groups]:
                rows[title] = np.array(means)
        if len(rows) < 2:
            return {}
        path = directory / "spread.png"
        strips(rows, path, "test accuracy (%)")
        return {"spread of accuracy": path}

    return draw


def varies_more(count: int, *outcomes: Sequence[Outcome]) -> Effect:
    """Standard deviation of accuracy over the first ``count`` systems, minus that over the others."""
    right = np.stack([share_right(each) for each in outcomes], axis=1)  # (reviews, systems)

    def difference(totals: np.ndarray) -> float:
        accuracy = totals / len(right)
        return float(accuracy[:count].std(ddof=1) - accuracy[count:].std(ddof=1))

    return Effect(bootstrap_metric(right[None], difference, seed=0), "accuracy points, standard deviation", "reviews")


def gain_where_copied(base: Sequence[Outcome], without: Sequence[Outcome]) -> Effect | None:
    """Accuracy of the base minus that of systems trained without copies of test reviews, on the test reviews that have
    copies in the base's training split."""
    copied = base[0].predictions["seen_in_train"].astype(bool)
    if not copied.any():
        return None
    values = (share_right(base) - share_right(without))[copied]
    return Effect(bootstrap(values, seed=0), "accuracy points on the test reviews with copies in train", "reviews")


def interaction(
    both: Sequence[Outcome], first: Sequence[Outcome], second: Sequence[Outcome], base: Sequence[Outcome]
) -> Effect:
    """Effect of two choices together minus the sum of their separate effects."""
    values = share_right(both) - share_right(first) - share_right(second) + share_right(base)
    return Effect(bootstrap(values, seed=0), "accuracy points, both together minus the sum of each alone", "reviews")
