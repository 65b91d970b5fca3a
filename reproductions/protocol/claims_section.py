"""The section of a results page on the claims of its paper: effects, intervals and verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reproductions.protocol.elsewhere import variant_named
from reproductions.protocol.judging import after_holm
from reproductions.protocol.reported import MARKS
from reproductions.protocol.reproduction import Preset, Reproduction
from reproductions.protocol.results import JudgedClaim, Result
from reproductions.protocol.tables import markdown_table, shown_interval, shown_verdict
from reproductions.protocol.waiting import unmeasured_claims

DEFINITE = ("supported", "contradicted")
_CLAIM_HEADINGS = (
    "id",
    "claim",
    "stated in",
    "in the paper",
    "effect",
    "by seed",
    "95 % interval",
    "verdict",
    "measured as",
)


def has_one_seed(claim: JudgedClaim) -> bool:
    """Whether a definite verdict rests on fewer than two seeds that all systems share. The deviation is 0 for systems
    without a random part."""
    return claim.verdict in DEFINITE and len(claim.per_seed) < 2 and bool(claim.seed_deviation)


def marks_of(reproduction: Reproduction, preset: Preset, result: Result) -> dict[str, str]:
    """The mark of each claim's effect in the paper: that of the number next to one of its systems which was checked the
    least."""
    shown = {claim.id for claim in result.claims if claim.reported is not None}
    marks = {}
    for claim in reproduction.claims:
        if claim.id in shown:
            beside = [variant_named(preset, name).beside for name in claim.variants]
            checked = {number.checked for number in beside if number}
            marks[claim.id] = next((mark for how, mark in MARKS.items() if how in checked), "")
    return marks


def claims_section(claims: Sequence[JudgedClaim], marks: Mapping[str, str], margins: Mapping[str, float]) -> list[str]:
    if not claims:
        return ["None can be judged yet."]
    lost = {claim.id for claim in after_holm(claims)}
    cells = [_claim_cells(claim, marks.get(claim.id, ""), lost=claim.id in lost) for claim in claims]
    table = markdown_table(_CLAIM_HEADINGS, cells, numbers=_CLAIM_HEADINGS[3:7])
    judged = [claim for claim in claims if claim.verdict != "not judged"]
    one_seed = (
        " Verdicts from one seed rest on a threshold, 3 √2 times the largest deviation over seeds of a published "
        "system on the same data (of all such tasks where these are too few), which further trainings can change; "
        "their intervals include that deviation."
    )
    needed = [f"above {margins[claim.id]:g} for `{claim.id}`" for claim in claims if margins.get(claim.id)]
    corrected = after_correction(claims)
    note = (
        f"A claim is supported if the interval of its effect lies above {', '.join(['0', *needed])}. "
        f"{len(claims)} claim{'s' * (len(claims) != 1)}, {len(judged)} judged, each at the 95 % level without "
        f"correction for multiple tests.{' ' * bool(corrected)}{corrected}"
        f"{one_seed * any(map(has_one_seed, claims))} Effects in the paper are those on its own corpus."
    )
    return [table, "", note]


def _claim_cells(claim: JudgedClaim, mark: str, *, lost: bool) -> tuple[str, ...]:
    """The cells of a claim; ``mark``: of the number in the paper, ``lost``: whether Holm's correction takes the verdict
    away."""
    reported = "" if claim.reported is None else f"{claim.reported:+.2f}{mark}"
    by_seed = ", ".join(f"{effect:+.2f}" for effect in claim.per_seed.values())
    return (
        f"`{claim.id}`",
        claim.statement,
        claim.source or "ours",
        reported,
        f"{claim.effect:+.3f}",
        by_seed,
        shown_interval(claim.ci95),
        shown_verdict(claim, lost=lost),
        claim.measure,
    )


def after_correction(claims: Sequence[JudgedClaim]) -> str:
    """What Holm's correction would change; nothing if no claim has a p-value."""
    if all(claim.p is None for claim in claims):
        return ""
    lost = ", ".join(f"`{claim.id}`" for claim in after_holm(claims))
    changed = f"makes these inconclusive: {lost}" if lost else "changes no verdict"
    return f"Holm's correction over the judged claims {changed}."


def unmeasured(reproduction: Reproduction, result: Result) -> list[str]:
    """A paragraph on the claims whose effect cannot be measured from the outcomes of their systems."""
    claims = "; ".join(f"{claim.statement} (`{claim.id}`)" for claim in unmeasured_claims(reproduction, result))
    return ["", f"Declared, but not measurable on these outcomes: {claims}."] if claims else []
