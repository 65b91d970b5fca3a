"""The card as a page: every number of the card is on it, and text from a corpus is escaped."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from preprocessing.text.card_page import write
from tests.preprocessing.pages import ATTACK, Page, profile


@pytest.fixture
def card() -> dict[str, Any]:
    """A card of all topics with numbers that are easy to tell apart."""
    survey = {
        "rows": 7001,
        "empty": 7002,
        "doubled_quotes": 7003,
        "distinct_texts": 7004,
        "duplicate_rows": 7005,
        "texts_with_both_labels": 7006,
        "labels": {"0": 3500, "1": 3501},
        "rate_of_label_1": 0.500071,
        "characters": profile([3, 12, 40], width=5),
    }
    leak = {
        "rows": 8001,
        "of_test": 0.1234,
        "empty": 8002,
        "label_of_last_copy_agrees": 8003,
        "label_of_a_copy_agrees": 8004,
        "label_of_all_copies_agrees": 8005,
    }
    cut = {"rows_cut": 9001, "rate_of_rows": 0.2345, "tokens_cut": 9002, "rate_of_tokens": 0.3456}
    return {
        "format": 1,
        "pipeline": "naver",
        "digest": "d1ge57" * 10,
        "sample": False,
        "corpus": {
            "name": "nsmc",
            "title": "Naver sentiment movie corpus",
            "licence": "CC0 1.0",
            "homepage": "https://example.org/nsmc",
            "files": {
                "train": {"file": "train.txt", "url": "https://example.org/train", "sha256": "aa11" * 16, "rows": 6001},
                "test": {"file": "test.txt", "url": None, "sha256": "bb22" * 16, "rows": None},
            },
        },
        "steps": [
            {
                "name": "drop-empty",
                "version": 3,
                "rule": "Rows without text are left out.",
                "parameters": {},
                "rows": {"train": {"in": 5001, "out": 5000}, "test": {"in": 400, "out": 400}},
                "tokens": {"train": {"in": None, "out": None}, "test": None},
                "dropped": [{"split": "train", "reason": "empty text", "rows": 1, "examples": ["9976970"]}],
                "examples": [],
            },
            {
                "name": "truncate",
                "version": 1,
                "rule": "The first 30 tokens are kept.",
                "parameters": {"max_length": 30},
                "rows": {"train": {"in": 5000, "out": 5000}, "test": {"in": 400, "out": 400}},
                "tokens": {"train": {"in": 51234, "out": 41234}, "test": {"in": 777, "out": 777}},
                "dropped": [],
                "examples": [{"before": "영화가 재밌었다", "after": "영화 가 재밌 었 다"}],
            },
        ],
        "splits": {
            "train": {"rows": 5000, "tokens": 41234, "labels": {"0": 2400, "1": 2600}, "rate_of_label_1": 0.52},
            "test": {"rows": 400, "tokens": 777, "labels": {"0": 400}, "rate_of_label_1": 0.0},
        },
        "facts": {
            "survey": {"train": survey},
            "leaks_as_read": leak,
            "leaks": leak | {"rows": 8011},
            "quotes": {"train": 623, "test": 233},
            "lengths": {"train": profile([1, 1, 2, 14, 72]), "test": profile([5, 30])},
            "truncation": [{"max_length": length, "splits": {"train": cut}} for length in (20, 30)],
            "vocabulary": {
                "size": 1202,
                "specials": ["<unk>", "<pad>"],
                "min_freq": 5,
                "max_size": None,
                "types_in_train": 3210,
                "types_kept": 1200,
                "tokens_in_train": 41234,
                "rate_of_train_tokens_kept": 0.9733,
                "most_frequent": [["영화", 4321]],
            },
            "unknown": {
                "test": {
                    "tokens": 777,
                    "unknown": 21,
                    "rate": 0.027027,
                    "rows_with_unknown": 19,
                    "rate_of_rows": 0.0475,
                    "types": 20,
                    "most_frequent": [["ㅋㅋㅋ", 2]],
                }
            },
        },
    }


def page_of(card: dict[str, Any], folder: Path) -> Page:
    write(card, folder / "card.html")
    return Page(folder / "card.html")


def test_every_number_and_every_word_of_the_card_is_on_the_page(card: dict[str, Any], tmp_path: Path) -> None:
    text = page_of(card, tmp_path).text
    words = ["naver", card["digest"], "CC0 1.0", "https://example.org/nsmc", "train.txt", "aa11" * 16, "bb22" * 16]
    words += ["Rows without text are left out.", "version 3", "empty text", "9976970", "max_length"]
    words += ["영화가 재밌었다", "영화 가 재밌 었 다", "<unk> <pad>", "영화", "ㅋㅋㅋ"]
    numbers = ["6,001", "5,000", "41,234", "777", *(f"{number:,}" for number in range(7001, 7007)), "623", "233"]
    numbers += [*(f"{number:,}" for number in range(8001, 8006)), "8,011", "9,001", "9,002", "1,202", "3,210", "4,321"]
    shares = ["52.00 %", "12.34 %", "23.45 %", "34.56 %", "97.33 %", "2.70 %", "4.75 %", "50.01 %"]
    assert [word for word in [*words, *numbers, *shares] if word not in text] == []


def test_the_line_of_this_pipeline_is_highlighted(card: dict[str, Any], tmp_path: Path) -> None:
    write(card, tmp_path / "card.html")
    html = (tmp_path / "card.html").read_text(encoding="utf-8")
    assert re.findall(r'<tr class="own"><td class="number">(\d+)</td>', html) == ["30"]
    assert "cut after 30" in html


def test_a_pipeline_that_does_not_truncate_says_so(card: dict[str, Any], tmp_path: Path) -> None:
    card["steps"][1]["parameters"]["max_length"] = None
    page = page_of(card, tmp_path)
    assert "This pipeline cuts no row." in page.text
    assert "cut after" not in page.text


def replaced(value: Any) -> Any:
    """The same card with hostile HTML in place of every text and every name."""
    if isinstance(value, str):
        return ATTACK
    if isinstance(value, list):
        return [replaced(item) for item in value]
    return {key: replaced(item) for key, item in value.items()} if isinstance(value, dict) else value


def test_hostile_text_is_escaped(card: dict[str, Any], tmp_path: Path) -> None:
    hostile = replaced(card)
    hostile["splits"] = {ATTACK: hostile["splits"]["train"]}
    hostile["facts"]["lengths"] = {ATTACK: card["facts"]["lengths"]["train"]}
    hostile["facts"][ATTACK] = {"another topic": ATTACK}
    hostile["steps"][0]["parameters"] = {ATTACK: [ATTACK]}
    page = page_of(hostile, tmp_path)
    assert page.named("img") == []
    assert page.named("script") == []
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert ATTACK in page.text
    assert [link["href"] for link in page.named("a") if not str(link["href"]).startswith("#")] == []


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", " https://x"])
def test_only_web_addresses_become_links(url: str, card: dict[str, Any], tmp_path: Path) -> None:
    card["corpus"]["homepage"] = card["corpus"]["files"]["train"]["url"] = url
    links = [link["href"] for link in page_of(card, tmp_path).named("a")]
    assert links == ["#step-1", "#step-2"]


def test_the_page_runs_and_loads_nothing(card: dict[str, Any], tmp_path: Path) -> None:
    page = page_of(card, tmp_path)
    (policy,) = [meta["content"] for meta in page.named("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    assert str(policy).startswith("default-src 'none'; style-src 'unsafe-inline';")
    assert not {"script", "link", "img", "iframe", "object"} & {name for name, _ in page.elements}
    assert not any("src" in attributes for _, attributes in page.elements)
    assert re.search(r"url\(|@import", (tmp_path / "card.html").read_text(encoding="utf-8")) is None


@pytest.mark.parametrize("sample", [True, False])
def test_the_sample_has_a_visible_warning(sample: bool, card: dict[str, Any], tmp_path: Path) -> None:
    page = page_of(card | {"sample": sample}, tmp_path)
    assert ("these numbers mean nothing" in page.text) is sample


def test_the_same_card_gives_the_same_bytes_also_after_json(card: dict[str, Any], tmp_path: Path) -> None:
    write(copy.deepcopy(card), tmp_path / "first.html")
    write(json.loads(json.dumps(card)), tmp_path / "second.html")
    assert (tmp_path / "first.html").read_bytes() == (tmp_path / "second.html").read_bytes()


@pytest.mark.parametrize("topics", [[], ["lengths"], ["survey"], ["unknown", "leaks"]])
def test_topics_may_be_missing_and_unknown_ones_are_shown_verbatim(
    topics: list[str], card: dict[str, Any], tmp_path: Path
) -> None:
    card["facts"] = {topic: card["facts"][topic] for topic in topics} | {"images": {"broken": 4711}}
    page = page_of(card, tmp_path)
    assert "images" in page.text
    assert '"broken": 4711' in page.text
    assert ("Tokens per row before truncation" in page.text) is ("lengths" in topics)


def test_an_empty_split_has_no_histogram(card: dict[str, Any], tmp_path: Path) -> None:
    card["splits"]["test"] = {"rows": 0, "tokens": 0, "labels": {}, "rate_of_label_1": 0.0}
    card["facts"]["lengths"]["test"] = profile([])
    plots = page_of(card, tmp_path).text.count("tokens per row, ")
    assert plots == 1, "of train only"


def test_the_card_of_the_embedded_sample_makes_a_page(tmp_path: Path) -> None:
    from preprocessing import naver

    result = naver.prepare("sample", tokenizer="whitespace", max_length=30, processes=1, cache=False)
    page = page_of(result.card, tmp_path)
    assert result.digest in page.text
    assert "these numbers mean nothing" in page.text
    assert all(step.rule in page.text for step in result.pipeline.steps)
    assert len(page.named("svg")) == 5, "tokens of three splits, characters of two files"
