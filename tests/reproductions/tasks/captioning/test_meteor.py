"""METEOR from counts, against the scores of the authors' program and against values by hand."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from reproductions.tasks.captioning.meteor import COUNTS, counts, find_java, meteor

CAPTIONS = [["a", "dog", "runs"], ["a", "cat", "sits", "on", "a", "mat"], ["two", "birds"]]
REFERENCES = [[CAPTIONS[0]] * 5, [CAPTIONS[1]] * 5, [["one", "horse", "jumps"]] * 5]

# Counts and scores of three captions of Flickr8k, as METEOR 1.5 printed them. The first is aligned as a whole.
PRINTED = np.array(
    [
        [6, 6, 3, 3, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 6, 6],
        [7, 10, 3, 4, 3, 3, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 2, 5, 5],
        [15, 9, 7, 4, 1, 1, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 4, 4],
    ]
)
SCORES = [0.8666666666666667, 0.2560163056353697, 0.13778932558336313]


def test_the_scores_of_single_captions_are_those_of_the_program() -> None:
    np.testing.assert_allclose([meteor(each) for each in PRINTED], SCORES, rtol=1e-12)


def test_the_score_of_several_captions_is_that_of_the_sum_of_their_counts() -> None:
    together = meteor(PRINTED.sum(axis=0))
    assert together == pytest.approx(0.2728223094613873, rel=1e-12)
    assert together < np.mean(SCORES)


def test_nothing_matches() -> None:
    assert meteor(np.array([3, 4, 1, 1, *[0] * 19])) == 0.0
    assert meteor(np.zeros(COUNTS)) == 0.0


class Program:
    """Prints these counts, one line for each caption."""

    def __init__(self, printed: np.ndarray) -> None:
        self.lines = iter(printed.astype(float).tolist())
        self.asked: list[tuple[str, list[str]]] = []
        self.ended: list[str] = []
        self.meteor_p = SimpleNamespace(
            kill=lambda: self.ended.append("kill"), communicate=lambda: self.ended.append("communicate")
        )

    def _stat(self, caption: str, references: list[str]) -> str:
        self.asked.append((caption, references))
        return " ".join(map(str, next(self.lines))) + "\n"


def test_only_a_caption_that_is_aligned_as_a_whole_and_in_order_has_no_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = PRINTED.copy()
    printed[:, 20] = 1, 1, 2
    printed[2, 21:] = printed[2, :2]  # All its words are, but in another order; of the second caption some are.
    program = Program(printed)
    module = ModuleType("pycocoevalcap.meteor.meteor")
    monkeypatch.setattr(module, "Meteor", lambda: program, raising=False)
    for one in (ModuleType("pycocoevalcap"), ModuleType("pycocoevalcap.meteor"), module):
        monkeypatch.setitem(sys.modules, one.__name__, one)
    found = counts([["a", "dog", "runs"], [], ["two", "birds"]], [[["one"], ["a", "dog"]], [["two"]], [["three"]]])
    printed[0, 20] = 0
    np.testing.assert_array_equal(found, printed)
    assert found.dtype == np.int32
    assert program.asked == [("a dog runs", ["one", "a dog"]), (".", ["two"]), ("two birds", ["three"])]
    assert program.ended == ["kill", "communicate"]


@pytest.mark.slow
def test_the_program() -> None:
    pytest.importorskip("pycocoevalcap", reason="an extra: install gluon-attn[captions]")
    if not find_java():
        pytest.skip("no Java")
    found = counts(CAPTIONS, REFERENCES)
    assert found.shape == (3, COUNTS) and found.dtype == np.int32
    np.testing.assert_allclose([meteor(each) for each in found], [1.0, 1.0, 0.0], atol=1e-12)
