"""The explorer in a headless Chromium: Hangul, keys, links, hostile text, narrow and dark pages, a site of files.

``apt-get install chromium`` is all the set-up; without one the tests are skipped.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest

from gluon_attn.errors import UsageError
from reproductions.explorer.networks import Networks, find_networks
from reproductions.explorer.site import live_files, write_site
from reproductions.protocol.attention_view import AttentionView, Heads
from tests.browser import MISSING, Tab, browser, chromium
from tests.reproductions.explorer.offered import fake, serving, translation

pytestmark = [pytest.mark.slow, pytest.mark.skipif(chromium() is None, reason=MISSING)]

NAVER = "naver_self_attention/as-written"
DRAWN = "!document.getElementById('answer').hidden"
TOKENS = "[...document.querySelectorAll('#answer > .tokens .token')].map((one) => one.firstChild.textContent)"
CHOSEN = "[...document.querySelectorAll('.token.chosen')].map((one) => one.firstChild.textContent)"


@pytest.fixture(scope="module")
def whole() -> Iterator[Tab]:
    with browser() as tab:
        yield tab


@pytest.fixture
def tab(whole: Tab) -> Iterator[Tab]:
    """The page, 1200 wide; it must not have complained when the test ends."""
    whole.size(1200, 900)
    yield whole
    assert whole.complaints() == []


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def explorer(empty: Path) -> Iterator[str]:
    """The explorer of the networks that come with the project."""
    networks = find_networks(empty, "naver_self_attention")
    with serving(networks, live_files(networks, empty)) as address:
        yield address


@pytest.fixture
def translator(empty: Path) -> Iterator[tuple[str, Any]]:
    """An explorer of a made-up network that translates, and that network."""
    networks: Any = fake(translation)
    with serving(networks, live_files(networks, empty)) as address:
        yield address, networks


def served(networks: Networks, empty: Path) -> Any:
    return serving(networks, live_files(networks, empty))


def posts(tab: Tab) -> list[str]:
    """The texts that the page has sent."""
    sent = [event["params"]["request"] for event in tab.events if event.get("method") == "Network.requestWillBeSent"]
    return [request["postData"] for request in sent if request["method"] == "POST"]


def settle(tab: Tab, seconds: float = 0.8) -> None:
    """Longer than the page waits for another key."""
    time.sleep(seconds)
    tab.evaluate("1")


def test_hangul_is_read_when_its_syllables_are_whole(tab: Tab, explorer: str) -> None:
    tab.open(explorer)
    tab.evaluate("document.getElementById('text').focus()")
    for syllable in ("ㅇ", "여", "영"):
        tab.send("Input.imeSetComposition", text=syllable, selectionStart=1, selectionEnd=1)
        settle(tab)
    tab.key("Enter", 229)
    settle(tab)
    assert posts(tab) == [], "half a syllable was sent"
    tab.send("Input.insertText", text="영화")
    tab.until(DRAWN)
    assert tab.evaluate(TOKENS) == ["영화"]
    assert [text.count("영화") for text in posts(tab)] == [1]


def test_enter_reads_at_once_and_tokens_are_shaded(tab: Tab, explorer: str) -> None:
    tab.open(explorer)
    tab.evaluate("document.getElementById('text').focus()")
    tab.send("Input.insertText", text="정말 재미있는 영화")
    tab.key("Enter", 13, "\r")
    tab.until(DRAWN)
    assert tab.evaluate(TOKENS) == ["정말", "재미있", "는", "영화"]
    assert tab.evaluate("document.getElementById('text').value") == "정말 재미있는 영화"
    shares = tab.evaluate(
        "[...document.querySelectorAll('#answer > .tokens .token')].map((one) => getComputedStyle(one).backgroundColor)"
    )
    assert len(set(shares)) > 1
    assert "positive" in tab.evaluate("document.querySelector('dt.best').textContent")
    assert tab.evaluate("document.querySelectorAll('.matrix td.cell').length") == 16


def test_keys_choose_what_a_token_attends_to_and_a_link_restores_it(tab: Tab, explorer: str) -> None:
    tab.open(explorer + "#" + urlencode({"m": NAVER, "t": "정말 재미있는 영화"}))
    tab.until(DRAWN)
    tab.evaluate("document.querySelector('#answer button.token').focus()")
    tab.key("ArrowRight", 39)
    tab.key(" ", 32, " ")
    tab.until(f"{CHOSEN}.length === 1")
    assert tab.evaluate(CHOSEN) == ["재미있"]
    link = tab.evaluate("location.href")
    tab.open(link)
    tab.until(f"{CHOSEN}.length === 1")
    assert tab.evaluate(CHOSEN) == ["재미있"]
    tab.evaluate("document.querySelector('.token.chosen').focus()")
    tab.key("Escape", 27)
    tab.until(f"{CHOSEN}.length === 0")


def test_hostile_text_is_text(tab: Tab, explorer: str, empty: Path) -> None:
    hostile = "<img src=x onerror=document.title='owned'> </script><script>document.title='owned'</script> 영화"
    tab.open(explorer + "#" + urlencode({"m": NAVER, "t": hostile}))
    tab.until(DRAWN)
    assert "<" in "".join(tab.evaluate(TOKENS))

    def answer(text: str) -> AttentionView:
        tokens = [hostile, '"><svg onload=alert(1)>', "{{7*7}}"]
        return AttentionView(
            tokens=tokens, matrix=np.eye(3), classes=[(hostile, 1.0)], notes=[hostile], text=hostile, title=hostile
        )

    title = tab.evaluate("document.title")
    with served(fake(answer), empty) as address:
        tab.open(address + "#" + urlencode({"m": hostile, "t": hostile}))
        tab.until("!document.getElementById('error').hidden")
        assert hostile in tab.evaluate("document.getElementById('error').textContent")
        tab.open(address + "#" + urlencode({"t": hostile, "q": "<b>"}))
        tab.until(DRAWN)
        tab.evaluate("document.querySelectorAll('#answer button.token')[1].click()")
        assert tab.evaluate("document.title") == title
        assert tab.evaluate("document.querySelectorAll('main img, main svg, main script, main b').length") == 0
        assert hostile in tab.evaluate("document.getElementById('answer').textContent")


def test_an_error_is_one_line_on_the_page(whole: Tab, empty: Path) -> None:
    """The browser itself logs a failed request, so its complaints are not counted."""

    def fail(text: str) -> AttentionView:
        raise UsageError("there is no <b>token</b>\nin this text")

    with served(fake(fail), empty) as address:
        whole.open(address + "#" + urlencode({"t": "a"}))
        message = whole.until("document.getElementById('error').textContent")
    assert message == "there is no <b>token</b> in this text"
    assert whole.evaluate("document.getElementById('answer').hidden")


def test_a_link_to_a_network_that_is_not_there_is_answered_by_no_other(tab: Tab, explorer: str) -> None:
    tab.open(f"{explorer}#{urlencode({'m': 'no/network', 't': '좋은 영화'})}")
    tab.until("!document.getElementById('error').hidden")
    message = tab.evaluate("document.getElementById('error').textContent")
    assert message == "the network of this link, no/network, is not here; choose another"
    assert tab.evaluate("document.getElementById('answer').hidden")


def test_an_invisible_token_is_shown_by_its_code_point(tab: Tab, explorer: str) -> None:
    tab.open(explorer + "#" + urlencode({"m": NAVER, "t": "\u200b"}))
    tab.until(DRAWN)
    assert tab.evaluate(TOKENS) == ["U+200B"]


def test_tokens_are_joined_where_they_were_cut(tab: Tab, empty: Path) -> None:
    def answer(text: str) -> AttentionView:
        return AttentionView(tokens=["영화", "￭를", "(￭", "봤", "ba@@", "d", "￭"], matrix=np.eye(7))

    with served(fake(answer), empty) as address:
        tab.open(address + "#" + urlencode({"t": "a"}))
        tab.until(DRAWN)
        nodes = "[...document.querySelector('#answer > .tokens').childNodes]"
        texts = tab.evaluate(f"{nodes}.map((one) => (one.firstChild ?? one).textContent)")
        assert "".join(texts) == "영화를 (봤 ba-d ￭"


def test_an_alignment_grows_word_by_word_and_the_beam_has_alternatives(tab: Tab, translator: tuple[str, Any]) -> None:
    address, networks = translator
    tab.open(address + "#" + urlencode({"m": "a/b", "t": "가 나 다 라", "b": 3, "s": 1}))
    tab.until(DRAWN)
    assert networks.asked == [("a/b", "가 나 다 라", 3)]
    hidden = "document.querySelectorAll('.matrix tr.later').length"
    assert (tab.evaluate(CHOSEN), tab.evaluate(hidden)) == (["two"], 3)
    assert tab.evaluate("document.querySelectorAll('.tokens .later').length") == 3
    assert "also kept: “other”." in tab.evaluate("document.getElementById('answer').innerText")
    tab.evaluate("document.querySelector('.token.chosen').focus()")
    tab.key("ArrowLeft", 37)
    assert (tab.evaluate(CHOSEN), tab.evaluate(hidden)) == (["one"], 4)
    tab.key("ArrowRight", 39)  # to a word that is not generated yet
    assert (tab.evaluate(CHOSEN), tab.evaluate(hidden)) == (["two"], 3)
    tab.key("ArrowLeft", 37)
    tab.evaluate("document.querySelector('[aria-label=\"Next word\"]').click()")
    assert tab.evaluate(CHOSEN) == ["two"]
    tab.evaluate("document.querySelector('[aria-label=Play]').click()")
    tab.until(f"{hidden} === 0")
    tab.evaluate("document.querySelectorAll('.alternatives button')[1].click()")
    assert tab.evaluate("[...document.querySelectorAll('.alternatives mark')].map((one) => one.textContent)") == [
        "other"
    ]
    assert tab.evaluate("document.querySelectorAll('.matrix tbody tr').length") == 4
    assert "a=1" in tab.evaluate("location.hash")


@pytest.mark.parametrize(("queries", "before"), [("word", 2), ("token", 1)])
def test_shades_are_relative_to_the_tokens_that_a_query_can_attend_to(
    tab: Tab, empty: Path, queries: str, before: int
) -> None:
    """Row 1 is of token 2 of a language model, after two tokens; or of token 1, after one."""
    tokens = [f"t{position}" for position in range(21)]
    size = 20 if queries == "word" else 21
    matrix = np.tril(np.ones((size, size), np.float32), 0 if queries == "word" else -1)
    matrix /= np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    matrix[3, :3] = [0.75, 0.25, 0]
    matrix[3, 3:] = 0

    def answer(text: str) -> AttentionView:
        return AttentionView(tokens=tokens, matrix=matrix, queries=queries)

    def share(nodes: str) -> str:
        return f"[...{nodes}].map((one) => one.style.getPropertyValue('--share')).join(' ')"

    def row(number: int) -> str:
        return f"document.querySelectorAll('.matrix tbody tr')[{number}].querySelectorAll('td.cell')"

    with served(fake(answer), empty) as address:
        tab.open(address + "#" + urlencode({"m": "a/b", "t": "a", "q": 2 if queries == "word" else 1}))
        tab.until(DRAWN)
        assert tab.evaluate(share("document.querySelectorAll('#answer > .tokens .token')")) == " ".join(["0.000"] * 21)
        assert tab.evaluate(share(row(1))).split() == ["0.000"] * before
        assert tab.evaluate(f"[...{row(1)}].filter((one) => one.matches('.outside')).length") == size - before
        # Three quarters: of 4 tokens 3 times the mean, of 3 tokens 2.25 times.
        mean = 1 / (4 if queries == "word" else 3)
        assert float(tab.evaluate(share(row(3))).split()[0]) == pytest.approx(np.log2(0.75 / mean) / 3, abs=0.001)
        assert "Hatched: not before" in tab.evaluate("document.getElementById('answer').innerText")


def test_a_language_model_without_attention_shows_its_words(tab: Tab, empty: Path) -> None:
    def answer(text: str) -> AttentionView:
        return AttentionView(tokens=["</s>", "a", "b"], queries="word", surprise=[1.0, 1.0, 1.0])

    with served(fake(answer), empty) as address:
        tab.open(address + "#" + urlencode({"m": "a/b", "t": "a b", "q": 1}))
        tab.until(DRAWN)
        assert tab.evaluate(TOKENS) == ["</s>", "a", "b"]
        assert "Perplexity 2.7" in tab.evaluate("document.getElementById('answer').innerText")


def test_a_page_of_a_run_cannot_reach_the_explorer_but_its_script_runs(whole: Tab, tmp_path: Path) -> None:
    """The browser itself logs what the policy blocks, so its complaints are not counted."""
    folder = tmp_path / "paper" / "cpu-portable"
    folder.mkdir(parents=True)
    script = """(async () => {
      const headers = {"Content-Type": "application/json"}, body = JSON.stringify({network: "a/b", text: "a"});
      const ask = {method: "POST", headers, body};
      const read = await fetch("/").then(() => "read", () => "blocked");
      const sent = await fetch("/api/attention", ask).then(() => "sent", () => "blocked");
      history.replaceState(null, "", "#q=1");
      document.title = [origin, read, sent, location.hash].join(" ");
    })()"""
    hostile = f"<!DOCTYPE html><!-- script-src 'sha256- --><title></title><script>{script}</script>"
    (folder / "reviews.html").write_text(hostile, encoding="utf-8")
    networks: Any = fake(translation)
    with serving(networks, live_files(networks, tmp_path)) as address:
        whole.open(address + "runs/paper/cpu-portable/reviews.html")
        assert whole.until("document.title") == "null blocked blocked #q=1"
    assert networks.asked == []


@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_wider_than_a_telephone(tab: Tab, explorer: str, dark: bool) -> None:
    tab.size(360, 740, dark=dark, mobile=True)
    text = urlencode({"m": NAVER, "t": "가지고 있는 이야기에 비해 정말로 수준떨어지는 연출, 편집"})
    pages = ["#" + text, "papers/", "papers/lin2017/", "papers/bahdanau2014/attention.html", "steps/"]
    for path in pages:
        tab.open(explorer + path)
        tab.until(DRAWN if "#" in path or "attention" in path else "document.readyState === 'complete'")
        assert tab.evaluate("document.documentElement.scrollWidth") <= 360, path
    ground = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") is not dark


def test_a_site_of_files_needs_no_server(tab: Tab, tmp_path: Path) -> None:
    write_site(tmp_path / "site")
    root = (tmp_path / "site").as_uri()
    tab.open(f"{root}/papers/luong2015/attention.html#" + urlencode({"m": "luong2015/local-p-general", "e": 1, "s": 2}))
    tab.until(DRAWN)
    assert tab.evaluate("document.querySelectorAll('.matrix td.outside').length") > 0
    assert tab.evaluate("document.getElementById('example').value") == "1"
    tab.evaluate("setTimeout(() => document.querySelector('#pages a').click())")  # after the answer to this
    tab.until("document.images.length > 3 && [...document.images].every((one) => one.naturalWidth > 0)")
    assert tab.complaints() == []


def test_a_head_is_chosen_and_a_link_restores_it(tab: Tab, empty: Path) -> None:
    def with_heads(text: str) -> AttentionView:
        view = translation(text)
        words, generated = list(view.tokens), ["<bos>", "one"]
        weights = np.zeros((2, 3, len(words), len(words)), np.float32)
        weights[1, 2, :, 0] = 1
        causal = np.broadcast_to(np.eye(2, dtype=np.float32), (1, 1, 2, 2))
        kinds = [
            Heads("to the source", words, words, weights),
            Heads("to those before", generated, generated, causal, True),
        ]
        return replace(view, heads=kinds)

    cells = "[...document.querySelectorAll('.matrix')].at(-1).querySelectorAll('td.cell')"
    first_column = f"[...{cells}].filter((one, position) => position % 3 === 0).map((one) => one.textContent).join(' ')"
    networks = fake(with_heads)
    with served(networks, empty) as address:
        tab.open(address + "#" + urlencode({"m": "a/b", "t": "하나 둘 셋", "h": "0.1.2"}))
        tab.until(DRAWN)
        assert tab.evaluate("[...document.querySelectorAll('#answer select')].map((one) => one.value)") == [
            "0",
            "1",
            "2",
        ]
        assert tab.evaluate(first_column) == "100 100 100"
        choose = "(() => {{ const one = document.querySelectorAll('#answer select')[{}]; one.value = '{}'; "
        choose += "one.dispatchEvent(new Event('change')); }})()"
        tab.evaluate(choose.format(2, 0))
        assert tab.evaluate(first_column) == "0 0 0" and "h=0.1.0" in tab.evaluate("location.hash")
        # The other kind of attention has one layer of one head, and hides what was not generated yet.
        tab.evaluate(choose.format(0, 1))
        assert tab.evaluate("[...document.querySelectorAll('#answer select')].map((one) => one.value)") == [
            "1",
            "0",
            "0",
        ]
        assert tab.evaluate(f"[...{cells}].map((one) => one.textContent).join(' ')") == "100  0 100"
