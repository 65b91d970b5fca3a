"""Systems of other papers, named ``paper/variant``, with which those of a paper are compared. They are not trained
again: their published outcomes are read."""

from __future__ import annotations

from typing import Any

from gluon_attn.errors import UsageError
from reproductions.protocol import papers
from reproductions.protocol.reproduction import Groups, Preset, Reproduction
from reproductions.protocol.results import Result
from reproductions.protocol.runs import RESTORE, Outcome, published_outcomes
from reproductions.protocol.task import Variant


def variant_named(preset: Preset, name: str) -> Variant[Any]:
    """The variant of that name in a preset, or in the same preset of another paper.

    Raises:
        UsageError: if there is no such paper or variant.
    """
    paper, _, variant = name.rpartition("/")
    return (papers.load(paper).preset(preset.name) if paper else preset).variant(variant)


def published(name: str) -> list[Outcome]:
    """The published outcomes of a system of another paper, named ``paper/variant``; none where no outcomes are
    installed (a wheel has only the tables).

    Raises:
        UsageError: if that system is in a table, but the folder of its outcomes alone is missing.
    """
    paper, _, variant = name.rpartition("/")
    folder = papers.outcomes_folder(paper)
    if is_published(name) and not folder.exists() and papers.outcomes_installed(paper):
        raise UsageError(f"{folder}: is missing, or being published; run again after that, or {RESTORE}")
    return published_outcomes(folder, [variant])


def is_published(name: str) -> bool:
    """Whether a system of another paper, named ``paper/variant``, is in the published table of that paper."""
    paper, _, variant = name.rpartition("/")
    path = papers.results_path(paper, "cpu")
    return path.exists() and any(row.variant == variant for row in Result.read(path).rows)


def with_elsewhere(reproduction: Reproduction, preset: Preset, groups: Groups) -> Groups:
    """The outcomes of a paper's variants, and those of the systems of other papers that its claims name. Published
    outcomes are those of preset ``cpu``; other presets, the embedded sample and the user's own data have none.

    Raises:
        UsageError: if such a system was measured on another corpus than the one that it is compared with.
    """
    known = dict(groups)
    if preset.name != "cpu" or preset.on_sample or preset.own:
        return known
    for claim in reproduction.claims:
        own = [name for name in claim.variants if name in groups]
        for name in (name for name in claim.variants if "/" in name):
            outcomes = published(name)
            corpora = {outcome.record["corpus"] for outcome in (*outcomes, *(groups[each][0] for each in own))}
            if len(corpora) > 1:
                raise UsageError(
                    f"claim {claim.id}: {name} cannot be compared, because the corpora differ: "
                    f"{', '.join(sorted(corpora))}; name a system of the same corpus"
                )
            if outcomes:
                known[name] = outcomes
    return known
