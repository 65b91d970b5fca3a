"""Translation that is also scored on test sets of other domains than the training text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from gluon_attn.models.encoder_decoder import EncoderDecoder
from gluon_attn.training.checkpoint import Checkpoint
from preprocessing import translation as pipelines
from preprocessing.bitext.data import Pair
from preprocessing.pipeline.ragged import string_arrays
from preprocessing.text.normalization import loose_key
from reproductions.protocol.claims import Effect
from reproductions.protocol.results import Row
from reproductions.protocol.runs import SAMPLE, Outcome
from reproductions.protocol.task import Column, Evaluation, Variant
from reproductions.tasks.bleu import PEERS, bleu, chrf, with_unknown_words
from reproductions.tasks.translation import results
from reproductions.tasks.translation.data import TranslationData, TranslationSettings
from reproductions.tasks.translation.decoding import counts_against, translate
from reproductions.tasks.translation.task import Translation


@dataclass(frozen=True)
class TestSet:
    """A test set that no network is trained or selected on. Its arrays in the outcomes end in its name.

    Attributes:
        name: suffix of its arrays.
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

    def array(self, what: str) -> str:
        """The name of its array of that kind."""
        return f"{what}_{self.name}"

    @property
    def column(self) -> Column:
        """The column of its BLEU in a table."""
        return Column(self.title, "bleu", f"{self.title};", interval=True)


@dataclass(frozen=True)
class Pairs:
    """The different source sentences of a test set, and the references of each.

    Attributes:
        sources: the sentences, in the order of the test set.
        references: for each sentence, the references of all its pairs.
        seen: number of pairs that are left out because one of their sentences is in the training text, where case,
            punctuation and spacing do not count.
    """

    sources: list[str]
    references: list[list[str]]
    seen: int

    @staticmethod
    def unseen(test: Pair, train: Pair) -> Pairs:
        """The pairs of a test set that have no sentence of the training text."""
        known = [set(map(loose_key, side.text.tolist())) for side in train.sides]
        references, seen = dict[str, list[str]](), 0
        for pair in zip(*(side.text.tolist() for side in test.sides), strict=True):
            if any(loose_key(text) in texts for text, texts in zip(pair, known, strict=True)):
                seen += 1
            else:
                references.setdefault(pair[0], []).append(pair[1])
        return Pairs(list(references), list(references.values()), seen)

    def by_reference(self, texts: Sequence[str]) -> tuple[list[str], list[str]]:
        """The translation of each source sentence as often as it has references, and these references."""
        repeated = [text for text, references in zip(texts, self.references, strict=True) for _ in references]
        return repeated, [reference for references in self.references for reference in references]

    def by_source(self, counts: np.ndarray) -> np.ndarray:
        """Counts of each reference (references, n), summed over those of a source sentence: (sources, n)."""
        first = np.cumsum([0, *map(len, self.references)])[:-1]
        return np.add.reduceat(counts, first, axis=0, dtype=counts.dtype)


@dataclass(frozen=True)
class DomainData(TranslationData):
    """A prepared parallel corpus, and the pairs of other test sets by their names."""

    elsewhere: Mapping[str, Pairs] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True)
