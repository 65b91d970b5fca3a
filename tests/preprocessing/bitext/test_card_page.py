"""The card of parallel text as a page: reading, splits and overlaps of both sides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from preprocessing import translation
from preprocessing.bitext.card_page import write
from tests.preprocessing.pages import ATTACK, Page


def page_of(card: dict[str, Any], folder: Path) -> Page:
    write(card, folder / "card.html")
    return Page(folder / "card.html")


@pytest.mark.parametrize("tokens", ["words", "bpe"])
def test_the_card_of_parallel_text_makes_a_page(tokens: str, tmp_path: Path) -> None:
    result = translation.prepare("sample", source="ko", target="de", tokens=tokens, processes=1, cache=False)
    page = page_of(result.card, tmp_path)
    facts = result.card["facts"]
    words = [
        result.digest,
        "these numbers mean nothing",
        facts["stand_ins"]["de"],
        "train, target",
        "Vocabulary, source",
    ]
    words += [rule for step in result.pipeline.steps for rule in [step.describe()["rule"]]]
    words += [f"{facts['vocabulary']['target']['size']:,}", facts["unknown"]["source"]["test"]["most_frequent"][0][0]]
    words += ["left out: more than 50 tokens"] if result.card["steps"][6]["dropped"] else []
    assert [word for word in words if word not in page.text] == []
    assert ("pieces per row, " in page.text) is (tokens == "bpe")
    assert "cut after" not in page.text, "nothing is cut, pairs are left out"
    assert len(page.named("svg")) == (12 if tokens == "bpe" else 6), "tokens, and pieces, of three splits on two sides"
    html = (tmp_path / "card.html").read_text(encoding="utf-8")
    for name, split in result.card["splits"].items():
        cells = "".join(f'<td class="number">{split[key]:,}</td>' for key in ("rows", "source_tokens", "target_tokens"))
        assert f"<tr><th>{name}</th>{cells}</tr>" in html


def test_missing_files_splits_and_overlaps_are_on_the_page(tmp_path: Path) -> None:
    result = translation.prepare("sample", source="ko", target="en", processes=1, cache=False)
    counts = {"source": 8101, "target": 8102, "either": 8103, "pair": 8104}
    verbatim = {key: count + 10 for key, count in counts.items()}
    result.card["facts"] |= {
        "missing": {"news": "It is not there."},
        "hash_split": {
            **{"pairs": 9101, "groups": 9102, "groups_of_one_pair": 9103, "largest_group": 9104},
            **{"groups_with_pairs_of_train": 9105, "rows": {"train": 9106, "test": 9107}},
        },
        "overlap": {"test": {"rows": 8100, "letters": counts, "verbatim": verbatim}},
        "stand_ins": {ATTACK: ATTACK},
    }
    page = page_of(result.card, tmp_path)
    numbers = [f"{number:,}" for number in (*range(9101, 9108), *range(8100, 8105), *range(8111, 8115))]
    assert [number for number in numbers if number not in page.text] == []
    assert "It is not there." in page.text and ATTACK in page.text and page.named("img") == []
