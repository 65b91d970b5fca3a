"""Translation that is also scored on test sets of other domains than the training text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from gluon_attn.evaluation.statistics import Estimate, bootstrap_difference, bootstrap_metric
from gluon_attn.models.encoder_decoder import EncoderDecoder
from gluon_attn.training.checkpoint import Checkpoint
from preprocessing import translation as pipelines
from preprocessing.bitext.data import Pair
from preprocessing.text.normalization import loose_key
from reproductions.protocol.claims import Effect
from reproductions.protocol.own_data import OwnData
from reproductions.protocol.results import Row
from reproductions.protocol.rows import best_validation, stacked
from reproductions.protocol.runs import SAMPLE, Outcome
from reproductions.protocol.task import Column, Evaluation, Variant
from reproductions.tasks.bleu import PEERS, bleu
from reproductions.tasks.translation import results
from reproductions.tasks.translation.data import TranslationData, TranslationSettings
from reproductions.tasks.translation.decoding import counts_against, translate
from reproductions.tasks.translation.task import Translation


@dataclass(frozen=True)
class TestSet:
    """A test set that no network is trained or selected on.

    Attributes:
        name: suffix of its array of BLEU counts, ``bleu_<name>``.
        title: its title in tables.
        corpus: its corpus in the registry.
        split: the split of that corpus.
        extra: collections of the corpus that are only read on request and contain it.
    """

    __test__: ClassVar[bool] = False  # pytest takes every class of this name for a test

    name: str
    title: str
    corpus: str
    split: str = "test"
    extra: tuple[str, ...] = ()

    @property
    def array(self) -> str:
        return f"bleu_{self.name}"


TATOEBA = TestSet("tatoeba", "Tatoeba", "tatoeba en-fr")
KORSTS = TestSet("korsts", "KorSTS", "tatoeba ko-en", "test korsts")
NEWS = TestSet("news", "news", "tatoeba ko-en", "test park")
JHE = TestSet("jhe", "JHE", "tatoeba ko-en", "test jhe", ("jhe",))
TEST_SETS = (TATOEBA, KORSTS, NEWS, JHE)


@dataclass(frozen=True)
class Pairs:
    """Sentences of a test set and their references; ``seen`` is the number of pairs that were left out because their
    source sentence is in the training text, apart from case, punctuation and spacing."""

    sources: list[str]
    references: list[str]
    seen: int

    @staticmethod
    def unseen(test: Pair, train: Pair) -> Pairs:
        """The pairs of a test set whose source sentence is not in the training text."""
        known = set(map(loose_key, train.source.text.tolist()))
        kept = [row for row, text in enumerate(test.source.text.tolist()) if loose_key(text) not in known]
        sources, references = (side.text[kept].tolist() for side in test.sides)
        return Pairs(sources, references, len(test) - len(kept))


@dataclass(frozen=True)
class DomainData(TranslationData):
    """A prepared parallel corpus, and the pairs of other test sets by their names."""

    elsewhere: Mapping[str, Pairs] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True)
class DomainTranslation(Translation):
    """Translation of a corpus in one direction, also scored on test sets of other domains.

    Attributes:
        elsewhere: these test sets. On the sample, its own test split is used for each of them.
    """

    elsewhere: tuple[TestSet, ...] = ()

    columns: ClassVar[tuple[Column, ...]] = (
        Column("BLEU", "bleu"),
        *(Column(other.title, "bleu", f"{other.title};") for other in TEST_SETS),
        Column("perplexity", "perplexity"),
    )
    metrics = (*Translation.metrics, *(other.array for other in TEST_SETS))

    @property
    def corpora(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.corpus, *(other.corpus for other in self.elsewhere))))

    def on(self, own: OwnData) -> Self:
        return replace(super().on(own), elsewhere=())

    def prepare(self, settings: TranslationSettings, *, sample: bool = False) -> DomainData:
        data = super().prepare(settings, sample=sample)
        corpora, elsewhere = dict(data.corpora), {}
        for other in self.elsewhere:
            read = pipelines.prepare(
                SAMPLE if sample else other.corpus,
                source=self.source,
                target=self.target,
                extra=() if sample else other.extra,
            )
            test = read.splits["test" if sample else other.split]
            elsewhere[other.name] = Pairs.unseen(test, data.prepared.splits["train"])
            corpora |= {f"{other.name} {part}": sha256 for part, sha256 in read.corpora.items()}
        return DomainData(data.corpus, corpora, data.prepared, elsewhere=elsewhere)

    def evaluate(
        self, model: EncoderDecoder, settings: TranslationSettings, data: TranslationData, last: Checkpoint
    ) -> Evaluation:
        """As :meth:`Translation.evaluate`, with the counts ``bleu_<name>`` (sentences, 10) of each other test set, and
        the numbers of sentences left out as the example ``seen``."""
        assert isinstance(data, DomainData)
        evaluation = super().evaluate(model, settings, data, last)
        for other in self.elsewhere:
            pairs = data.elsewhere[other.name]
            encoded = data.prepared.encode(pairs.sources)
            translated = translate([model], data, encoded, beam=settings.beam, alpha=settings.alpha)
            each = counts_against(data, translated, pairs.references)
            evaluation.predictions[other.array] = each
            evaluation.metrics[other.array] = bleu(each.sum(axis=0))
        evaluation.examples["seen"] = {other.name: data.elsewhere[other.name].seen for other in self.elsewhere}
        return evaluation

    def rows(self, outcomes: Sequence[Outcome], variant: Variant[TranslationSettings]) -> list[Row]:
        further = {other.array: ("bleu", f"{other.title}; {PEERS.signature}") for other in self.elsewhere}
        rows = results.rows(outcomes, variant, self.official, further)
        if outcomes[0].on_sample:
            return rows
        corpora = {other.title: other.corpus for other in self.elsewhere}
        return [replace(row, corpus=corpora.get(row.signature.partition(";")[0], row.corpus)) for row in rows]

    def difference(self, metric: str, better: Sequence[Outcome], worse: Sequence[Outcome]) -> Effect | None:
        """On another test set if ``metric`` is the name of its array."""
        titles = {other.array: other.title for other in TEST_SETS}
        if metric not in titles:
            return super().difference(metric, better, worse)
        if not _scored(metric, better, worse):
            return None
        sides = stacked(better, metric), stacked(worse, metric)
        return Effect(bootstrap_difference(*sides, bleu, seed=0), f"BLEU points on {titles[metric]}", "sentences")


def _scored(array: str, *systems: Sequence[Outcome]) -> bool:
    """Whether all systems are scored on a test set; systems trained on a user's data are scored only on that data."""
    return all(array in outcome.predictions for outcomes in systems for outcome in outcomes)


