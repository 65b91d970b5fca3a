"""The arrays of a result, created at their final size before the chunks are written into them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from preprocessing.bitext.bounded.shards import Column
from preprocessing.bitext.data import SIDES


def reserve(folder: Path, split: str, sizes: np.ndarray, width: int, seen: Sequence[np.ndarray | None]) -> None:
    """Create the arrays of a split, and write those that no chunk writes.

    Args:
        folder: folder of all arrays.
        split: name of the split.
        sizes: rows of the split, bytes of the texts of source and target, and their tokens.
        width: characters of the longest row id of the split.
        seen: for source and target, which rows occur in train; None if none does.
    """
    rows, *rest = sizes.tolist()
    for number, side in enumerate(SIDES):
        text, tokens = rest[number], rest[2 + number]
        dtypes = {
            "row_id": (f"<U{width}", rows if side == "source" else None),
            "text.utf8": ("u1", text),
            "text.offsets": ("<i8", rows + 1),
            "label": ("i1", rows),
            "seen_in_train": ("?", rows),
            "tokens.ids": ("<i4", tokens),
            "tokens.offsets": ("<i8", rows + 1),
            "encoded.ids": ("<i4", tokens),
        }
        columns = {name: Column(folder / f"{side}.{split}.{name}.npy") for name in dtypes}
        for name, (dtype, length) in dtypes.items():
            if length is not None:
                columns[name].create(np.dtype(dtype), length)
        columns["label"].write(0, np.full(rows, -1, np.int8))
        marks = seen[number]
        columns["seen_in_train"].write(0, np.zeros(rows, np.bool_) if marks is None else marks)
        for name in ("text.offsets", "tokens.offsets"):
            columns[name].write(0, np.zeros(1, np.int64))
