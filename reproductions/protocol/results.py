"""Results files: rows, judged claims and the manifest."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gluon_attn.errors import UsageError
from preprocessing.files import write_json


@dataclass(frozen=True)
class Row:
    """One metric of a variant on a split, over seeds."""

    variant: str
    corpus: str
    split: str
    metric: str
    signature: str
    mean: float
    std: float
    per_seed: dict[str, float]
    ci95: tuple[float, float]
    parameters: int
    train_seconds: float
    reported: dict[str, Any] | None
    comparable: bool
    differs: str


@dataclass(frozen=True)
class JudgedClaim:
    """A claim, the effect that was measured, and the verdict."""

    id: str
    statement: str
    source: str
    effect: float
    ci95: tuple[float, float]
    verdict: str
    measure: str


@dataclass
class Result:
    """What ``results/<paper>.json`` holds."""

    paper: str
    preset: str
    rows: list[Row]
    claims: list[JudgedClaim]
    manifest: dict[str, Any]

    @property
    def on_sample(self) -> bool:
        """Whether something was measured on the embedded sample, where numbers mean nothing."""
        return any(row.corpus == "sample" for row in self.rows)

    def write(self, path: Path) -> None:
        """Write the results file, whole or not at all."""
        write_json(path, asdict(self))

    @classmethod
    def read(cls, path: Path) -> Result:
        """Read a results file.

        Raises:
            UsageError: it is missing, or not what :meth:`write` writes.
        """
        try:
            raw = json.loads(path.read_text(encoding="utf-8"))
            rows = [Row(**{**row, "ci95": tuple(row["ci95"])}) for row in raw.pop("rows")]
            claims = [JudgedClaim(**{**claim, "ci95": tuple(claim["ci95"])}) for claim in raw.pop("claims")]
            return cls(rows=rows, claims=claims, **raw)
        except FileNotFoundError:
            raise UsageError(
                f"{path}: no results here; run the reproduction first, or name the results.json of a run (--results)"
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"{path}: not a results file ({error}); run the reproduction again") from None
