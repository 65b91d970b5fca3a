"""Results files: rows, judged claims and the manifest."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gluon_attn.errors import UsageError
from preprocessing.files import write_text
from reproductions.protocol.reported import Reported
from reproductions.protocol.runs import SAMPLE


@dataclass(frozen=True)
class Row:
    """One metric of a variant on a split, over seeds.

    Attributes:
        variant, corpus, split, metric: what was measured.
        signature: how the metric is computed.
        mean, std: over seeds, in the unit of the metric; the deviation is 0 with one seed.
        per_seed: value of each seed.
        ci95: 95 % bootstrap interval over test items; of a difference, the interval over seeds and items; of metrics
            without items, such as chrF and those of validation, the range over seeds.
        parameters: number of parameters.
        train_seconds: mean over seeds of the seconds of training, without validation.
        reported: the number reported elsewhere, if any.
        comparable: whether corpus, split and metric of that number agree with this row.
        differs: what is different in the reported system.
    """

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

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Row:
        """Read a row of a results file.

        Raises:
            KeyError, TypeError, ValueError: if a field is missing or unknown, or if a number is something else.
        """
        for number in (row["mean"], row["std"], *row["ci95"], *row["per_seed"].values()):
            float(number)
        if row["reported"] is not None:
            Reported(**row["reported"])
        return cls(**{**row, "ci95": tuple(row["ci95"])})


@dataclass(frozen=True)
class JudgedClaim:
    """A claim, its measured effect, and the verdict.

    Attributes:
        id, statement, source: as in the claim.
        effect: mean effect over the seeds of each variant.
        ci95: 95 % interval of the effect over seeds and items; over items only if it is not judged.
        verdict: supported, contradicted, inconclusive or not judged.
        basis: what the verdict is based on.
        measure: what was measured.
        per_seed: effect of each seed that all variants share.
        ci95_items, ci95_seeds: intervals over items only and over seeds only.
        seed_deviation: standard deviation of the effect over seeds; with fewer than two shared seeds, that of a
            difference of two systems of the task.
        p: one minus the level of the interval that just reaches 0, or the margin of the claim.
        reported: effect in the paper.
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
        """Read a claim of a results file.

        Raises:
            KeyError, TypeError: if a field is missing or unknown.
        """
        intervals = {name: claim[name] and tuple(claim[name]) for name in ("ci95", "ci95_items", "ci95_seeds")}
        return cls(**{**claim, **intervals})


@dataclass
class Result:
    """The content of ``results/<paper>.json``."""

    paper: str
    preset: str
    rows: list[Row]
    claims: list[JudgedClaim]
    manifest: dict[str, Any]

    @property
    def on_sample(self) -> bool:
        """Whether something was measured on the embedded sample, so that the numbers mean nothing."""
        return any(row.corpus == SAMPLE for row in self.rows)

    @property
    def seeds(self) -> dict[str, list[str]]:
        """The seeds of each variant, from all its rows: a row of differences has only the seeds of both sides."""
        seeds: dict[str, list[str]] = {}
        for row in self.rows:
            known = seeds.setdefault(row.variant, [])
            known += [seed for seed in row.per_seed if seed not in known]
        return seeds

    def seed_of(self, parameters_sha256: str) -> str | None:
        """The seed of the training with these parameters; None if it is not among these results."""
        for label, sha256 in self.manifest["parameters_sha256"].items():
            if sha256 == parameters_sha256:
                return str(label).rpartition("/")[2]
        return None

    def claim(self, id: str) -> JudgedClaim:
        """The claim of that id.

        Raises:
            UsageError: if there is no such claim.
        """
        for claim in self.claims:
            if claim.id == id:
                return claim
        known = ", ".join(claim.id for claim in self.claims) or "none"
        raise UsageError(f"claim {id!r} is not among the results of {self.paper}; it has {known}")

    def write(self, path: Path) -> None:
        """Write the results file, completely or not at all."""
        write_text(path, self.text())

    def text(self) -> str:
        """The content of the results file."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=2, allow_nan=False) + "\n"

    @classmethod
    def read(cls, path: Path) -> Result:
        """Read a results file.

        Raises:
            UsageError: if the file is missing, or is not a results file.
        """
        try:
            raw = json.loads(path.read_text(encoding="utf-8"))
            rows = [Row.from_json(row) for row in raw.pop("rows")]
            claims = [JudgedClaim.from_json(claim) for claim in raw.pop("claims")]
            return cls(rows=rows, claims=claims, **raw)
        except IsADirectoryError:
            raise UsageError(f"{path}: is a folder; give the results file in it, such as results.json") from None
        except FileNotFoundError:
            raise UsageError(
                f"{path}: no results here; score the reproduction first (compare --results reads those of a run)"
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"it has no {error}" if isinstance(error, KeyError) else error
            raise UsageError(f"{path}: not a results file ({reason}); score the reproduction again") from None
