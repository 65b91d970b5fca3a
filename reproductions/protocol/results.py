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
    """A claim, the effect that was measured, and the verdict.

    Attributes:
        id, statement, source: of the claim.
        effect: mean over the seeds of each variant.
        ci95: its interval over seeds and items; over items alone with one seed.
        verdict: supported, contradicted, inconclusive or not judged.
        basis: what the verdict rests on.
        measure: what was measured.
        per_seed: the effect of each seed that all variants share.
        ci95_items, ci95_seeds: the intervals over items alone and over seeds alone.
        seed_deviation: of the effect over seeds; that of the task's systems with one seed.
        p: one minus the level of the interval that just reaches 0.
        reported: the effect in the paper.
    """

    id: str
    statement: str
    source: str
    effect: float
    ci95: tuple[float, float]
    verdict: str
    basis: str
    measure: str
    per_seed: dict[str, float]
    ci95_items: tuple[float, float]
    ci95_seeds: tuple[float, float] | None
    seed_deviation: float | None
    p: float | None
    reported: float | None

    @classmethod
    def from_json(cls, claim: dict[str, Any]) -> JudgedClaim:
        """The claim as a results file has it.

        Raises:
            TypeError: a field is missing or unknown.
        """
        intervals = {name: claim[name] and tuple(claim[name]) for name in ("ci95", "ci95_items", "ci95_seeds")}
        return cls(**{**claim, **intervals})


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

    def claim(self, id: str) -> JudgedClaim:
        """The claim of that name.

        Raises:
            UsageError: there is none.
        """
        for claim in self.claims:
            if claim.id == id:
                return claim
        known = ", ".join(claim.id for claim in self.claims) or "none"
        raise UsageError(f"claim {id!r} is not among the results of {self.paper}; it has {known}")

    def write(self, path: Path) -> None:
        """Write the results file, whole or not at all."""
        write_json(path, asdict(self))

    def text(self) -> str:
        """What :meth:`write` writes."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=2, allow_nan=False) + "\n"

    @classmethod
    def read(cls, path: Path) -> Result:
        """Read a results file.

        Raises:
            UsageError: it is missing, or not what :meth:`write` writes.
        """
        try:
            raw = json.loads(path.read_text(encoding="utf-8"))
            rows = [Row(**{**row, "ci95": tuple(row["ci95"])}) for row in raw.pop("rows")]
            claims = [JudgedClaim.from_json(claim) for claim in raw.pop("claims")]
            return cls(rows=rows, claims=claims, **raw)
        except FileNotFoundError:
            raise UsageError(
                f"{path}: no results here; run the reproduction first, or name the results.json of a run (--results)"
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"{path}: not a results file ({error}); run the reproduction again") from None
