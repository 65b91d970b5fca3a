"""A page of all test images with captions, references, and the attention at each word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from preprocessing.files import write_text
from preprocessing.pipeline.ragged import strings_in
from reproductions.html.embedded_images import as_text
from reproductions.html.inline_page import json_block, render
from reproductions.protocol.runs import Outcome
from reproductions.protocol.task import Variant


def write(outcome: Outcome, variant: Variant[Any], directory: Path) -> dict[str, Path]:
    """Write the page of a variant with attention, if the outcome contains the images."""
    texts = outcome.texts
    if "jpeg" not in texts:
        return {}
    names, references, captions = (
        strings_in(arrays, name)
        for name, arrays in (("name", texts), ("reference", texts), ("text", outcome.predictions))
    )
    data, bounds = texts["jpeg"].tobytes(), texts["jpeg_offsets"].tolist()
    steps = np.cumsum([0, *texts["steps"].tolist()])
    side = round(texts["weights"].shape[1] ** 0.5)
    images = []
    for row, (name, caption, reference) in enumerate(zip(names, captions, references, strict=True)):
        words = caption.split()
        weights = texts["weights"][steps[row] : steps[row + 1]].astype(np.float32)[: len(words)]
        # One byte per weight, relative to the largest of the word, which the page states as a multiple of equal
        # weights.
        peaks = weights.max(axis=1, initial=1e-6)
        shades = np.rint(255 * weights / peaks[:, None]).astype(np.uint8)
        images.append(
            {
                "name": name,
                "words": words,
                "references": reference.split("\n"),
                "jpeg": as_text(data[bounds[row] : bounds[row + 1]]),
                "shades": [as_text(each.tobytes()) for each in shades],
                "peaks": [round(float(peak) * side * side, 1) for peak in peaks],
            }
        )
    title = f"{variant.title}: captions of the test images of {outcome.record['corpus']}"
    path = directory / f"captions_{variant.name}.html"
    block = json_block({"side": side, "images": images})
    write_text(path, render(Path(__file__).parent, "page", block, title=title, sample=outcome.on_sample))
    return {f"test images with the attention of {variant.name}": path}
