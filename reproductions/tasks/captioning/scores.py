"""Scores of captions: BLEU-1 to BLEU-4 against all references, and CIDEr and METEOR if their package is installed."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from reproductions.tasks.bleu import Bleu, bleu_up_to
from reproductions.tasks.captioning import meteor

REFERENCES = 5
PEERS = Bleu(tokenize="none", lowercase=True, references=REFERENCES)
"""BLEU on the words of the caption, lower-cased and without punctuation, as in most published results."""
OFFICIAL = Bleu(tokenize="13a", lowercase=True, references=REFERENCES)
"""sacreBLEU against the original references with punctuation, lower-cased."""
ORDERS = {f"bleu-{order}": order for order in (1, 2, 3, 4)}


def bleu_n(totals: np.ndarray, name: str) -> float:
    """``bleu-1`` to ``bleu-4`` from the sum of the counts of all images."""
    return bleu_up_to(totals, ORDERS[name])


def coco(captions: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]) -> dict[str, np.ndarray]:
    """CIDEr of each caption, (captions,), and the counts of METEOR, (captions, 23), by the COCO caption evaluation. If
    its package is missing, or Java for METEOR, they are left out with a message on standard error.

    Both are computed on the words of the pipeline; the evaluation's own PTBTokenizer, a Java program, is not used. As
    returned by COCO's evaluation, CIDEr is at most 10.
    """
    try:
        from pycocoevalcap.cider.cider import Cider
    except ImportError:
        print("CIDEr and METEOR are left out: install the extra captions", file=sys.stderr)
        return {}
    ours = {row: [" ".join(words) or "."] for row, words in enumerate(captions)}
    theirs = {row: [" ".join(words) for words in each] for row, each in enumerate(references)}
    scores = {"cider": np.asarray(Cider().compute_score(theirs, ours)[1], np.float64)}
    if not meteor.find_java():
        print("METEOR is left out: it needs Java; install the extra jvm", file=sys.stderr)
        return scores
    try:
        scores["meteor"] = meteor.counts(captions, references)
    except (OSError, ValueError):
        # The test split has been read already: a failure of Java must not lose the other scores.
        print("METEOR is left out: its Java program has failed; gluon-attn doctor tests Java", file=sys.stderr)
    return scores