class DomainTranslation(Translation):
    """Translation of a corpus in one direction, also scored on test sets of other domains.

    Attributes:
        elsewhere: these test sets. On the sample, its own test split is used for each of them; networks that are
            trained on a user's data are not scored on them.
    """

    elsewhere: tuple[TestSet, ...] = ()

    @property
    def metrics(self) -> tuple[str, ...]:  # type: ignore[override]
        return (*Translation.metrics, *(other.array("bleu") for other in self.elsewhere))

    @property
    def corpora(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.corpus, *(other.corpus for other in self._scored))))

    @property
    def _scored(self) -> tuple[TestSet, ...]:
        """The other test sets that its networks are scored on; none if they are trained on a user's data."""
        return () if self.own else self.elsewhere

    def prepare(self, settings: TranslationSettings, *, sample: bool = False) -> DomainData:
        data = super().prepare(settings, sample=sample)
        corpora, elsewhere = dict(data.corpora), {}
        for other in self._scored:
            prepared = pipelines.prepare(
                SAMPLE if sample else other.corpus,
                source=self.source,
                target=self.target,
                extra=() if sample else other.extra,
            )
            test = prepared.splits["test" if sample else other.split]
            elsewhere[other.name] = Pairs.unseen(test, data.prepared.splits["train"])
            corpora |= {f"{other.name} {part}": sha256 for part, sha256 in prepared.corpora.items()}
        return DomainData(data.corpus, corpora, data.prepared, elsewhere=elsewhere)

    def evaluate(
        self, model: EncoderDecoder, settings: TranslationSettings, data: TranslationData, last: Checkpoint
    ) -> Evaluation:
        """As :meth:`Translation.evaluate`, and for each other test set by its different source sentences: counts
        ``bleu_<name>`` and ``sacrebleu_<name>`` (sentences, 10), summed over the references of a sentence,
        ``words_<name>`` of the source, and the translations as ``text_<name>_utf8`` and ``text_<name>_offsets`` with
        their ln p as ``log_p_<name>``. The example ``elsewhere`` has the numbers of sentences, of pairs and of pairs
        left out.
        """
        assert isinstance(data, DomainData)
        evaluation = super().evaluate(model, settings, data, last)
        evaluation.examples["elsewhere"] = {}
        for other in self._scored:
            pairs = data.elsewhere[other.name]
            encoded = data.prepared.encode(pairs.sources)
            translated = translate([model], data, encoded, beam=settings.beam, alpha=settings.alpha)
            texts, references = pairs.by_reference([sentence.text for sentence in translated])
            scored = with_unknown_words(texts)
            arrays = {
                other.array("bleu"): pairs.by_source(counts_against(data, texts, references)),
                other.array("sacrebleu"): pairs.by_source(self.official.counts(scored, references)),
                other.array("words"): np.array([len(text.split()) for text in pairs.sources]),
                **string_arrays(other.array("text"), [sentence.text for sentence in translated]),
                other.array("log_p"): np.array([sentence.log_p for sentence in translated]),
            }
            for name in (other.array("bleu"), other.array("sacrebleu")):
                evaluation.metrics[name] = bleu(arrays[name].sum(axis=0))
            evaluation.metrics[other.array("chrf")] = chrf(scored, references)
            evaluation.predictions.update(arrays)
            sizes = {"sentences": len(pairs.sources), "pairs": len(references), "left_out": pairs.seen}
            evaluation.examples["elsewhere"][other.name] = sizes
        return evaluation

    def rows(self, outcomes: Sequence[Outcome], variant: Variant[TranslationSettings]) -> list[Row]:
        """As :meth:`Translation.rows`, with BLEU, sacreBLEU and chrF on each other test set."""
        further = {other.array("bleu"): ("bleu", f"{other.title}; {PEERS.signature}") for other in self._scored}
        further |= {
            other.array("sacrebleu"): ("sacrebleu", f"{other.title}; {self.official.signature}")
            for other in self._scored
        }
        made = results.rows(outcomes, variant, self.official, further)
        made += [
            results.chrf_row(outcomes, variant, other.array("chrf"), f"{other.title}; ")
            for other in self._scored
            if any(other.array("chrf") in outcome.record["metrics"] for outcome in outcomes)
        ]
        if outcomes[0].on_sample:
            return made
        corpora = {other.title: other.corpus for other in self._scored}
        return [replace(row, corpus=corpora.get(row.signature.partition(";")[0], row.corpus)) for row in made]

    def difference(self, metric: str, better: Sequence[Outcome], worse: Sequence[Outcome]) -> Effect | None:
        """On another test set if ``metric`` is the name of its array."""
        titles = {other.array("bleu"): other.title for other in self.elsewhere}
        if metric not in titles:
            return super().difference(metric, better, worse)
        if not has_arrays((metric,), better, worse):
            return None
        return results.bleu_points(better, worse, f"BLEU points on {titles[metric]}", metric)


def has_arrays(arrays: Sequence[str], *systems: Sequence[Outcome]) -> bool:
    """Whether all systems have these arrays; systems trained on a user's data are scored only on that data."""
    return all(array in outcome.predictions for outcomes in systems for outcome in outcomes for array in arrays)
