"""What the tests of this folder share: the command line called in this process, runs and made-up outcomes."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import pytest
from mxnet import autograd, init, nd

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from gluon_attn.training.checkpoint import named_parameters
from preprocessing.files import write_json
from reproductions.cli.app import main
from reproductions.protocol.results import JudgedClaim
from reproductions.protocol.runs import Outcome, Run, write_outcome
from reproductions.protocol.task import Settings, Task, Variant

ROOT = Path(__file__).parents[2]
DRAWING = ROOT / "preprocessing" / "corpora" / "sample" / "captions" / "Flicker8k_Dataset" / "shape_00.png"


@dataclass(frozen=True)
class Answer:
    """Exit status of a command and what it printed."""

    code: int
    out: str
    err: str

    @property
    def refusal(self) -> str:
        """The only line on standard error, with which the command refused."""
        assert self.code == 2, self
        assert self.err.startswith("gluon-attn: "), self.err
        assert self.err.count("\n") == 1, self.err
        return self.err.removeprefix("gluon-attn: ").strip()


def gluon_attn(*arguments: object, stdin: bytes | None = b"") -> Answer:
    """Run a command in this process, so that MXNet is imported once. Only the portable profile. ``stdin``: None where
    it is closed."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    code: Any = 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["gluon-attn", *map(str, arguments)])
        patch.setattr(sys, "stdin", stdin if stdin is None else io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        # Trainings are separate processes, which must find the project from any current folder.
        patch.setenv("PYTHONPATH", str(ROOT), prepend=":")
        try:
            main()
        except SystemExit as exit:
            code = exit.code
    texts = (stream.buffer.getvalue().decode("utf-8") for stream in (out, err))
    return Answer(code or 0, *texts)


def run_and_score(*arguments: object, publish: bool = False) -> Answer:
    """Train, then score what was trained; what both commands printed."""
    trained = gluon_attn("run", *arguments)
    if trained.code:
        return trained
    words = [word for word in arguments if word not in ("--resume", "--overwrite")]
    scored = gluon_attn("score", *words, *(["--publish"] if publish else []))
    return Answer(scored.code, trained.out + scored.out, trained.err + scored.err)


def run(
    folder: Path,
    variant: str,
    seed: int | str = 1,
    *,
    paper: str = "paper",
    preset: str = "smoke",
    profile: str = "portable",
    on_sample: bool = False,
) -> Run:
    """A run whose directory is below a folder."""
    return Run(paper, preset, variant, seed, profile, None, folder, on_sample)


def outcome(
    folder: Path,
    variant: str,
    seed: int | str = 1,
    arrays: Mapping[str, Any] | None = None,
    *,
    paper: str = "paper",
    preset: str = "smoke",
    profile: str = "portable",
    examples: Mapping[str, Any] | None = None,
    texts: Mapping[str, Any] | None = None,
    **record: Any,
) -> Outcome:
    """Write a made-up finished run below a folder.

    Args:
        folder: of all run directories.
        variant, seed: what was trained; an ensemble has its seeds, ``1+2``.
        arrays, examples, texts: what was measured.
        paper, preset, profile: of the run.
        record: what ``outcome.json`` has other than the default.
    """
    finished = run(folder, variant, seed, paper=paper, preset=preset, profile=profile)
    finished.directory.mkdir(parents=True, exist_ok=True)
    default = {
        "metrics": {},
        "selected_by": "accuracy",
        "history": [{"epoch": 1, "train_loss": 1.0, "validation_accuracy": 50.0, "validation_loss": 1.0}],
        "best_epoch": 1,
        "train_seconds": 2.0,
        "parameters": 10,
        "parameters_sha256": "+".join(f"{int(one):064x}" for one in str(seed).split("+")),
        "corpus": "nsmc",
        "corpora": {"train": "a" * 64, "test": "b" * 64},
        "pipeline": "c" * 64,
        "commit": "d" * 40,
        "environment": "e" * 64,
        **({"profile": profile} if profile != "portable" else {}),
    }
    predictions, pages = (
        {name: np.asarray(array) for name, array in (given or {}).items()} for given in (arrays, texts)
    )
    write_json(finished.directory / "training.json", default | record)
    write_outcome(finished.directory, default | record, predictions, dict(examples or {}), pages)
    return Outcome.of(finished)


class _Identified(Protocol):
    @property
    def id(self) -> str: ...


ClaimT = TypeVar("ClaimT", bound=_Identified)


def judged(**changes: Any) -> JudgedClaim:
    """A made-up claim with a verdict from two seeds."""
    given: dict[str, Any] = {
        "id": "a",
        "statement": "A is better than B",
        "source": "sec. 1",
        "effect": -0.5,
        "ci95": (-0.75, -0.25),
        "verdict": "contradicted",
        "basis": "2 seeds",
        "measure": "points",
        "per_seed": {"1": -0.4, "2": -0.6},
        "ci95_items": (-0.6, -0.4),
        "ci95_seeds": (-0.7, -0.3),
        "seed_deviation": 0.14,
        "p": 0.01,
        "reported": None,
    }
    return JudgedClaim(**(given | changes))


def by_items(claim: JudgedClaim) -> str:
    """The verdict from the interval over items alone, also with one seed per variant."""
    low, high = claim.ci95_items
    return "supported" if low > 0 else "contradicted" if high < 0 else "inconclusive"


def claims_by_id(claims: Iterable[ClaimT]) -> dict[str, ClaimT]:
    """Claims, declared or judged, by id."""
    return {claim.id: claim for claim in claims}


def flat(output: Any) -> list[nd.NDArray]:
    """The arrays that a network returns, without their names."""
    if isinstance(output, tuple | list):
        return [array for value in output for array in flat(value)]
    return [] if output is None else [output]


def dead_settings(
    variant: Variant[Any], task: Task[Any, Any], other: Mapping[str, Mapping[Any, Any]] | None = None
) -> list[str]:
    """The settings of a variant, on the embedded sample, whose change changes nothing: no data, no parameter, no batch,
    no output, no loss. A setting that only evaluation reads is one of them.

    Args:
        variant: whose settings are changed one by one, a number to a larger one, a Boolean to its opposite; those of a
            part too, such as ``attention.units``.
        task: of the variant.
        other: for settings that are neither, what to change each of their values to; also for numbers that must become
            another one.
    """

    def fingerprint(settings: Settings) -> list[object]:
        data = task.prepare(settings, sample=True)
        runtime.seed_all(1)
        model = settings.build(data)
        model.initialize(init.Xavier())
        objective = task.objective(settings, variant.recipe, data)
        batch = next(objective.epoch_batches(np.random.RandomState(1), 2))
        target = nd.array(batch.target, dtype=batch.target.dtype)
        with autograd.record():
            output = model(*(nd.array(array, dtype=array.dtype) for array in batch.inputs))
            loss = objective.loss(output, target)
        shapes = [(name, parameter.shape) for name, parameter in named_parameters(model)]
        arrays = [*batch.inputs, batch.target, *(value.asnumpy() for value in (*flat(output), loss))]
        return [data.digest, objective.steps, shapes, [(array.shape, array.tobytes()) for array in arrays]]

    before = fingerprint(variant.settings)
    assert fingerprint(variant.settings) == before, f"{variant.name}: two passes with the same seed differ"
    dead = []
    for name, changed in _changes(variant.settings, other or {}):
        try:
            after = fingerprint(changed)
        except (KeyError, TypeError, ValueError, UsageError):
            continue  # This value needs another setting to be changed too: the setting is read.
        if after == before:
            dead.append(name)
    return dead


def _changes(settings: Any, other: Mapping[str, Mapping[Any, Any]], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Name of each setting, and the settings with another value of it."""
    for field in fields(settings):
        name, value = prefix + field.name, getattr(settings, field.name)
        if name in other and value in other[name]:
            yield name, replace(settings, **{field.name: other[name][value]})
        elif not is_dataclass(value):
            assert name not in other, f"setting {name} is {value!r}: say what to change it to"
            assert isinstance(value, int | float), f"setting {name} is {value!r}: say what to change it to"
            larger = (
                not value if isinstance(value, bool) else value + 1 if isinstance(value, int) else value * 1.5 or 0.5
            )
            yield name, replace(settings, **{field.name: larger})
        if is_dataclass(value):
            for part, changed in _changes(value, other, f"{name}."):
                yield part, replace(settings, **{field.name: changed})
