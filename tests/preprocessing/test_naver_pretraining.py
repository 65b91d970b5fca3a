"""Text for pretraining: near copies of evaluated reviews, repeated texts, pieces and vocabulary, and the real crawl."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from preprocessing import naver, naver_pieces, naver_pretraining
from preprocessing.corpora import CorpusFiles, locate
from preprocessing.errors import InputError
from preprocessing.pipeline.step import Context
from preprocessing.text.data import Data
from preprocessing.text.near_copies import collapsed_key, near_copies
from preprocessing.text.own_texts import own_texts
from preprocessing.text.tokenizers.sentencepiece import SentencePiece
from preprocessing.text.vocabulary import MASKED_SPECIALS, UNKNOWN_ID, Vocabulary

# Pinned: when these change, raise the version of the step that changed.
SAMPLE_DIGEST = "40ee8e3edafb71ee775a2e33aa8c4622d42b992e84f944e96a5f6c00d3b7d4b5"
PIECES_DIGEST = "aa19962d617085202cd78cd28e239437f3c047a90c8889240684fe6938412af6"
SMALL: dict[str, Any] = {"pieces": 800, "one_in": 10}

EVALUATED = "처음부터 끝까지 눈을 뗄 수 없었던 영화"
FILMS = {
    "9.json": [("1", "아무 상관 없는 이야기"), ("2", f"{EVALUATED}!!!"), ("3", "아무  상관없는 이야기")],
    "10.json": [
        ("4", "처음부터 끝까지 눈을 뗄 수가 없었던 영화네요"),
        ("5", "처음부터 지루했던 영화"),
        ("6", EVALUATED),
    ],
}


def own(root: Path) -> CorpusFiles:
    (root / "raw").mkdir()
    for name, texts in FILMS.items():
        reviews = [{"review_id": number, "review": text, "rating": "5"} for number, text in texts]
        (root / "raw" / name).write_text(json.dumps(reviews, ensure_ascii=False), encoding="utf-8")
    for part, rows in (("train", "1\t하나도 닮지 않은 글\t1\n"), ("test", f"6\t{EVALUATED}\t1\n")):
        (root / part).write_text(f"id\tdocument\tlabel\n{rows}", encoding="utf-8")
    return locate.given("mine", {part: root / part for part in ("raw", "train", "test")}, folders=True)


def test_copies_and_near_copies_are_left_out_and_repeated_texts_once(tmp_path: Path) -> None:
    data, context, dropped = Data(), Context(own(tmp_path)), {}
    for step in naver_pretraining.pipeline().steps[:5]:
        data, notes = step.apply(data, context)
        dropped[step.name] = {reason: ids for _, reason, _, ids in map(_fields, notes.dropped)}
    assert dropped["leave-out"] == {"text occurs in the test split of NSMC": ["10/6"]}
    assert dropped["leave-out-near-copies"] == {
        "has the key of a text in the test split of NSMC": ["9/2"],
        "is a near copy of a text in the test split of NSMC": ["10/4"],
    }
    assert dropped["drop-repeated"] == {"the same text comes before": ["9/3"]}
    assert data.splits["train"].row_id.tolist() == ["10/5", "9/1"], "films in the order of their names"


def _fields(dropped: object) -> tuple[str, str, int, list[str]]:
    return tuple(vars(dropped).values())


def test_the_sample_with_and_without_the_cache() -> None:
    result, again = (naver_pretraining.prepare("sample", **SMALL) for _ in range(2))
    assert result.digest == again.digest == SAMPLE_DIGEST
    assert {name: len(split) for name, split in again.splits.items()} == {"train": 279, "validation": 32, "test": 32}
    assert again.vocabulary.specials == MASKED_SPECIALS
    assert isinstance(again.tokenizer, SentencePiece)
    assert set(again.vocabulary.learned) <= again.tokenizer.pieces, "no character without a piece has an id"
    facts = result.card["facts"]
    assert facts["vocabulary"]["model_sha256"] == again.tokenizer.sha256
    assert facts["masking"]["rate"] == pytest.approx(0.15, abs=0.04)
    assert facts["masking"]["masked"] == pytest.approx(0.8, abs=0.1)
    assert facts["pairs"]["train"]["pairs"] == 139 and facts["pairs"]["train"]["of_one_film"] == 79
    assert Vocabulary.from_json(again.vocabulary.to_json()).specials == MASKED_SPECIALS


def test_the_corpus_is_read_in_the_same_pieces() -> None:
    crawl = naver_pretraining.prepare("sample", **SMALL)
    result = naver_pieces.prepare("sample", **SMALL)
    assert result.digest == PIECES_DIGEST
    assert result.vocabulary == crawl.vocabulary and result.tokenizer.state() == crawl.tokenizer.state()
    plain = naver.prepare("sample", tokenizer="whitespace")
    for name, split in result.splits.items():
        assert split.row_id.tolist() == plain.splits[name].row_id.tolist()
    assert (result.test.ids != UNKNOWN_ID).mean() > 0.95
    few = naver_pieces.prepare("sample", labelled=20, **SMALL)
    assert len(few.train) == 20 and few.test.ids.tolist() == result.test.ids.tolist()
    assert few.train.row_id.tolist() == naver.prepare("sample", labelled=20).train.row_id.tolist()


def test_without_the_cache_nothing_is_left_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLUON_ATTN_CACHE", str(tmp_path))
    assert naver_pieces.prepare("sample", **SMALL, cache=False).digest == PIECES_DIGEST
    assert list(tmp_path.rglob("*")) == []


def test_the_page_has_the_limit_of_reviews_not_of_pretraining(tmp_path: Path) -> None:
    naver_pieces.write(naver_pieces.prepare("sample", **(SMALL | {"max_length": 126})), tmp_path / "out", page=True)
    page = (tmp_path / "out" / "card.html").read_text(encoding="utf-8")
    assert "cut after 126" in page and "cut after 60" not in page


def own_tables(root: Path) -> CorpusFiles:
    for name, rows in (("train", 40), ("test", 5)):
        lines = [f"{row}\t정말 재미있는 영화 {row}\t{'싫다' if row % 2 else '좋다'}" for row in range(rows)]
        (root / f"{name}.tsv").write_text("\n".join(["id\tdocument\tlabel", *lines]) + "\n", encoding="utf-8")
    return own_texts(root / "train.tsv", root / "test.tsv")


def test_own_texts_are_read_in_the_pieces_of_a_pretrained_network(tmp_path: Path) -> None:
    crawl = naver_pretraining.prepare("sample", **SMALL)
    crawl.save(learned := tmp_path / "preprocessing.npz")
    result = naver_pieces.own_pipeline().run(naver_pieces.own_files(own_tables(tmp_path), learned))
    assert result.vocabulary == crawl.vocabulary and result.tokenizer.state() == crawl.tokenizer.state()
    assert result.corpora.keys() == {"train", "test", "pieces"} and result.card["facts"]["labels"] == ["싫다", "좋다"]
    assert len(result.train) + len(result.validation) == 40 and len(result.validation) > 0
    assert result.test.ids.tolist() == crawl.encode(result.test.text.tolist()).ids.tolist()
    result.save(again := tmp_path / "again.npz")
    restored = naver_pieces.own_pipeline().load(again)
    assert restored.encode(["재미있는"]).ids.tolist() == crawl.encode(["재미있는"]).ids.tolist()


def test_pieces_of_another_pipeline_are_refused(tmp_path: Path) -> None:
    texts = own_tables(tmp_path)
    naver.prepare("sample", tokenizer="whitespace").save(other := tmp_path / "other.npz")
    files = naver_pieces.own_files(texts, other)
    with pytest.raises(
        InputError, match=r"other\.npz: saved by the pipeline naver, not by naver-pretraining; name the"
    ):
        naver_pieces.own_pipeline().run(files)
    with pytest.raises(InputError, match=r"none\.npz: is missing; name the preprocessing.npz of a pretrained network"):
        naver_pieces.own_files(texts, tmp_path / "none.npz")


def test_more_labels_than_rows_are_refused() -> None:
    with pytest.raises(InputError, match="step limit-labelled: 1000 rows are wanted, train has 295; choose a"):
        naver_pieces.prepare("sample", labelled=1000, **SMALL)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pieces": 0}, "pieces 0: must be at least 1"),
        ({"max_length": 0}, "max_length 0: must be at least 1"),
        ({"one_in": 2}, "one_in 2: must be at least 3"),
    ],
)
def test_invalid_parameters_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        naver_pretraining.pipeline(**options)


@pytest.mark.slow
@pytest.mark.timeout(1200)  # pieces are learned on the whole crawl
@pytest.mark.corpus("nsmc")
def test_no_evaluated_review_is_in_the_text_for_pretraining() -> None:
    result = naver_pretraining.prepare("nsmc-raw")
    keys = {collapsed_key(text) for split in result.splits.values() for text in split.text}
    rows = np.random.RandomState(0).permutation(15_000)[:500]
    for name, official in naver.prepare("nsmc", tokenizer="whitespace").splits.items():
        if name != "train":
            texts = [collapsed_key(naver.unquote(text)) for text in official.text]
            assert not keys.intersection(texts)
            some = [texts[row] for row in rows if row < len(texts)]
            assert not near_copies(sorted(keys), some, 0.5).any()
    steps = {step["name"]: step for step in result.card["steps"]}
    assert (
        sum(one["rows"] for step in steps.values() for one in step["dropped"]) + sum(map(len, result.splits.values()))
        == 712_404
    )
