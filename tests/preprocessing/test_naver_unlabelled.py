"""Reviews of the crawl without labels: which are left out, which are chosen, and the real crawl."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from preprocessing import naver, naver_unlabelled
from preprocessing.corpora import CorpusFiles, locate
from preprocessing.errors import InputError, ParameterError
from preprocessing.text.near_copies import collapsed_key
from preprocessing.text.tokenizers.plain import without_spaces

# Pinned: when this changes, raise the version of the step that changed.
SAMPLE_DIGEST = "8a837f64b44a37929c2ad7a0b4358f7d8d86a8d72d79eec54cd52801b4122268"

EVALUATED = "처음부터 끝까지 눈을 뗄 수 없었던 영화"
LABELLED = "하나도 닮지 않은 글"
REVIEWS = {
    "1": f"{EVALUATED}!!!",
    "2": "처음부터 끝까지 눈을 뗄 수가 없었던 영화네요",
    "3": EVALUATED,
    "4": "하나도 닮지  않은글",
    "5": "아무 상관 없는 이야기",
    "6": "아무 상관  없는이야기",
    "7": " ",
    "8": "처음부터 지루했던 영화",
}


def own(root: Path) -> CorpusFiles:
    reviews = [{"review_id": number, "review": text, "rating": "10"} for number, text in REVIEWS.items()]
    (root / "raw").mkdir()
    (root / "raw" / "1.json").write_text(json.dumps(reviews, ensure_ascii=False), encoding="utf-8")
    for part, text in (("train", LABELLED), ("test", EVALUATED)):
        (root / part).write_text(f"id\tdocument\tlabel\n1\t{text}\t1\n", encoding="utf-8")
    return locate.given("mine", {part: root / part for part in ("raw", "train", "test")}, folders=True)


def test_reviews_of_the_corpus_and_near_copies_of_evaluated_ones_are_left_out(tmp_path: Path) -> None:
    result = naver_unlabelled.prepare(own(tmp_path), one_in=1)
    assert result.train.row_id.tolist() == ["5", "8"]
    assert result.train.label.tolist() == [-1, -1], "ratings are not used"
    assert list(result.splits) == ["train"]


def test_the_choice_depends_on_the_text_alone() -> None:
    one, other = (naver_unlabelled.prepare("sample", one_in=number).train for number in (1, 3))
    chosen = [int(hashlib.sha256(text.encode()).hexdigest()[16:24], 16) % 3 == 0 for text in one.text]
    assert other.row_id.tolist() == one.row_id[chosen].tolist()
    assert 0.2 < np.mean(chosen) < 0.5


def test_the_sample_with_and_without_the_cache() -> None:
    result, again = (naver_unlabelled.prepare("sample") for _ in range(2))
    assert result.digest == again.digest == SAMPLE_DIGEST


def test_the_corpus_and_the_chosen_reviews_share_no_text() -> None:
    official = naver.prepare("sample")
    known = {without_spaces(text) for split in official.splits.values() for text in split.text}
    assert not known & {without_spaces(text) for text in naver_unlabelled.prepare("sample", one_in=1).train.text}


def test_invalid_parameters_and_too_few_reviews_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="one_in"):
        naver_unlabelled.pipeline(one_in=0)
    with pytest.raises(InputError, match="step choose-by-hash: of 2 reviews none is chosen"):
        naver_unlabelled.prepare(own(tmp_path), one_in=1_000_003)


@pytest.mark.slow
@pytest.mark.corpus("nsmc")
def test_no_review_of_the_corpus_is_among_the_unlabelled_ones() -> None:
    result = naver_unlabelled.prepare("nsmc-raw")
    assert len(result.train) == 242_340
    assert result.digest == "e9e295000e9fed82e0360cd633ef3ff1fc294e2305a54f102fa2a649db2fd1bb"
    keys = {collapsed_key(text) for text in result.train.text}
    for name, official in naver.prepare("nsmc", tokenizer="whitespace").splits.items():
        texts = [naver.unquote(text) for text in official.text]
        assert not {without_spaces(text) for text in result.train.text}.intersection(map(without_spaces, texts))
        if name != "train":
            assert not keys.intersection(map(collapsed_key, texts))
    dropped = sum(one["rows"] for step in result.card["steps"] for one in step["dropped"])
    assert dropped + len(result.train) == 712_404
