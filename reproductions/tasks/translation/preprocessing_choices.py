"""The effect of choices in preprocessing, and in computing BLEU, on translation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from reproductions.protocol.claims import Effect
from reproductions.protocol.results import Row
from reproductions.protocol.runs import Outcome
from reproductions.protocol.task import Column, Variant
from reproductions.tasks.bleu import PEERS, Bleu, with_unknown_words
from reproductions.tasks.translation import results
from reproductions.tasks.translation.data import TranslationData, TranslationSettings
from reproductions.tasks.translation.decoding import Translated
from reproductions.tasks.translation.task import Translation

# Of detokenised text; `none` separates at spaces alone, so that punctuation marks stay attached to words.
WAYS: Mapping[str, Bleu] = {
    "bleu_cased": Bleu("13a"),
    "bleu_international": Bleu("intl", lowercase=True),
    "bleu_spaces": Bleu("none", lowercase=True),
    "bleu_characters": Bleu("char", lowercase=True),
}
PIECES = "bleu_pieces"
OF_PIECES = "of the network's own tokens, not joined to words"


@dataclass(frozen=True, kw_only=True)
class TranslationChoices:
    """Arguments of :func:`preprocessing.translation.pipeline`."""

    lowercase: bool = True
    truecase: bool = False
    pieces: int = 8_000


@dataclass(frozen=True)
class ChosenTranslation(Translation):
    """Translation with the chosen preprocessing. The test split is the same for all choices, and BLEU lower-cases both
    sides; the same translations are also scored in other ways (:data:`WAYS`)."""

    choices: TranslationChoices = TranslationChoices()

    columns: ClassVar[tuple[Column, ...]] = (
        Column("BLEU", "bleu"),
        Column("BLEU of subwords", "bleu", OF_PIECES),
        Column("sacreBLEU", "sacrebleu", "case:lc|eff:no|tok:13a"),
        Column("sacreBLEU, cased", "sacrebleu", "case:mixed|eff:no|tok:13a"),
        Column("tokenizer intl", "sacrebleu", "tok:intl"),
        Column("tokenizer none", "sacrebleu", "tok:none"),
        Column("tokenizer char", "sacrebleu", "tok:char"),
    )
    metrics = (*Translation.metrics, *WAYS)

    def _options(self, settings: TranslationSettings) -> dict[str, Any]:
        return {**super()._options(settings), **asdict(self.choices)}

    def further_counts(self, translated: Sequence[Translated], data: TranslationData) -> dict[str, np.ndarray]:
        target = data.prepared.splits["test"].target
        texts = with_unknown_words([sentence.text for sentence in translated])
        references = data.prepared.references("test")
        counts = {name: way.counts(texts, references) for name, way in WAYS.items()}
        ours = [" ".join(sentence.tokens) for sentence in translated]
        theirs = [" ".join(target.words(row)) for row in range(len(target))]
        return counts | {PIECES: PEERS.counts(ours, theirs)}

    def rows(self, outcomes: Sequence[Outcome], variant: Variant[TranslationSettings]) -> list[Row]:
        further = {name: ("sacrebleu", way.signature) for name, way in WAYS.items()}
        further[PIECES] = ("bleu", OF_PIECES)
        return results.rows(outcomes, variant, self.official, further)

    def difference(self, metric: str, better: Sequence[Outcome], worse: Sequence[Outcome]) -> Effect | None:
        if metric not in WAYS:
            return super().difference(metric, better, worse)
        return results.bleu_points(better, worse, f"{metric.replace('_', ' ')} points", metric)


def one_network_two_ways(higher: str, lower: str, outcomes: Sequence[Outcome]) -> Effect:
    """Difference in BLEU of the same translations between two ways to compute it."""
    return results.bleu_points(outcomes, outcomes, f"points of {higher} minus {lower}", higher, lower)
