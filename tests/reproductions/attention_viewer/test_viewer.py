"""The attention viewer: text of a review is escaped and survives the page unchanged."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from reproductions.attention_viewer import viewer
from reproductions.attention_viewer.viewer import Review, write

NOTE = {"model": "Bi-GRU with self-attention, seed 1", "corpus": "nsmc", "digest": "3f2ac9"}
ATTACK = "</script><img src=x onerror=\"document.title='taken'\"><!--<script>"
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


class Page(HTMLParser):
    """What a browser sees: elements with attributes, and the text of each script and style."""

    def __init__(self, path: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.raw: dict[str, str] = {}
        self.text = ""
        self._inside = ""
        self.feed(path.read_text(encoding="utf-8"))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._inside = dict(attrs).get("id") or tag

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.raw[self._inside] = self.raw.get(self._inside, "") + data
        else:
            self.text += data

    @property
    def data(self) -> dict[str, Any]:
        return json.loads(self.raw["data"])

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def decoded(code: str) -> list[float]:
    digits = [ALPHABET.index(character) for character in code]
    return [(64 * high + low) / 4095 for high, low in zip(digits[::2], digits[1::2], strict=True)]


def review(tokens: Sequence[str], **changes: Any) -> Review:
    count = len(tokens)
    given = {"id": "1", "weights": [1 / count] * count, "predicted": 1, "probability": 0.75, "label": 1} | changes
    return Review(tokens=tokens, **given)


def page_of(path: Path, *reviews: Review, note: dict[str, str] = NOTE, title: str = "Reviews") -> Page:
    write(path / "page.html", title=title, reviews=reviews, note=note)
    return Page(path / "page.html")


def test_reviews_survive_a_round_trip(tmp_path: Path) -> None:
    weights = np.array([0.5, 0.3, 0.15, 0.05])
    matrix = np.array([weights, weights[::-1]])
    first = Review(
        id="9976970",
        tokens=["재밌", "었", "다", "정말"],
        weights=weights,
        predicted=1,
        probability=0.98765,
        label=0,
        text="재밌었다  정말 ㅋㅋ",
        in_train=True,
        matrix=matrix,
    )
    data = page_of(tmp_path, first, review(["▁영화", "▁"], id="2", label=None, text="영화")).data
    assert data["labels"] == ["negative", "positive"]
    assert data["id"] == ["9976970", "2"]
    assert data["pieces"] == ["재밌\n었\n다\n 정말", " ▁영화\n ▁"]
    assert data["rest"] == {"0": " ㅋㅋ"}
    assert data["text"] == {"1": "영화"}
    assert (data["gold"], data["predicted"], data["in_train"]) == ("0-", "11", "10")
    assert data["probability"] == [9876, 7500]
    np.testing.assert_allclose(decoded(data["weights"][0]), weights, atol=0.5 / 4095)
    np.testing.assert_allclose(decoded(data["matrix"]["0"]), matrix.ravel(), atol=0.5 / 4095)


def test_more_than_ten_labels_are_coded_by_their_numbers(tmp_path: Path) -> None:
    """The script reads the number of a label at the position of its review, whether from a text or from a list."""
    labels = [f"class {number}" for number in range(12)]
    some = [review(["좋", "다"], label=None, predicted=11), review(["나쁘", "다"], id="2", label=3, predicted=10)]
    write(tmp_path / "page.html", title="Reviews", reviews=some, note=NOTE, labels=labels)
    data = Page(tmp_path / "page.html").data
    assert (data["gold"], data["predicted"], data["labels"]) == (["-", "3"], ["11", "10"], labels)


def test_examples_are_identified_by_position(tmp_path: Path) -> None:
    """They are shown but are not reviews of the corpus: the script does not count them."""
    example = review(["좋", "다"], id="example sentence from the post", label=None, is_example=True)
    data = page_of(tmp_path, example, review(["나쁘", "다"], id="2")).data
    assert data["examples"] == [0] and data["id"][0] == "example sentence from the post"
    script = (Path(viewer.__file__).parent / "viewer.js").read_text(encoding="utf-8")
    assert "${number(counted)} of ${number(total - examples.size)} reviews" in script


def test_hostile_text_is_escaped(tmp_path: Path) -> None:
    hostile = [ATTACK, "&lt;b&gt;", "]]>", "\u2028", "{{ 7*7 }}", "'\"\\"]
    page = page_of(
        tmp_path, review(hostile, text=ATTACK, id=ATTACK), title=ATTACK, note={**NOTE, "digest": ATTACK, ATTACK: "x"}
    )
    assert page.named("img") == []
    assert len(page.named("script")) == 2
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert [token[1:] for token in page.data["pieces"][0].split("\n")] == [token.replace(" ", "␣") for token in hostile]
    assert page.data["text"]["0"] == ATTACK
    assert page.text.count(ATTACK) == 4, "title, heading, name and value of the note"


def test_the_script_never_parses_text_as_markup() -> None:
    script = Path(viewer.__file__).with_name("viewer.js").read_text(encoding="utf-8")
    dangerous = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|\beval\b"
    assert "textContent" in script
    assert re.search(dangerous, script) is None
    assert "</script" not in script.lower()


def test_only_our_script_and_style_may_run_and_nothing_is_loaded(tmp_path: Path) -> None:
    page = page_of(tmp_path, review(["가"]))
    (policy,) = [m["content"] for m in page.named("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    for kind in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(page.raw[kind].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}';" in policy
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.named("link") == []
    assert not any({"src", "href", "style"} & attributes.keys() for _, attributes in page.elements)
    assert re.search(r"https?://|url\(|@import|fetch\(|XMLHttp|import\(", html) is None


def test_every_element_that_the_script_uses_exists(tmp_path: Path) -> None:
    page = page_of(tmp_path, review(["가"]))
    ids = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    filters = re.search(r"filters = (\[.*?\])", page.raw["script"])
    others = re.search(r"\.\.\.filters,(.*?)\]", page.raw["script"], re.DOTALL)
    assert filters is not None
    assert others is not None
    wanted = set(json.loads(filters[1])) | set(re.findall(r'"([^"]+)"', others[1])) | {"data"}
    assert wanted <= ids


def test_reviews_without_tokens_with_very_many_and_with_odd_characters(tmp_path: Path) -> None:
    odd = ["ㅋ" * 5000, "👨‍👩‍👧", "a\nb", "\x00\x7f", " ", "e\u0301"]
    data = page_of(
        tmp_path,
        Review("empty", [], [], 0, 0.5, 1, text=""),
        Review("unread", [], [], 0, 0.5, 1, text="전부 잘림"),
        review(odd, id="odd"),
    ).data
    assert data["pieces"][:2] == ["", ""]
    assert data["rest"] == {"1": "전부 잘림"}
    assert data["pieces"][2].split("\n") == [" " + "ㅋ" * 5000, " 👨‍👩‍👧", " a␊b", " ␀␡", " ␣", " e\u0301"]
    assert data["weights"][:2] == ["", ""]
    assert len(data["weights"][2]) == 2 * len(odd)


@settings(max_examples=200, deadline=None)
@given(text=st.text(max_size=40), cuts=st.lists(st.integers(0, 40), max_size=8), count=st.integers(0, 40))
def test_pieces_and_rest_spell_the_text(text: str, cuts: list[int], count: int) -> None:
    """Split the words of any text anywhere and drop the end: pieces and rest give the text with single spaces."""
    tokens = []
    for word in text.split():
        bounds = sorted({0, len(word), *(cut for cut in cuts if cut < len(word))})
        tokens += [word[start:end] for start, end in pairwise(bounds)]
    shown = [token.translate(viewer._PICTURES) for token in tokens]
    aligned = viewer._align(text, tokens[:count])
    if shown[:count] != tokens[:count]:
        assert aligned is None
    else:
        assert aligned is not None
        pieces, rest = aligned
        assert [piece.lstrip(" ") for piece in pieces] == tokens[:count]
        spelt = "".join(pieces) + rest
        assert spelt == " ".join(" ".join(text.split()).translate(viewer._PICTURES | {0x20: " "}).split(" "))


def test_tokens_that_are_not_parts_of_the_text_are_not_aligned() -> None:
    assert viewer._align("재밌었다", ["재미있", "었", "다"]) is None
    assert viewer._align("재밌었다", ["재밌", "다"]) is None


@pytest.mark.parametrize(("corpus", "loud"), [("sample", True), ("nsmc", False)])
def test_the_sample_has_a_visible_warning(corpus: str, loud: bool, tmp_path: Path) -> None:
    page = page_of(tmp_path, review(["가"]), note={**NOTE, "corpus": corpus})
    assert ("these numbers mean nothing" in page.text) is loud
    assert all(value in page.text for value in (NOTE["model"], NOTE["digest"], corpus))


def test_the_same_reviews_give_the_same_bytes(tmp_path: Path) -> None:
    reviews = [review(["재밌", "다"], id=str(number)) for number in range(3)]
    for name in ("first.html", "second.html"):
        write(tmp_path / name, title="Reviews", reviews=iter(reviews), note=NOTE)
    assert (tmp_path / "first.html").read_bytes() == (tmp_path / "second.html").read_bytes()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weights": [1.0]}, "weights"),
        ({"weights": [0.9, 0.2]}, "distribution"),
        ({"weights": [1.1, -0.1]}, "distribution"),
        ({"weights": [float("nan"), 0.5]}, "distribution"),
        ({"matrix": [[0.5, 0.5, 0.0]]}, "matrix"),
        ({"matrix": [0.5, 0.5]}, "matrix"),
        ({"label": 2}, "label 2"),
        ({"predicted": -1}, "label -1"),
        ({"probability": 1.01}, "probability"),
        ({"tokens": ["가", ""]}, "empty token"),
    ],
)
def test_an_invalid_review_is_refused_by_its_id(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    wrong = review(changes.pop("tokens", ["가", "나"]), id="9976970", **changes)
    with pytest.raises(ValueError, match=f"review 9976970: .*{message}"):
        write(tmp_path / "page.html", title="Reviews", reviews=[wrong], note=NOTE)
    assert list(tmp_path.iterdir()) == []


def test_weights_may_sum_to_less_than_one_where_padding_has_weight(tmp_path: Path) -> None:
    data = page_of(tmp_path, review(["가", "나"], weights=[0.25, 0.25])).data
    np.testing.assert_allclose(decoded(data["weights"][0]), [0.25, 0.25], atol=0.5 / 4095)


@pytest.mark.parametrize("missing", ["model", "corpus", "digest"])
def test_the_note_must_name_the_source_of_the_numbers(missing: str, tmp_path: Path) -> None:
    note = {key: value for key, value in NOTE.items() if key != missing}
    with pytest.raises(ValueError, match=missing):
        write(tmp_path / "page.html", title="Reviews", reviews=[], note=note)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.corpus("nsmc")
def test_the_whole_test_split_fits_into_fifteen_megabytes(tmp_path: Path) -> None:
    """Split into pieces of two syllables, which is more tokens than Mecab gives."""
    lines = (
        Path(os.environ["GLUON_ATTN_DATA"], "nsmc", "ratings_test.txt").read_text(encoding="utf-8").split("\n")[1:-1]
    )
    reviews = []
    for line in lines:
        id_, text, label = line.split("\t")
        tokens = [word[start : start + 2] for word in text.split() for start in range(0, len(word), 2)]
        reviews.append(Review(id_, tokens, [1 / len(tokens)] * len(tokens) if tokens else [], 1, 0.9, int(label), text))
    page = page_of(tmp_path, *reviews)
    assert (tmp_path / "page.html").stat().st_size < 15_000_000
    assert len(page.data["id"]) == 50_000
    assert page.data["text"] == {}, "every review is spelt by its pieces"
    for number in (0, 49_999):
        assert page.data["pieces"][number].replace("\n", "") == " ".join(reviews[number].text.split())
