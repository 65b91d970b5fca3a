"""The pages of drives and of captions in a headless Chromium: they draw, answer keys and clicks, and fetch nothing."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from preprocessing.pipeline.ragged import string_arrays
from reproductions.attention_viewer.drive import DriveFrames, write_drive_page
from reproductions.tasks.captioning import page
from reproductions.xu2015 import REPRODUCTION
from tests.browser import MISSING, Tab, browser, chromium
from tests.reproductions.support import outcome

pytestmark = [pytest.mark.slow, pytest.mark.skipif(chromium() is None, reason=MISSING)]

BRIGHTNESS = """(() => { const canvas = document.querySelector("canvas"), size = Math.min(canvas.width, canvas.height);
  const pixels = canvas.getContext("2d").getImageData(COLUMN * size, 0, 20, 20).data; return pixels[0]; })()"""


def jpeg() -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (32, 32), "white").save(stream, "jpeg")
    return stream.getvalue()


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    with browser() as tab:
        tab.size(1000, 900)
        yield tab


def test_a_drive_plays_and_shows_its_attention(tab: Tab, tmp_path: Path) -> None:
    frames = 6
    weights = np.tile(np.array([255, 0], np.uint8), (frames, 1))  # the left half of the frame
    seconds, degrees = np.array([0.0, 0.2, 0.4, 30.0, 30.2, 30.4]), np.linspace(-2, 2.5, frames)
    drive = DriveFrames([jpeg()] * frames, weights, weights, (1, 2), seconds, degrees, -degrees)
    write_drive_page(tmp_path / "a.html", "A drive", drive, {}, sample=False)
    tab.open((tmp_path / "a.html").as_uri())
    left, right = BRIGHTNESS.replace("COLUMN", "0"), BRIGHTNESS.replace("COLUMN", "1.9")
    tab.until(f"{left} > 200 && {right} < 100")
    state = "document.getElementById('state').textContent"
    assert tab.evaluate(state) == "0.0 s: driver −2.0°, network +2.0°"
    tab.key("ArrowRight", 39)
    assert tab.evaluate(state).startswith("0.2 s")
    tab.evaluate("document.getElementById('overlay').value = ''")
    tab.evaluate("document.getElementById('overlay').dispatchEvent(new Event('change'))")
    tab.until(f"{right} > 200")
    box = "document.getElementById('curve').getBoundingClientRect()"
    x, y = (tab.evaluate(f"{box}.{side}") for side in ("right", "top"))
    click = f"new MouseEvent('click', {{clientX: {x - 5}, clientY: {y + 5}}})"
    tab.evaluate(f"document.getElementById('curve').dispatchEvent({click})")
    assert tab.evaluate(state).startswith("30.4 s")
    tab.key(" ", 32, " ")
    tab.until(f"!{state}.startsWith('30.4')")
    assert tab.complaints() == []


def test_captions_are_searched_and_read_word_by_word(tab: Tab, tmp_path: Path) -> None:
    texts: dict[str, Any] = {}
    texts |= string_arrays("name", ["a.jpg", "b.jpg"])
    texts |= string_arrays("reference", ["a dog\na hound", "a cat"])
    texts["jpeg"] = np.frombuffer(jpeg() * 2, np.uint8)
    texts["jpeg_offsets"] = np.arange(3) * len(jpeg())
    texts["steps"] = np.full(2, 3)
    texts["weights"] = np.tile(np.eye(4, dtype=np.float16)[:3], (2, 1))
    arrays = string_arrays("text", ["a dog", "a cat"])
    made = outcome(tmp_path, "soft", 1, arrays, corpus="sample", texts=texts)
    (path,) = page.write(made, REPRODUCTION.preset("smoke").variant("soft"), tmp_path).values()
    tab.open(path.as_uri())
    left, right = BRIGHTNESS.replace("COLUMN", "0"), BRIGHTNESS.replace("COLUMN", "0.9")
    tab.until(f"{right} > 200")
    tab.key("ArrowRight", 39)
    assert tab.evaluate(left) > 200 and tab.evaluate(right) < 100, "the first word attends to the first cell"
    assert (
        tab.evaluate("document.getElementById('peak').textContent") == "largest weight: 4 times that of equal weights"
    )
    for wanted, position, hidden in (("cat", "1 of 1", False), ("bird", "no image has these words", True)):
        tab.evaluate(f"document.getElementById('search').value = '{wanted}'")
        tab.evaluate("document.getElementById('search').dispatchEvent(new Event('input'))")
        assert tab.evaluate("document.getElementById('position').textContent") == position
        assert tab.evaluate("document.getElementById('main').hidden") is hidden
    assert tab.complaints() == []
