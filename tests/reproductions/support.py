"""What the tests of this room share: the command line called in this process, and made-up outcomes."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mxnet import autograd, init, nd

from gluon_attn import runtime
from gluon_attn.training.checkpoint import named_parameters
from reproductions.cli.app import main
from reproductions.protocol.experiment import Preset
from reproductions.protocol.runs import Outcome, Unit

PAPER = "naver_self_attention"
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Answer:
    """What a command left behind: its exit status and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def refusal(self) -> str:
        """The one line on standard error with which the command refused; anything else is a failure."""
        assert self.code == 2, self
        assert self.err.startswith("gluon-attn: "), self.err
        assert self.err.count("\n") == 1, self.err
        return self.err.removeprefix("gluon-attn: ").strip()


def gluon_attn(*arguments: object, stdin: bytes = b"") -> Answer:
    """Run a command as its own process would, in this one: MXNet is imported once. Only the portable profile."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    code: Any = 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["gluon-attn", *map(str, arguments)])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        # The trainings are processes of their own: they find the project wherever the tests were started.
        patch.setenv("PYTHONPATH", str(ROOT), prepend=":")
        try:
            main()
        except SystemExit as exit:
            code = exit.code
    texts = (stream.buffer.getvalue().decode("utf-8") for stream in (out, err))
    return Answer(code or 0, *texts)


def outcome(
    folder: Path, variant: str, seed: int, arrays: Mapping[str, Any], *, paper: str = PAPER, **facts: Any
) -> Outcome:
    """A training that never was, as it would lie on the disk."""
    unit = Unit(paper, "smoke", variant, seed, "portable", None, folder)
    unit.directory.mkdir(parents=True)
    np.savez(unit.directory / "predictions.npz", **{name: np.asarray(array) for name, array in arrays.items()})
    given = {
        "metrics": {},
        "history": [{"epoch": 1, "validation_accuracy": 50.0}],
        "best_epoch": 1,
        "train_seconds": 2.0,
        "parameters": 10,
        "parameters_sha256": f"{seed:064x}",
        "corpus": "nsmc",
        "corpora": {"train": "a" * 64, "test": "b" * 64},
        "pipeline": "c" * 64,
        "commit": "d" * 40,
        "environment": "e" * 64,
    }
    (unit.directory / "outcome.json").write_text(json.dumps(given | facts), encoding="utf-8")
    return Outcome.read(unit)


def flat(output: Any) -> list[nd.NDArray]:
    """The arrays that a network returns, without names."""
    if isinstance(output, tuple | list):
        return [array for value in output for array in flat(value)]
    return [] if output is None else [output]


def dead_settings(module: Any, preset: Preset, name: str, other: Mapping[str, Mapping[Any, Any]]) -> list[str]:
    """The settings of a variant whose change changes nothing: no data, no parameter, no batch, no output, no loss.

    ``other`` has, for settings that are no numbers, what to change each of their values to.
    """
    variant = preset.variant(name)

    def fingerprint(settings: Mapping[str, Any]) -> list[object]:
        changed = replace(variant, settings=settings)
        data = module.prepare(preset, changed)
        model, task = module.build(changed, data), module.task(changed, data)
        runtime.seed_all(1)
        model.initialize(init.Xavier())
        batch = next(iter(task.batches(np.random.RandomState(1))))
        with autograd.record():
            output = model(*(nd.array(array, dtype=array.dtype) for array in batch.inputs))
            loss = task.loss(output, nd.array(batch.target))
        shapes = [(place, parameter.shape) for place, parameter in named_parameters(model)]
        arrays = [value.asnumpy().tobytes() for value in (*flat(output), loss)]
        return [data.digest, data.labels, shapes, [array.tobytes() for array in batch.inputs], arrays]

    before = fingerprint(variant.settings)
    assert fingerprint(variant.settings) == before
    dead = []
    for setting, value in variant.settings.items():
        changed = other[setting][value] if setting in other else value * 1.5 if isinstance(value, float) else value + 1
        try:
            after = fingerprint({**variant.settings, setting: changed})
        except (KeyError, TypeError, ValueError):
            continue  # the other value wants another setting too: this one was read
        if after == before:
            dead.append(setting)
    return dead
