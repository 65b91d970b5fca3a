"""Text for language modelling: strict reading, the vocabulary, and one stream of ids."""

from __future__ import annotations

from pathlib import Path

import gluonnlp
import numpy as np
import pytest

from preprocessing import ptb
from preprocessing.corpora import locate
from preprocessing.errors import InputError, ParameterError
from preprocessing.text.vocabulary import Vocabulary

# Pinned: when this changes, raise the version of the step that changed.
SAMPLE_DIGEST = "61002c77d27023790e7dfae242741e96fc3a109cdf5a6f247a850a808f7d6a03"


def own(root: Path, train: str, test: str = " a b \n") -> locate.CorpusFiles:
    paths = {split: root / split for split in ("train", "validation", "test")}
    for split, path in paths.items():
        path.write_text(train if split == "train" else test, encoding="utf-8", newline="\n")
    return locate.given("mine", paths)


def test_the_token_stream_by_hand(tmp_path: Path) -> None:
    files = own(tmp_path, " the cat <unk> \n\n the dog \n", "a cat\n<unk> the <pad>\n")
    result = ptb.prepare(files, cache=False, processes=1)
    assert result.vocabulary.idx_to_token == ["<unk>", "<eos>", "the", "cat", "dog"]
    assert result.train.ids.tolist() == [2, 3, 0, 1, 1, 2, 4, 1]
    assert result.test.ids.tolist() == [0, 3, 1, 0, 2, 0, 1]
    assert result.train.words(1) == ["<eos>"] and result.train.text[0] == " the cat <unk> "
    assert result.card["facts"]["lines"]["train"] == {
        "lines": 3,
        "without_words": 1,
        "words": 5,
        "words_and_line_ends": 8,
        "unknown_as_it_stands": 1,
        "types": 4,
    }
    assert result.card["splits"]["train"] == {"rows": 3, "tokens": 8, "labels": {}, "rate_of_label_1": 0.0}
    assert result.encode(["the bird"]).ids.tolist() == [2, 0, 1]
    with pytest.raises(ParameterError, match="'the bird': is a single text; give a list of texts"):
        result.encode("the bird")
    smaller = ptb.prepare(files, max_size=2, cache=False, processes=1)
    assert smaller.vocabulary.idx_to_token == ["<unk>", "<eos>", "the"]


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        ("", 1, "no lines"),
        ("a b", 1, "the last line has no line feed"),
        ("a\r\n", 1, "Windows line endings"),
        ("a\nb <eos> c\n", 2, "contains the word <eos>, which marks the ends of lines"),
        ("a\nb\nc\n", None, "3 lines, the official corpus has 2"),
    ],
)
def test_each_fault_is_named_with_its_line(content: str, line: int | None, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "ptb.train.txt"
    path.write_text(content, encoding="utf-8", newline="")
    with pytest.raises(InputError) as caught:
        ptb.read_text(path, rows=2)
    assert (caught.value.where, caught.value.line) == (str(path), line)
    assert caught.value.reason.startswith(reason) and caught.value.remedy
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_freq": 0}, "min_freq 0: must be at least 1"),
        ({"max_size": 0}, "max_size 0: must be at least 1"),
    ],
)
def test_invalid_parameters_are_refused(options: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ptb.pipeline(**options)


def test_the_sample_with_and_without_the_cache(tmp_path: Path) -> None:
    result, again = (ptb.prepare("sample") for _ in range(2))
    assert result.digest == again.digest == SAMPLE_DIGEST and result.card["sample"] is True
    assert again.vocabulary == result.vocabulary and again.vocabulary.specials == ("<unk>",)
    assert again.train.words(3) == result.train.words(3)
    assert (again.train.ids == 0).sum() == sum(row.count("<unk>") for row in map(str.split, again.train.text))
    ptb.write(result, tmp_path / "out")
    with np.load(tmp_path / "out" / "train.npz") as arrays:
        assert (arrays["ids"] == result.train.ids).all() and (arrays["label"] == -1).all()
    stored = (tmp_path / "out" / "vocab.json").read_text(encoding="utf-8")
    assert Vocabulary.from_json(stored) == result.vocabulary
    vocabulary = gluonnlp.Vocab.from_json(stored)
    assert vocabulary.idx_to_token == result.vocabulary.idx_to_token and vocabulary.padding_token is None


@pytest.mark.corpus("ptb")
def test_the_card_of_ptb() -> None:
    result = ptb.prepare("ptb", processes=1)
    assert [len(split.ids) for split in result.splits.values()] == [929_589, 73_760, 82_430]
    assert [len(split) for split in result.splits.values()] == [42_068, 3_370, 3_761]
    assert len(result.vocabulary) == 10_000 and result.vocabulary["<eos>"] == 2
    assert result.vocabulary.idx_to_token[:5] == ["<unk>", "the", "<eos>", "N", "of"]
    lines = result.card["facts"]["lines"]
    assert [int((split.ids == 0).sum()) for split in result.splits.values()] == [
        lines[name]["unknown_as_it_stands"] for name in ("train", "validation", "test")
    ]
    assert lines["test"]["unknown_as_it_stands"] == 4_794
    assert result.digest == "9ec17a77b04ec45304c95bab93bf8066711e066e51e8df63ee93e8d88a7dc2fd"


@pytest.mark.parametrize("part", ["train", "test"])
def test_a_split_that_is_not_given_is_named(part: str, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a b\n", encoding="utf-8")
    with pytest.raises(InputError, match=f"mine.* {'test' if part == 'train' else 'train'}"):
        ptb.prepare(locate.given("mine", {part: tmp_path / "text"}), cache=False)
