"""Sentences of other splits that occur in train: their hashes against those of each chunk of train."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from preprocessing.bitext.bounded.copies import members
from preprocessing.bitext.bounded.first_pass import of_pairs
from preprocessing.bitext.bounded.shards import Shards
from preprocessing.bitext.bounded.words import Rows
from preprocessing.bitext.data import SIDES
from preprocessing.bitext.steps import Overlap
from preprocessing.progress import progress

_KINDS = {"letters": "letters", "verbatim": "prepared"}


@dataclass(frozen=True)
class Seen:
    """What of the other splits occurs in train.

    Attributes:
        facts: of the card.
        marks: rows of a split and side that occur there, (rows,) of bool.
        elsewhere: rows of train with a sentence of another split, (rows,) of bool; None where they are not left out.
    """

    facts: dict[str, Any]
    marks: dict[tuple[str, str], np.ndarray]
    elsewhere: np.ndarray | None


def measure(shards: Shards, splits: tuple[Rows, ...], step: Overlap) -> Seen:
    """Compare all splits with train."""
    if "overlap" not in shards:
        train = next(split for split in splits if split.name == "train")
        others = {split.name: _hashes(shards, split) for split in splits if split.name != "train"}
        found = {
            name: {
                kind: {of: np.zeros(len(own), np.bool_) for of, own in kinds.items()} for kind, kinds in each.items()
            }
            for name, each in others.items()
        }
        elsewhere = []
        for shard in progress(train.shards, "overlap", "chunk"):
            own = _hashes(shards, Rows("train", (shard,), (0,)))
            marked = np.zeros(len(own["letters"]["source"]), np.bool_)
            for name, kinds in others.items():
                for kind, columns in kinds.items():
                    for of, hashes in columns.items():
                        found[name][kind][of] |= members(hashes, own[kind][of])
                for side in SIDES if step.drop else ():
                    marked |= members(own["letters"][side], kinds["letters"][side])
            elsewhere.append(marked)
        arrays = {f"{n}.{k}.{o}": a for n, kinds in found.items() for k, each in kinds.items() for o, a in each.items()}
        shards.save("overlap", arrays | {"elsewhere": np.concatenate(elsewhere)})
    arrays = shards.load("overlap")
    facts: dict[str, Any] = {}
    marks: dict[tuple[str, str], np.ndarray] = {}
    for split in splits:
        if split.name == "train":
            continue
        facts[split.name] = {"rows": sum(split.rows)}
        for kind in _KINDS:
            seen = {each: arrays[f"{split.name}.{kind}.{each}"] for each in (*SIDES, "pair")}
            facts[split.name][kind] = {
                "source": int(seen["source"].sum()),
                "target": int(seen["target"].sum()),
                "either": int((seen["source"] | seen["target"]).sum()),
                "pair": int(seen["pair"].sum()),
            }
        if not step.drop:  # otherwise no row that is left has such a sentence
            marks |= {(split.name, side): arrays[f"{split.name}.letters.{side}"] for side in SIDES}
    return Seen(facts, marks, arrays["elsewhere"] if step.drop else None)


def _hashes(shards: Shards, split: Rows) -> dict[str, dict[str, np.ndarray]]:
    """Hashes of a split by kind, of source, target and pair, (rows, 2) each."""
    hashes: dict[str, dict[str, np.ndarray]] = {}
    for kind, column in _KINDS.items():
        own = {
            side: np.concatenate(
                [shards.load(shard, [f"{side}.{column}"])[f"{side}.{column}"] for shard in split.shards]
            )
            for side in SIDES
        }
        hashes[kind] = {**own, "pair": of_pairs(own["source"], own["target"])}
    return hashes