def below_half(other: TestSet) -> Callable[[Sequence[Outcome]], Effect | None]:
    """An effect: half of the BLEU of the test split minus the BLEU on the other test set."""

    def effect(outcomes: Sequence[Outcome]) -> Effect | None:
        if not _scored(other.array, outcomes):
            return None
        own, outside = (bootstrap_metric(stacked(outcomes, array), bleu, seed=0) for array in ("bleu", other.array))
        mean = own.mean / 2 - outside.mean
        # Two independent samples of sentences.
        half_width = float(np.hypot((own.high - own.low) / 4, (outside.high - outside.low) / 2))
        what = f"half of the BLEU of the test split minus that on {other.title}"
        degrees = min(own.degrees, outside.degrees)
        return Effect(Estimate(mean, mean - half_width, mean + half_width, degrees), what, "sentences")

    return effect


def chosen_on_validation(other: TestSet) -> Callable[..., Effect | None]:
    """An effect: the gain in BLEU on the other test set over the first system of the one with the best validation BLEU,
    chosen for each seed; it may be the first itself."""

    def effect(first: Sequence[Outcome], *others: Sequence[Outcome]) -> Effect | None:
        systems = (first, *others)
        if not _scored(other.array, *systems):
            return None
        by_seed = [{outcome.seed: outcome for outcome in outcomes} for outcomes in systems]
        shared = [outcome.seed for outcome in first if all(outcome.seed in each for each in by_seed)]
        if not shared:
            return None
        of_seed = [[each[seed] for each in by_seed] for seed in shared]
        best = [max(outcomes, key=lambda one: best_validation(one, "bleu")) for outcomes in of_seed]
        sides = stacked(best, other.array), stacked([outcomes[0] for outcomes in of_seed], other.array)
        chosen = " or ".join(dict.fromkeys(outcome.variant for outcome in best))
        what = f"BLEU points on {other.title}, {chosen} minus {first[0].variant}"
        return Effect(bootstrap_difference(*sides, bleu, seed=0), what, "sentences")

    return effect
