"""Choices that descriptions leave open: each does what its rule says, and changes nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from preprocessing import naver
from preprocessing.corpora import CorpusFiles, locate
from preprocessing.errors import ParameterError
from preprocessing.pipeline.ragged import Ragged
from preprocessing.pipeline.step import Context
from preprocessing.text.choices import CLEANING, STOP_WORDS, Clean, MecabByTag, SplitTail
from preprocessing.text.data import Data, Split
from preprocessing.text.pipeline import Result
from preprocessing.text.tokenizers.mecab import Mecab

TRAIN = [
    "재미있다 ㅋㅋㅋㅋ",
    "지루하다!!",
    "지루하다!!",
    "Good 영화",
    "연기 는 좋다 그러나 대본 이 별로다",
    "또 보고 싶다",
]
TEST = ["또 보고 싶다", "별로다 ㅠㅠ"]


@pytest.fixture
def files(tmp_path: Path) -> CorpusFiles:
    paths = {}
    for part, texts in (("train", TRAIN), ("test", TEST)):
        paths[part] = tmp_path / f"{part}.txt"
        rows = "".join(f"{part}{row}\t{text}\t{row % 2}\n" for row, text in enumerate(texts))
        paths[part].write_text(f"{naver.HEADER}\n{rows}", encoding="utf-8")
    return locate.given("mine", paths)


def prepared(files: CorpusFiles, **options: Any) -> Result:
    return naver.prepare(files, cache=False, processes=1, **{"tokenizer": "whitespace", "min_freq": 1, **options})


def rows(result: Result, name: str = "train") -> list[str]:
    split = result.splits[name]
    return [" ".join(split.words(row)) for row in range(len(split))]


@pytest.mark.parametrize(
    ("rule", "text", "cleaned"),
    [
        ("lower-case", "GOOD 영화", "good 영화"),
        ("repetitions", "와아아아 ㅋㅋㅋㅋ!!!! 좋아", "와아아 ㅋㅋ!!!! 좋아"),
        ("laughter", "좋아ㅋㅋㅋㅎㅎ ㅠㅠ", "좋아   "),
        ("punctuation", "별로..._정말! 10점", "별로    정말  10점"),
        ("hangul-only", "Good 10점!! ㅋㅋ 영화\t평", " 점 ㅋㅋ 영화평"),
        ("no-spaces", " 또 보고\u3000싶다 ", "또보고싶다"),
    ],
)
def test_each_rule_of_cleaning(rule: str, text: str, cleaned: str) -> None:
    assert Clean((rule,)).cleaned(text) == cleaned


@given(st.text())
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    for rule in CLEANING:
        once = Clean((rule,)).cleaned(text)
        assert Clean((rule,)).cleaned(once) == once


def test_rules_apply_in_their_order() -> None:
    assert Clean(("no-spaces", "repetitions")).cleaned("아 아 아") == "아아"
    assert Clean(("repetitions", "no-spaces")).cleaned("아 아 아") == "아아아"


def test_what_the_tokenizer_reads_is_cleaned_and_the_text_is_kept(files: CorpusFiles) -> None:
    result = prepared(files, clean=("laughter", "punctuation"), validation="tail")
    assert rows(result)[:2] == ["재미있다", "지루하다"]
    assert result.splits["train"].text.tolist() == TRAIN


def test_new_rows_are_cleaned_too(files: CorpusFiles) -> None:
    result = prepared(files, clean=("punctuation",), stop_words="wikidocs-mecab")
    split = result.encode(["지루하다!! 는 싶다..."])
    assert split.words(0) == ["지루하다", "싶다"]


def test_stop_words_are_removed_and_no_other_token(files: CorpusFiles) -> None:
    plain, removed = prepared(files), prepared(files, stop_words="wikidocs-okt")
    words = STOP_WORDS["wikidocs-okt"][1].split()
    for name in plain.splits:
        expected = [" ".join(word for word in row.split() if word not in words) for row in rows(plain, name)]
        assert rows(removed, name) == expected
    assert "는" in " ".join(rows(plain) + rows(plain, "validation"))


def test_stop_tags_remove_particles_endings_and_adverbs() -> None:
    text = "이 영화는 정말 재미있다 지루하지 않아요"
    kept = MecabByTag().tokenize(text)
    assert kept == ["영화", "재미있", "지루", "않"]
    assert [token for token in Mecab().tokenize(text) if token in kept] == kept


@pytest.mark.parametrize("space", ["\u2028", "\xa0", "\u3000", "\x85", "\x1c"])
def test_white_space_is_no_token_by_tag_either(space: str) -> None:
    assert MecabByTag().tokenize(f"영화{space}좋다") == MecabByTag().tokenize("영화 좋다") == ["영화", "좋"]


def test_the_end_of_a_row_can_be_kept(files: CorpusFiles) -> None:
    first, last = (prepared(files, max_length=2, keep=keep, validation="tail") for keep in ("first", "last"))
    assert rows(first)[4] == "연기 는" and rows(last)[4] == "이 별로다"
    assert rows(first)[0] == rows(last)[0]


def test_copies_are_dropped_from_the_training_file_alone(files: CorpusFiles) -> None:
    def ids(result: Result) -> list[str]:
        return sorted([*result.splits["train"].row_id, *result.splits["validation"].row_id])

    assert ids(prepared(files)) == [f"train{row}" for row in range(6)]
    assert ids(prepared(files, copies="of-train")) == ["train0", "train1", "train3", "train4", "train5"]
    result = prepared(files, copies="of-test")
    assert ids(result) == [f"train{row}" for row in range(5)]
    assert result.splits["test"].text.tolist() == TEST and not result.splits["test"].seen_in_train.any()


def test_the_tail_is_the_last_rows_of_the_training_file(tmp_path: Path) -> None:
    paths = {part: tmp_path / f"{part}.txt" for part in ("train", "test")}
    for path in paths.values():
        lines = "".join(f"{row}\t문장 {row}\t0\n" for row in range(25))
        path.write_text(f"{naver.HEADER}\n{lines}", encoding="utf-8")
    result = prepared(locate.given("mine", paths), validation="tail")
    assert result.splits["validation"].row_id.tolist() == ["23", "24"] and len(result.splits["train"]) == 23


def test_every_choice_is_stated_by_the_steps() -> None:
    def described(choice: dict[str, Any]) -> str:
        steps = naver.pipeline(**{"tokenizer": "whitespace", **choice}).steps
        return json.dumps([step.describe() for step in steps])

    choices: list[dict[str, Any]] = [
        {},
        {"clean": ("laughter",)},
        {"clean": ("laughter", "punctuation")},
        {"clean": ("punctuation", "laughter")},
        {"stop_words": "wikidocs-okt"},
        {"stop_words": "wikidocs-mecab"},
        {"tokenizer": "mecab"},
        {"tokenizer": "mecab", "stop_words": "tags"},
        {"max_length": 2},
        {"max_length": 2, "keep": "last"},
        {"copies": "of-train"},
        {"copies": "of-test"},
        {"validation": "tail"},
    ]
    assert len({described(choice) for choice in choices}) == len(choices)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clean": ("everything",)}, "clean 'everything': no such choice; choose lower-case, "),
        ({"stop_words": "mine"}, "stop_words 'mine': no such choice; choose wikidocs-okt"),
        ({"stop_words": "tags"}, "stop_words 'tags': whitespace has no tags here; choose the tokenizer mecab"),
        ({"keep": "middle"}, "keep 'middle': no such choice; choose first or last"),
        ({"copies": "all"}, "copies 'all': no such choice"),
        ({"validation": "random"}, "validation 'random': no such choice"),
    ],
)
def test_unknown_choices_are_refused_in_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        naver.pipeline(**{"tokenizer": "whitespace", **options})
    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)


@given(st.lists(st.lists(st.integers(0, 5), max_size=6), max_size=5), st.integers(0, 4))
def test_ends_and_filters_of_ragged_rows(nested: list[list[int]], longest: int) -> None:
    ragged = Ragged.from_rows(nested)
    ends, odd = ragged.ends(longest), ragged.where(ragged.ids % 2 == 1)
    for row, ids in enumerate(nested):
        assert ends[row].tolist() == (ids[-longest:] if longest else [])
        assert odd[row].tolist() == [number for number in ids if number % 2]
    assert len(ends) == len(odd) == len(nested)
    assert ends.offsets.dtype == odd.offsets.dtype == np.int64


def test_too_few_rows_have_no_tail() -> None:
    data = Data({"train": Split.of(["a"] * 9), "test": Split.of(["b"])})
    _, notes = SplitTail().apply(data, Context())
    assert notes.warnings == ["9 rows are too few to split off one in 10: validation has none"]
