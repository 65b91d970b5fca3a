"""The plan that is printed before training, with the expected time; after training, a comparison of the parameters with
the published ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gluon_attn.errors import UsageError
from reproductions.protocol import papers
from reproductions.protocol.manifest import options_of
from reproductions.protocol.preparing import networks_to_train_first
from reproductions.protocol.reproduction import Preset
from reproductions.protocol.results import Result
from reproductions.protocol.runner import trained_as_declared
from reproductions.protocol.runs import RESTORE, SAMPLE, Run, training_of


def plan(preset: Preset, runs: Sequence[Run], *, jobs: int) -> list[str]:
    """Two to five lines: the trainings, the corpora, how many trainings are done already, what is trained before, and
    the expected time without that, estimated from the published trainings."""
    seeds = ", ".join(dict.fromkeys(str(run.seed) for run in runs))
    variants = ", ".join(dict.fromkeys(run.variant for run in runs))
    corpora = dict.fromkeys(SAMPLE if run.on_sample else preset.task(run.variant).corpus for run in runs)
    if preset.on_sample:
        corpora = {SAMPLE: None}
    lines = [
        f"plan: {_count(len(runs), 'training')} of {runs[0].paper_name}: {variants}; seed {seeds}",
        f"  corpus {', '.join(corpora)}; {_count(min(jobs, len(runs)), 'process', 'processes')} at a time",
    ]
    waiting = [run for run in runs if not run.is_trained]
    if len(waiting) < len(runs):
        lines.append(f"  {len(runs) - len(waiting)} trained already")
    if first := networks_to_train_first(runs):
        names = [run.variant if run.paper == runs[0].paper else f"{run.paper}/{run.variant}" for run in first]
        lines.append(f"  trained first, since others start from them: {', '.join(names)}")
    published = _published(runs[0])
    known = {row.variant: row.train_seconds for row in published.rows} if published else {}
    seconds = [known[run.variant] for run in waiting if run.variant in known]
    if published and seconds:
        expected = max(sum(seconds) / jobs, max(seconds)) / 60
        unknown = len(waiting) - len(seconds)
        without = f", without {_count(unknown, 'unpublished training')}" if unknown else ""
        lines.append(f"  about {_minutes(expected)}{without} (measured on {published.manifest['hardware']})")
    elif waiting:
        lines.append("  how long is not known: nothing is published for these trainings")
    return lines


def compared_with_published(runs: Sequence[Run]) -> list[str]:
    """One line per training that states whether its parameters have the published SHA-256."""
    published = _published(runs[0])
    manifest = published.manifest if published is not None else {}
    known, options = manifest.get("parameters_sha256", {}), manifest.get("options", {})
    lines = []
    for run in runs:
        record = training_of(run)
        sha256 = record["parameters_sha256"]
        if run.label not in known:
            verdict = "nothing is published to compare with"
        elif known[run.label] == sha256:
            verdict = "the same as published"
        elif _published_otherwise(run):
            verdict = "other than published, as expected: those were trained with other settings or another recipe"
        elif options_of(record) != (published_options := options.get(run.label, [])):
            how = f"with {' '.join(published_options)}" if published_options else "by one worker, in one piece"
            verdict = f"other than published, as expected: those were trained {how}, and sums have another order"
        elif papers.load(run.paper).bits_of_one_processor:
            verdict = "other than published; the bits of this paper's networks belong to one model of processor"
        else:
            verdict = f"NOT THE PUBLISHED ONES, {known[run.label][:16]}; gluon-attn doctor checks this machine"
        lines.append(f"{run.variant} seed {run.seed}: parameters SHA-256 {sha256[:16]}: {verdict}")
    return lines


def _published(run: Run) -> Result | None:
    """The published results of the same preset, if these runs can reproduce them bit for bit."""
    if run.profile != "portable" or run.own is not None or run.on_sample:
        return None
    path = papers.results_path(run.paper, run.preset)
    if not Path(path).exists():
        return None
    try:
        result = Result.read(path)
    except UsageError:
        return None
    return result if result.manifest.get("profile") == "portable" else None


def _published_otherwise(run: Run) -> bool:
    """Whether the published training had other settings or another recipe than this variant has now."""
    directory = papers.outcome_folder(run.paper, run.variant, run.seed)
    if run.preset != "cpu" or not directory.exists():
        return False
    return not trained_as_declared(papers.load(run.paper).preset("cpu"), run.variant, directory, RESTORE)


def _count(number: int, singular: str, plural: str = "") -> str:
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def _minutes(minutes: float) -> str:
    if minutes < 1:
        return "a minute or less"
    return f"{minutes:.0f} minutes" if minutes < 120 else f"{minutes / 60:.1f} hours"
