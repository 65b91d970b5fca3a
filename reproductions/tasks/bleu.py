"""BLEU and chrF of decoded translations by sacreBLEU, with counts by sentence for comparing two systems."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sacrebleu.metrics import BLEU, CHRF

from preprocessing.text.vocabulary import UNKNOWN

# Of a sentence: matching n-grams for n = 1 to 4, n-grams for n = 1 to 4, length, length of the reference.
COUNTS = 10
UNKNOWN_WORD = "UNK"
"""Stand-in for an unknown token in detokenised text. sacreBLEU's ``13a`` and ``ko-mecab`` keep it whole, while they
split ``<unk>`` into three tokens."""


class Bleu:
    """One way to compute BLEU.

    Args:
        tokenize: sacreBLEU's tokenizer: ``13a`` for detokenised text, ``none`` for tokenised text, ``ko-mecab`` for
            Korean.
        lowercase: whether to lower-case hypotheses and references first.
        references: number of references per sentence, for the signature.
    """

    def __init__(self, tokenize: str = "13a", lowercase: bool = False, references: int = 1) -> None:
        self._references = references
        self._bleu = BLEU(tokenize=tokenize, lowercase=lowercase)
        self._sentence = BLEU(tokenize=tokenize, lowercase=lowercase, effective_order=True)

    def counts(self, hypotheses: Sequence[str], references: Sequence[str | Sequence[str]]) -> np.ndarray:
        """Return the contribution of each sentence to the BLEU of the corpus, (sentences, COUNTS) of int32. With
        several references, the closest reference length counts."""
        rows = []
        for hypothesis, reference in zip(hypotheses, references, strict=True):
            score = self._sentence.sentence_score(hypothesis, [reference] if isinstance(reference, str) else reference)
            rows.append([*score.counts, *score.totals, score.sys_len, score.ref_len])
        return np.array(rows, np.int32).reshape(-1, COUNTS)

    @property
    def signature(self) -> str:
        """sacreBLEU's signature."""
        self._bleu.corpus_score(["one"], [["one"]] * self._references)  # the number of references is known only then
        return str(self._bleu.get_signature())


def bleu(totals: np.ndarray) -> float:
    """BLEU of a corpus, between 0 and 100, from the sum of the counts of its sentences, (COUNTS,)."""
    correct, total, (length, reference_length) = totals[:4].tolist(), totals[4:8].tolist(), totals[8:].tolist()
    return float(BLEU.compute_bleu(correct, total, length, reference_length, smooth_method="exp").score)


def bleu_up_to(totals: np.ndarray, order: int) -> float:
    """BLEU-n of a corpus from the sum of the counts of its sentences, with n-grams up to ``order`` and without
    smoothing, as used for captions."""
    correct, total, (length, reference_length) = totals[:4].tolist(), totals[4:8].tolist(), totals[8:].tolist()
    score = BLEU.compute_bleu(
        correct[:order], total[:order], length, reference_length, smooth_method="none", max_ngram_order=order
    )
    return float(score.score)


def with_unknown_words(texts: Sequence[str]) -> list[str]:
    """Replace each unknown token of detokenised translations by a single word that no reference contains."""
    return [text.replace(UNKNOWN, UNKNOWN_WORD) for text in texts]


def chrf(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """chrF2 of a corpus (Popović, 2015), lower-cased: between 0 and 100."""
    return float(CHRF(lowercase=True).corpus_score(list(hypotheses), [list(references)]).score)


def chrf_signature() -> str:
    """sacreBLEU's signature of :func:`chrf`."""
    metric = CHRF(lowercase=True)
    metric.corpus_score(["one"], [["one"]])
    return str(metric.get_signature())


PEERS = Bleu(tokenize="none", lowercase=True)
"""BLEU on lower-cased tokens, as in several published results on Multi30k."""
