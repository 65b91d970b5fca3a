"""Results of the toy paper to tabulate, and the tables of them as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from io import StringIO
from typing import Any

from rich.console import Console, RenderableType

from preprocessing.files import write_json
from reproductions.protocol import papers
from reproductions.protocol.readings import Reading
from reproductions.protocol.reproduction import Reproduction
from reproductions.protocol.results import JudgedClaim, Result, Row
from reproductions.protocol.results_page import FIGURES, results_readme, results_readme_path
from tests.reproductions.support import judged
from tests.reproductions.toy import REPRODUCTION

CPU = REPRODUCTION.preset("cpu")
REPORTED = {
    "system": "a peer",
    "value": 86.37,
    "corpus": "nsmc",
    "metric": "accuracy",
    "source": "its/repository",
    "checked": "text",
    "details": "",
}
CLAIM = judged()


def row(variant: str, split: str = "test", mean: float = 86.125, **changes: Any) -> Row:
    given: dict[str, Any] = {
        "variant": variant,
        "corpus": "nsmc",
        "split": split,
        "metric": "accuracy",
        "signature": "all",
        "mean": mean,
        "std": 0.25,
        "per_seed": {"1": mean - 0.25, "2": mean + 0.25},
        "ci95": (85.5, 86.75),
        "parameters": 1_234_567,
        "train_seconds": 90.0,
        "reported": None,
        "comparable": False,
        "differs": "",
    }
    return Row(**(given | changes))


def three(variant: str, **changes: Any) -> tuple[Row, Row, Row]:
    """The rows of a variant of the toy: all points, the first half, validation."""
    half = row(variant, mean=85.5, signature="first half")
    return row(variant, **{"signature": "all points"} | changes), half, row(variant, "validation", 87.0)


def result(*rows: Row, claims: tuple[JudgedClaim, ...] = (), **manifest: Any) -> Result:
    given = {
        "seeds": [1, 2],
        "profile": "portable",
        "threads": 1,
        "hardware": "a processor",
        "commit": "0123456789abcdef, fedcba9876543210",
        "parameters_sha256": {"curved/1": "a" * 64, "curved/2": "b" * 64},
    }
    return Result("toy", "cpu", list(rows), list(claims), given | manifest)


def printed(table: RenderableType, width: int) -> str:
    page = StringIO()
    Console(file=page, width=width, color_system=None).print(table)
    return page.getvalue()


def markdown(
    of: Result,
    paper: Reproduction = REPRODUCTION,
    figures: Mapping[str, str] | None = None,
    readings: tuple[Reading, ...] = (),
) -> str:
    return results_readme(paper, paper.preset("cpu"), of, readings, figures or {})


def cells(page: str, variant: str) -> list[str]:
    """The cells of a variant's line in the table of a results README."""
    (line,) = [line for line in page.splitlines() if line.startswith(f"| `{variant}` |")]
    return [cell.strip() for cell in line.strip("|").split("|")]


FLOOR = replace(
    REPRODUCTION,
    title="A floor",
    variants=tuple(
        replace(CPU.variant("straight"), name=name, title=f"title of {name}") for name in ("low", "high", "far")
    ),
    claims=(),
    headline=("low",),
    main="",
    ensembles=(),
)


def publish(of: Result, preset: str = "cpu") -> None:
    path = papers.results_path(of.paper, preset)
    of.write(path)
    results_readme_path(of.paper).parent.mkdir(exist_ok=True)
    write_json(results_readme_path(of.paper).with_name(FIGURES), {})
