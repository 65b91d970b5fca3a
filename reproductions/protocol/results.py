"""What a results file holds: rows, claims, the manifest."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gluon_attn.errors import UsageError
from gluon_attn.evaluation.statistics import Estimate
from preprocessing.files import write_json

RESULTS = Path(__file__).parents[1] / "results"


@dataclass(frozen=True)
class Row:
    """One line of a results table: a variant's metric on a split, over seeds."""

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
class Claim:
    """A qualitative statement of the paper and what became of it here."""

    id: str
    statement: str
    source: str
    effect: float
    ci95: tuple[float, float]
    verdict: str
    measure: str

    @classmethod
    def judge(cls, id: str, statement: str, source: str, measure: str, effect: Estimate) -> Claim:
        """Supported when the whole interval of the effect is above zero, not supported when it is all below."""
        verdict = "supported" if effect.low > 0 else "not supported" if effect.high < 0 else "inconclusive"
        return cls(id, statement, source, effect.mean, (effect.low, effect.high), verdict, measure)


@dataclass
class Result:
    """What ``results/<paper>.json`` holds."""

    paper: str
    preset: str
    rows: list[Row]
    claims: list[Claim]
    manifest: dict[str, Any]

    def write(self, path: Path) -> None:
        """Write the results file, whole or not at all."""
        write_json(path, asdict(self))

    @classmethod
    def read(cls, path: Path) -> Result:
        """Read a results file.

        Raises:
            UsageError: it is not there, or not what :meth:`write` writes.
        """
        try:
            raw = json.loads(path.read_text(encoding="utf-8"))
            rows = [Row(**{**row, "ci95": tuple(row["ci95"])}) for row in raw.pop("rows")]
            claims = [Claim(**{**claim, "ci95": tuple(claim["ci95"])}) for claim in raw.pop("claims")]
            return cls(rows=rows, claims=claims, **raw)
        except FileNotFoundError:
            raise UsageError(
                f"{path}: no results here; run the reproduction first, or name the results.json of a run (--results)"
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"{path}: not a results file ({error}); run the reproduction again") from None
