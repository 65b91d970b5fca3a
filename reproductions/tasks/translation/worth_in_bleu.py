"""A figure of what each choice is worth in BLEU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from reproductions.protocol.reproduction import Draw
from reproductions.protocol.rows import stacked
from reproductions.protocol.runs import Outcome
from reproductions.tasks.bleu import bleu
from reproductions.tasks.translation.results import compare
from reproductions.tasks.worth_of_choices import Scale, worth_of_choices


def bleus(outcomes: Sequence[Outcome]) -> list[float]:
    """Test BLEU of each seed."""
    return [bleu(each.sum(axis=0)) for each in stacked(outcomes, "bleu")]


BLEU = Scale(partial(compare, "bleu"), bleus, "BLEU points")


def worth_in_bleu(base: str, aspects: Mapping[str, Mapping[str, str]], name: str) -> Draw:
    """The figure of :func:`worth_of_choices` for translators: differences in test BLEU from the base variant."""
    return worth_of_choices(base, aspects, name, BLEU)
