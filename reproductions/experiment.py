"""The words of a reproduction: paper, reported, variant, preset, claim, row, result, manifest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from gluon_attn.errors import UsageError
from gluon_attn.evaluation.statistics import Estimate
from gluon_attn.training.recipe import Recipe
from preprocessing.files import write_json

RESULTS = Path(__file__).parent / "results"
PAPERS = (
    "naver_self_attention",
    "sutskever2014",
    "cho2014",
    "bahdanau2014",
    "luong2015",
    "lin2017",
    "yang2016",
    "cheng2016",
    "joulin2016",
    "mikolov2013",
)


@dataclass(frozen=True)
class Reported:
    """A number that somebody else reports.

    ``checked`` is ``text`` (against the published text), ``secondary`` (against a summary or README) or ``memory``; a
    number from memory is printed with a dagger.
    """

    system: str
    value: float
    corpus: str
    metric: str
    source: str
    checked: str = "text"
    details: str = ""


@dataclass(frozen=True)
class Variant:
    """One system of the experiment: what is built, and how it is trained in each preset.

    ``settings`` are all the hyper-parameters that are not the recipe's, by name; ``reported`` is the peer that stands
    beside it, ``comparable`` says whether the two numbers may be compared, and ``differs`` why not, or in what.
    ``seeds`` are its own where they are fewer than the preset's.
    """

    name: str
    title: str
    settings: Mapping[str, Any]
    recipe: Recipe
    reported: Reported | None = None
    comparable: bool = False
    differs: str = ""
    seeds: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Preset:
    """One scale of the experiment. ``headline`` are the variants that ``make reproduce`` trains, ``seeds`` those of
    every variant that names no others."""

    name: str
    corpus: str
    seeds: tuple[int, ...]
    variants: tuple[Variant, ...]
    headline: tuple[str, ...]

    def variant(self, name: str) -> Variant:
        """The variant of that name.

        Raises:
            UsageError: there is none.
        """
        for variant in self.variants:
            if variant.name == name:
                return variant
        names = ", ".join(variant.name for variant in self.variants)
        raise UsageError(f"variant {name!r} is unknown in preset {self.name}; choose from {names}")


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
class Column:
    """One column of numbers in a script's table: the test row of that metric whose signature holds these words.

    A variant is compared by the first of its script's columns that it has a number in: that one is shown with its
    interval and beside the reported.
    """

    title: str
    metric: str
    signature: str = ""


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


def script(paper: str) -> Any:
    """The module of a paper; every one offers the same.

    ``TITLE``, ``SOURCE``, ``REPORTED``, ``PRESETS``, ``COLUMNS``; ``prepare(preset, variant) -> data``,
    ``build(variant, data) -> model``, ``task(variant, data) -> Task``,
    ``evaluate(model, variant, data, last) -> (metrics, arrays)``, ``conclude(outcomes, preset) -> (rows, claims)``,
    ``figures(outcomes, preset, directory) -> paths``, ``pages(outcomes, preset, directory) -> paths`` of what else
    there is to read, and ``predict(unit, stream, weights=...)`` of texts that are classified, or of words whose nearest
    are asked for, or ``translate_lines(unit, stream, interactive=..., alignments=...)``; where a variant's setting
    ``vectors`` names word vectors to begin with, also ``begin_with(model, variant, data, vectors)``.

    Raises:
        UsageError: there is no such script.
    """
    if paper not in PAPERS:
        raise UsageError(f"paper {paper!r} is unknown; choose from {', '.join(PAPERS)}")
    return import_module(f"reproductions.{paper}")


def preset(paper: str, name: str) -> Preset:
    """A preset of a paper.

    Raises:
        UsageError: the paper or the preset is unknown.
    """
    presets: Mapping[str, Preset] = script(paper).PRESETS
    if name not in presets:
        raise UsageError(f"preset {name!r} is unknown for {paper}; choose from {', '.join(presets)}")
    return presets[name]
