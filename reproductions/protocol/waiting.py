"""What a paper declares that is not in its table yet, and the claims that wait for it."""

from __future__ import annotations

from gluon_attn.errors import UsageError
from reproductions.protocol.claims import Claim
from reproductions.protocol.elsewhere import is_published
from reproductions.protocol.reproduction import Preset, Reproduction
from reproductions.protocol.results import JudgedClaim, Result


def untrained(reproduction: Reproduction, preset: Preset, result: Result) -> list[str]:
    """A paragraph on the declared trainings that are not in the table yet, and on the claims that need them."""
    missing = untrained_variants(preset, result)
    waiting = ", ".join(f"`{id}`" for id in waiting_claims(reproduction, preset, result))
    if not missing:
        return [f"Without a verdict until their ensembles are scored: {waiting}."] if waiting else []
    claims = f"; without a verdict until then: {waiting}" if waiting else ""
    return [f"Declared, but not in this table yet: {', '.join(missing)}{claims}."]


def untrained_variants(preset: Preset, result: Result) -> list[str]:
    """The declared variants that are not in the table, or not with all seeds."""
    trained, missing = result.seeds, []
    for variant in preset.variants:
        seeds = [str(seed) for seed in preset.seeds_of(variant.name)]
        seeds = [seed for seed in seeds if seed not in trained.get(variant.name, ())]
        if seeds:
            partly = f" (seed{'s' if len(seeds) > 1 else ''} {', '.join(seeds)})" if variant.name in trained else ""
            missing.append(f"`{variant.name}`{partly}")
    return missing


def waiting_claims(reproduction: Reproduction, preset: Preset, result: Result) -> list[str]:
    """The claims that have no verdict because a system of the preset is not trained. Claims on a system that the preset
    does not have are left out: they cannot be judged in it."""
    return [
        claim.id
        for claim in reproduction.claims
        if not is_trained(claim, result) and all(name in preset.names or "/" in name for name in claim.variants)
    ]


def unmeasured_claims(reproduction: Reproduction, result: Result) -> list[Claim]:
    """The claims whose systems are all trained, but whose effect cannot be measured from their outcomes."""
    judged = {claim.id for claim in result.claims}
    return [claim for claim in reproduction.claims if is_trained(claim, result) and claim.id not in judged]


def judged_claim(reproduction: Reproduction, result: Result, id: str) -> JudgedClaim:
    """The claim of that id in a table.

    Raises:
        UsageError: if it is not there; the message says whether the paper declares it, and what it waits for.
    """
    for claim in reproduction.claims:
        if claim.id != id or any(judged.id == id for judged in result.claims):
            continue
        missing = [name for name in claim.variants if not _is_trained(name, result)]
        if not missing:
            raise UsageError(f"claim {id!r} cannot be measured from the outcomes of {result.paper}; choose another")
        raise UsageError(f"claim {id!r} has no verdict yet: train and score {', '.join(missing)} first")
    return result.claim(id)


def is_trained(claim: Claim, result: Result) -> bool:
    """Whether all systems that a claim names are trained, here or by another paper."""
    return all(_is_trained(name, result) for name in claim.variants)


def _is_trained(variant: str, result: Result) -> bool:
    return is_published(variant) if "/" in variant else any(row.variant == variant for row in result.rows)
