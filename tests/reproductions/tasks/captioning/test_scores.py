"""CIDEr against values by hand, and what is said where it or METEOR cannot be measured."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from reproductions.tasks.captioning.scores import coco

CAPTIONS = [["a", "dog", "runs"], ["a", "cat", "sits", "on", "a", "mat"], ["two", "birds"]]
REFERENCES = [[CAPTIONS[0]] * 5, [CAPTIONS[1]] * 5, [["one", "horse", "jumps"]] * 5]


def test_cider_of_equal_and_of_different_captions() -> None:
    """The mean over n = 1 to 4 of ten times the cosine: 1 for the same n-grams, 0 for none; three words have no
    4-grams."""
    pytest.importorskip("pycocoevalcap", reason="an extra: install gluon-attn[captions]")
    np.testing.assert_allclose(coco(CAPTIONS, REFERENCES)["cider"], [7.5, 10.0, 0.0], atol=1e-9)


def test_cider_of_a_caption_that_shares_a_word() -> None:
    """Of "x y" against "x z", where each word is in one of three images: x has half of the squared length of either,
    so the cosine of 1-grams is 1/2; no longer n-gram is shared."""
    pytest.importorskip("pycocoevalcap", reason="an extra: install gluon-attn[captions]")
    references = [[["x", "z"]], [["a", "b"]], [["c", "d"]]]
    scores = coco([["x", "y"], ["a", "b"], ["c", "d"]], references)["cider"]
    # y is in no reference: it counts as if it were in one.
    assert scores[0] == pytest.approx(10 / 4 / 2) and scores[1] == pytest.approx(5.0)


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "pycocoevalcap.cider.cider", None)
    assert coco(CAPTIONS, REFERENCES) == {}
    assert capsys.readouterr().err == "CIDEr and METEOR are left out: install the extra captions\n"


def test_without_java_there_is_cider(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pycocoevalcap", reason="an extra: install gluon-attn[captions]")
    monkeypatch.setattr("reproductions.tasks.captioning.meteor.find_spec", lambda _: None)
    monkeypatch.setenv("PATH", "")
    assert list(coco(CAPTIONS, REFERENCES)) == ["cider"]
    assert "METEOR is left out: it needs Java" in capsys.readouterr().err
