"""The reading page in a headless Chromium: it searches, filters and turns pages, and fetches nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reproductions.attention_viewer.viewer import Review, write
from tests.browser import MISSING, Tab, browser, chromium

pytestmark = [pytest.mark.slow, pytest.mark.skipif(chromium() is None, reason=MISSING)]

NOTE = {"model": "Bi-GRU, seed 1", "corpus": "nsmc", "digest": "3f2ac9"}
COUNT, SHOWN = "document.getElementById('count').textContent", "document.querySelectorAll('article').length"


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    with browser() as tab:
        tab.size(1000, 900)
        yield tab


def review(number: int, word: str, **more: Any) -> Review:
    given: dict[str, Any] = {"id": str(number), "tokens": [word, "film"], "weights": [0.9, 0.1], "label": number % 2}
    return Review(**(given | {"predicted": 1, "probability": 0.75} | more))


def visible(tab: Tab, element: str) -> bool:
    return bool(tab.evaluate(f"document.getElementById('{element}').checkVisibility()"))


def test_reviews_are_searched_filtered_and_turned_over(tab: Tab, tmp_path: Path) -> None:
    reviews = [review(number, "good" if number < 3 else "dull") for number in range(30)]
    write(tmp_path / "a.html", title="Reviews", reviews=reviews, note=NOTE)
    tab.open((tmp_path / "a.html").as_uri())
    assert tab.evaluate(COUNT) == "30 of 30 reviews, 50.0 % right" and tab.evaluate(SHOWN) == 25
    assert visible(tab, "controls") and visible(tab, "pages")
    tab.key("ArrowRight", 39)
    assert tab.evaluate(SHOWN) == 5
    tab.evaluate("document.getElementById('query').value = 'good'")
    tab.evaluate("document.getElementById('query').dispatchEvent(new Event('input'))")
    tab.until(f"{SHOWN} === 3")
    assert tab.evaluate(COUNT).startswith("3 of 30 reviews") and not visible(tab, "pages")
    assert tab.complaints() == []


def test_a_wide_matrix_is_scrolled_by_keyboard(tab: Tab, tmp_path: Path) -> None:
    tokens = [f"word{number}" for number in range(60)]
    wide = review(0, "good", tokens=tokens, weights=[1 / 60] * 60, matrix=np.full((60, 60), 1 / 60))
    write(tmp_path / "c.html", title="Reviews", reviews=[wide, *(review(n, "dull") for n in range(1, 30))], note=NOTE)
    tab.open((tmp_path / "c.html").as_uri())
    tab.key("j", 74)
    tab.key("Enter", 13)
    tab.evaluate("document.querySelector('.matrix').focus()")
    tab.key("ArrowRight", 39)
    tab.until("document.querySelector('.matrix').scrollLeft > 0")
    assert tab.evaluate(SHOWN) == 25, "the page is not turned over"
    tab.key("j", 74)
    assert tab.evaluate("document.activeElement.dataset.index") == "1"
    assert tab.complaints() == []


def test_a_page_of_examples_alone_has_nothing_to_search(tab: Tab, tmp_path: Path) -> None:
    """A published page, without the corpus."""
    example = review(1, "good", label=None, id="example sentence from the post", is_example=True)
    write(tmp_path / "b.html", title="Reviews", reviews=[example], note=NOTE)
    tab.open((tmp_path / "b.html").as_uri() + "#verdict=wrong&query=dull")  # what another page was searched for
    assert tab.evaluate(COUNT) == "1 example" and tab.evaluate(SHOWN) == 1
    assert not visible(tab, "controls") and not visible(tab, "search-key") and not visible(tab, "pages")
    assert tab.complaints() == []
