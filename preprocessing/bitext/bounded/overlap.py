"""Find sentences of other splits that occur in train: their hashes are compared with those of each chunk of train."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from preprocessing.bitext.bounded.copies import members
from preprocessing.bitext.bounded.first_pass import of_pairs
from preprocessing.bitext.bounded.pool import Pool
from preprocessing.bitext.bounded.shards import Shards
from preprocessing.bitext.bounded.words import Rows
from preprocessing.bitext.data import SIDES
from preprocessing.bitext.steps import Overlap
from preprocessing.progress import progress

_KINDS = {"letters": "letters", "verbatim": "prepared"}


@dataclass(frozen=True)
class Seen:
    """Which sentences of the other splits occur in train.

    Attributes:
        facts: facts for the card.
        marks: for each split and side, which rows occur in train, (rows,) of bool.
        elsewhere: rows of train with a sentence of another split, (rows,) of bool; None if they are not left out.
    """

    facts: dict[str, Any]
    marks: dict[tuple[str, str], np.ndarray]
    elsewhere: np.ndarray | None


@dataclass(frozen=True)
class Compare:
    """Compare the other splits with one shard of train.

    Attributes:
        folder: folder of the shards.
        others: the other splits.
        drop: whether rows of train with a sentence of the other splits are left out.
    """

    folder: Path
    others: tuple[Rows, ...]
    drop: bool

    def __call__(self, shard: str) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """By split, kind and side (``test.letters.source``), which rows of a split occur in the shard; and which rows
        of the shard have a sentence of another split."""
        train = _hashes(self.folder, (shard,))
        seen: dict[str, np.ndarray] = {}
        elsewhere = np.zeros(len(train["letters.source"]), np.bool_)
        for split in self.others:
            own = _hashes(self.folder, split.shards)
            seen |= {f"{split.name}.{name}": members(hashes, train[name]) for name, hashes in own.items()}
            for side in SIDES if self.drop else ():
                elsewhere |= members(train[f"letters.{side}"], own[f"letters.{side}"])
        return seen, elsewhere


def measure(shards: Shards, splits: tuple[Rows, ...], step: Overlap, pool: Pool) -> Seen:
    """Compare all splits with train."""
    if "overlap" not in shards:
        train = next(split for split in splits if split.name == "train")
        compare = Compare(shards.folder, tuple(split for split in splits if split.name != "train"), step.drop)
        occurring: dict[str, np.ndarray] = {}
        elsewhere = []
        for seen, rows in progress(pool.map(compare, train.shards), "overlap", "chunk", len(train.shards)):
            occurring = {name: occurring[name] | marked if occurring else marked for name, marked in seen.items()}
            elsewhere.append(rows)
        shards.save("overlap", occurring | {"elsewhere": np.concatenate(elsewhere)})
    arrays = shards.load("overlap")
    facts: dict[str, Any] = {}
    marks: dict[tuple[str, str], np.ndarray] = {}
    for split in splits:
        if split.name == "train":
            continue
        facts[split.name] = {"rows": sum(split.rows)}
        for kind in _KINDS:
            occurs = {each: arrays[f"{split.name}.{kind}.{each}"] for each in (*SIDES, "pair")}
            facts[split.name][kind] = {
                "source": int(occurs["source"].sum()),
                "target": int(occurs["target"].sum()),
                "either": int((occurs["source"] | occurs["target"]).sum()),
                "pair": int(occurs["pair"].sum()),
            }
        if not step.drop:  # otherwise no row that is left has such a sentence
            marks |= {(split.name, side): arrays[f"{split.name}.letters.{side}"] for side in SIDES}
    return Seen(facts, marks, arrays["elsewhere"] if step.drop else None)


@lru_cache(maxsize=3)
def _hashes(folder: Path, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Hashes of shards by kind and side (``letters.source``), of source, target and pair, (rows, 2) each."""
    hashes: dict[str, np.ndarray] = {}
    for kind, column in _KINDS.items():
        for side in SIDES:
            own = [Shards(folder).load(name, [f"{side}.{column}"])[f"{side}.{column}"] for name in names]
            hashes[f"{kind}.{side}"] = np.concatenate(own)
        hashes[f"{kind}.pair"] = of_pairs(hashes[f"{kind}.source"], hashes[f"{kind}.target"])
    return hashes
