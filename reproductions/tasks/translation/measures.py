"""Measurements of translations besides BLEU: monotonicity of alignments, concatenated and long sentences, unknown words
replaced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gluon_attn.evaluation.statistics import bootstrap, bootstrap_difference, rank_correlation
from gluon_attn.models.encoder_decoder import EncoderDecoder
from gluon_attn.training.checkpoint import Checkpoint
from preprocessing.bitext.data import Pair
from preprocessing.pipeline.ragged import Ragged
from preprocessing.text.data import Split
from preprocessing.text.normalization import JOINER
from reproductions.protocol.claims import Effect
from reproductions.protocol.rows import stacked
from reproductions.protocol.runs import Outcome
from reproductions.protocol.task import Evaluation
from reproductions.tasks.bleu import PEERS, bleu
from reproductions.tasks.translation.data import TranslationData, TranslationSettings
from reproductions.tasks.translation.decoding import Translated, translate
from reproductions.tasks.translation.results import bleu_points, by_length_class, long_minus_short
from reproductions.tasks.translation.task import Translation

JOINED = (2, 3)  # consecutive test sentences that are translated as one


@dataclass(frozen=True)
class AlignmentOrder(Translation):
    """Translation that also measures how monotone the alignments of networks with attention are: ``monotone`` for each
    test sentence, from its greedy translation."""

    def evaluate(
        self, model: EncoderDecoder, settings: TranslationSettings, data: TranslationData, last: Checkpoint
    ) -> Evaluation:
        evaluation = super().evaluate(model, settings, data, last)
        if "alignments" in evaluation.examples:
            greedy = translate([model], data, data.prepared.splits["test"].source, beam=1)
            evaluation.predictions["monotone"] = np.array([order_of_alignment(sentence) for sentence in greedy])
        return evaluation


@dataclass(frozen=True)
class JoinedSentences(AlignmentOrder):
    """Translation that is also evaluated on longer inputs than the corpus has: BLEU counts of two and three consecutive
    test sentences translated as one (``joined_2``, ``joined_3``), and their source words (``joined_<n>_words``)."""

    def evaluate(
        self, model: EncoderDecoder, settings: TranslationSettings, data: TranslationData, last: Checkpoint
    ) -> Evaluation:
        evaluation = super().evaluate(model, settings, data, last)
        test, references = data.prepared.splits["test"], data.prepared.reference_tokens("test")
        for number in JOINED:
            sources = joined_sources(test, number)
            translated = translate([model], data, sources, beam=settings.beam, alpha=settings.alpha)
            tokens = [_unmarked(data.prepared.words(sentence.tokens)) for sentence in translated]
            joined = [" ".join(group) for group in grouped(np.array(references, dtype=object), number)]
            evaluation.predictions[f"joined_{number}"] = PEERS.counts(tokens, joined)
            words = grouped(evaluation.predictions["words"], number)
            evaluation.predictions[f"joined_{number}_words"] = words.sum(axis=1)
        return evaluation


def _unmarked(words: Sequence[str]) -> str:
    """A line of words without the marks of their spacing, as the references are."""
    return " ".join(word.removeprefix(JOINER) for word in words)


def order_of_alignment(sentence: Translated) -> float:
    """Spearman's rank correlation of the positions of target tokens with the source positions that they attend to most:
    1 for a monotone alignment. The end of sentence does not count; NaN for fewer than three tokens."""
    assert sentence.weights is not None
    if len(sentence.tokens) < 3:
        return float("nan")
    attended = sentence.weights[: len(sentence.tokens)].argmax(axis=1)
    return rank_correlation(np.arange(len(attended)), attended)


def grouped(rows: np.ndarray, number: int) -> np.ndarray:
    """Consecutive rows in groups: (rows, ...) to (rows // number, number, ...); an incomplete last group is dropped."""
    whole = len(rows) // number * number
    return rows[:whole].reshape(-1, number, *rows.shape[1:])


def joined_sources(pair: Pair, number: int) -> Split:
    """The source side with every ``number`` consecutive sentences concatenated. Tokens are kept as they are."""
    groups, sequences = grouped(np.arange(len(pair)), number), pair.source.sequences()
    texts = [" ".join(pair.source.text[rows]) for rows in groups]
    ids = Ragged.from_rows([np.concatenate([sequences[row] for row in rows]) for rows in groups])
    return replace(Split.of(texts), encoded=ids)


def monotone_alignments(outcomes: Sequence[Outcome]) -> Effect | None:
    """Mean rank correlation of the alignments: 0 for no order, 1 if all are monotone. None if translations are too
    short to measure it."""
    seeds = stacked(outcomes, "monotone")
    orders = seeds.mean(axis=0)[~np.isnan(seeds).any(axis=0)]
    if not len(orders):
        return None
    return Effect(bootstrap(orders, seed=0), "rank correlation of target and source positions", "sentences")


GROUPS = "groups of three sentences"


def points_lost(first: Sequence[Outcome], second: Sequence[Outcome]) -> Effect:
    """How many more BLEU points the first side loses than the second when three sentences are concatenated."""
    sides = single_and_joined(first), single_and_joined(second)
    return _loses_more("BLEU points lost", _lost, sides, (first, second), GROUPS)


def share_lost(first: Sequence[Outcome], second: Sequence[Outcome]) -> Effect:
    """As :func:`points_lost`, in per cent of the BLEU of single sentences: a system with low BLEU has fewer points to
    lose."""
    sides = single_and_joined(first), single_and_joined(second)
    return _loses_more("share of BLEU lost, in percentage points", _lost_share, sides, (first, second), GROUPS)


def lost_above_12_words(first: Sequence[Outcome], second: Sequence[Outcome]) -> Effect:
    """How many more BLEU points the first side loses than the second from sentences of up to 12 words to longer ones.
    Three concatenated sentences, in contrast, are longer than almost all training sentences and end differently."""
    sides = by_length_class(first), by_length_class(second)
    what = "BLEU to 12 words minus above"
    return _loses_more(what, lambda totals: -long_minus_short(totals), sides, (first, second), "sentences")


def more_when_long(attention: Sequence[Outcome], without: Sequence[Outcome]) -> Effect:
    """How many more BLEU points the first side gains over the second above 12 words than up to 12."""
    estimate = bootstrap_difference(by_length_class(attention), by_length_class(without), long_minus_short, seed=0)
    return Effect(estimate, "BLEU points gained above 12 words minus those gained to 12", "sentences")


def gained_by_replacing(outcomes: Sequence[Outcome]) -> Effect:
    """BLEU points gained by replacing unknown words with translations of what they attend to."""
    what = "BLEU points with unknown words replaced, minus without"
    return bleu_points(outcomes, outcomes, what, "bleu_replaced", "bleu")


def single_and_joined(outcomes: Sequence[Outcome]) -> np.ndarray:
    """BLEU counts (seeds, groups, 20) of three consecutive sentences: translated one by one, and concatenated."""
    single = np.stack([grouped(counts, 3).sum(axis=1) for counts in stacked(outcomes, "bleu")])
    return np.concatenate([single, stacked(outcomes, "joined_3")], axis=2)


def _lost(totals: np.ndarray) -> float:
    single, joined = (bleu(part) for part in np.split(totals, 2))
    return single - joined


def _lost_share(totals: np.ndarray) -> float:
    return 100 * _lost(totals) / max(bleu(np.split(totals, 2)[0]), 1e-9)


def _loses_more(
    what: str,
    lost: Callable[[np.ndarray], float],
    counts: tuple[np.ndarray, np.ndarray],
    sides: tuple[Sequence[Outcome], Sequence[Outcome]],
    items: str,
) -> Effect:
    names = " minus ".join(side[0].variant for side in sides)
    return Effect(bootstrap_difference(*counts, lost, seed=0), f"{what}, {names}", items)
