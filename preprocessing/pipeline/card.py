"""The card of a result: everything needed to make the same data again, and what is known about the data.

All numbers are computed from the data. A card holds no path, date, host or number of processes: the same input gives
the same card, byte for byte. Its structure (``card.json``; every rate is a fraction between 0 and 1):

    format        1
    pipeline      name of the pipeline
    digest        SHA-256 of the canonical bytes of the data
    sample        true for the embedded sample, whose numbers are not results
    corpus        name, title, licence, homepage,
                  files: {part: {file, url or null, sha256, rows: official count or null}};
                  file is ``archive: member`` if one file of a zip archive is read; sha256 is then the member's
    steps         in order, each: name, version, rule, parameters: {name: value}
                    rows     {split: {in, out}}   (in is 0 for a split that the step made)
                    tokens   further units of the data, counted like rows; null as long as the data has none
                    dropped  [{split, reason, rows, examples: [row id]}]
                    examples [{before, after}]
    splits        {split: {rows, ...}} of the finished data
    facts         {topic: value}, computed by the steps; ``warnings``: [message], if a step has any

The units, ``splits`` and ``facts`` of each kind of data are in ``text/card_page.py``, ``bitext/card_page.py``,
``images/pipeline.py``, ``images/drive_page.py`` and ``cifar10.py``.

A profile is {rows, total, mean, min, max, percentiles: {"1", "5", "10", "25", "50", "75", "90", "95", "99"},
histogram: {width, counts}}; counts[i] rows have a length from i * width to (i + 1) * width - 1. Without rows, mean,
min, max and all percentiles are null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from preprocessing.corpora import CorpusFiles
from preprocessing.pipeline.ragged import Ragged
from preprocessing.pipeline.step import Dataset, Notes

FORMAT = 1
PERCENTILES = (1, 5, 10, 25, 50, 75, 90, 95, 99)


def build(
    pipeline: str,
    files: CorpusFiles,
    steps: list[dict[str, Any]],
    facts: dict[str, Any],
    splits: dict[str, Any],
    digest: str,
) -> dict[str, Any]:
    """The card as a JSON-able dict; its structure is described in the docstring of the module."""
    return {
        "format": FORMAT,
        "pipeline": pipeline,
        "digest": digest,
        "sample": files.origin == "embedded",
        "corpus": corpus_of(files),
        "steps": steps,
        "splits": splits,
        "facts": facts,
    }


def corpus_of(files: CorpusFiles) -> dict[str, Any]:
    """The entry ``corpus``."""
    return {
        "name": files.name,
        "title": files.title,
        "licence": files.licence,
        "homepage": files.homepage,
        "files": {
            part: {
                "file": f"{path.name}: {files.members[part]}" if part in files.members else path.name,
                "url": files.urls.get(part),
                "sha256": files.sha256[part],
                "rows": files.rows.get(part),
            }
            for part, path in files.paths.items()
        },
    }


def step_record(description: dict[str, Any], before: Dataset, after: Dataset, notes: Notes) -> dict[str, Any]:
    """One entry of ``steps``: what the step is, and what went in and came out of it."""
    counts = {unit: _in_and_out(before.counts().get(unit, {}), after.counts()[unit]) for unit in after.counts()}
    for count in counts["rows"].values():
        count["in"] = count["in"] or 0
        count["out"] = count["out"] or 0
    known = {unit: any(count["out"] is not None for count in counts[unit].values()) for unit in counts}
    return {
        **description,
        **{unit: counts[unit] if known[unit] or unit == "rows" else None for unit in counts},
        "dropped": [asdict(dropped) for dropped in notes.dropped],
        "examples": [{"before": before_text, "after": after_text} for before_text, after_text in notes.examples],
    }


def _in_and_out(before: Mapping[str, int | None], after: Mapping[str, int | None]) -> dict[str, dict[str, int | None]]:
    return {name: {"in": before.get(name), "out": after.get(name)} for name in dict.fromkeys([*before, *after])}


def label_counts(label: np.ndarray) -> dict[str, int]:
    """Number of rows with each label (-1 means no label), in ascending order of the labels."""
    values, counts = np.unique(label[label >= 0], return_counts=True)
    return {str(value): int(count) for value, count in zip(values, counts, strict=True)}


def profile(lengths: np.ndarray, width: int = 1) -> dict[str, Any]:
    """Distribution of lengths (rows,): percentiles are lengths that occur (the smallest that covers the share)."""
    return profile_of_counts(np.bincount(lengths), width)


def profile_of_counts(counts: np.ndarray, width: int = 1) -> dict[str, Any]:
    """:func:`profile` of lengths given as counts: ``counts[n]`` rows have length ``n``."""
    rows = int(counts.sum())
    if rows == 0:
        return {
            "rows": 0,
            "total": 0,
            "mean": None,
            "min": None,
            "max": None,
            "percentiles": {str(percent): None for percent in PERCENTILES},
            "histogram": {"width": width, "counts": []},
        }
    occurring = np.flatnonzero(counts)
    covered = np.cumsum(counts)
    covering = [int(np.searchsorted(covered, max(1, -(-percent * rows // 100)))) for percent in PERCENTILES]
    total = int((counts * np.arange(len(counts))).sum())
    widened = np.add.reduceat(counts[: occurring[-1] + 1], np.arange(0, occurring[-1] + 1, width))
    return {
        "rows": rows,
        "total": total,
        "mean": rate(total, rows),
        "min": int(occurring[0]),
        "max": int(occurring[-1]),
        "percentiles": {str(percent): value for percent, value in zip(PERCENTILES, covering, strict=True)},
        "histogram": {"width": width, "counts": widened.tolist()},
    }


def truncation(rows: Mapping[str, Ragged], max_lengths: Sequence[int]) -> list[dict[str, Any]]:
    """What each maximum length would cut from each split."""
    table = []
    for max_length in max_lengths:
        splits = {}
        for name, ragged in rows.items():
            over = np.maximum(ragged.lengths - max_length, 0)
            rows_cut, tokens_cut = int((over > 0).sum()), int(over.sum())
            splits[name] = {
                "rows_cut": rows_cut,
                "rate_of_rows": rate(rows_cut, len(ragged)),
                "tokens_cut": tokens_cut,
                "rate_of_tokens": rate(tokens_cut, len(ragged.ids)),
            }
        table.append({"max_length": max_length, "splits": splits})
    return table


def rate(part: int, whole: int) -> float:
    """The fraction ``part / whole``, rounded to six digits; 0.0 if ``whole`` is 0."""
    return round(part / whole, 6) if whole else 0.0
