"""How captions are scored: BLEU-1 to BLEU-4 against all references, CIDEr and METEOR where their package is
installed."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

import numpy as np

from reproductions.tasks.bleu import Bleu, bleu_up_to

REFERENCES = 5
PEERS = Bleu(tokenize="none", lowercase=True, references=REFERENCES)
"""BLEU of the caption's words, lower-cased and without punctuation, as the peers count it."""
OFFICIAL = Bleu(tokenize="13a", lowercase=True, references=REFERENCES)
"""sacreBLEU as it is published: of the captions as they were written, with punctuation, lower-cased."""
ORDERS = {f"bleu-{order}": order for order in (1, 2, 3, 4)}


def bleu_n(totals: np.ndarray, name: str) -> float:
    """``bleu-1`` to ``bleu-4`` from the sum of the images' counts."""
    return bleu_up_to(totals, ORDERS[name])


def coco(captions: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]) -> dict[str, np.ndarray]:
    """CIDEr and METEOR of each caption, (captions,) each, by the COCO caption evaluation; without its package, or for
    METEOR without Java, a message on standard error says so and they are left out.

    Both are given the words of the pipeline; the evaluation's own tokenizer, a Java program, is not used.
    """
    try:
        from pycocoevalcap.cider.cider import Cider
    except ImportError:
        print("CIDEr and METEOR are left out: install the extra captions", file=sys.stderr)
        return {}
    ours = {row: [" ".join(words) or "."] for row, words in enumerate(captions)}
    theirs = {row: [" ".join(words) for words in each] for row, each in enumerate(references)}
    scores = {"cider": np.asarray(Cider().compute_score(theirs, ours)[1], np.float64)}
    if shutil.which("java") is None:
        print("METEOR is left out: it needs Java on the path; install the extra jvm", file=sys.stderr)
        return scores
    from pycocoevalcap.meteor.meteor import Meteor

    scores["meteor"] = np.asarray(Meteor().compute_score(theirs, ours)[1], np.float64)
    return scores
