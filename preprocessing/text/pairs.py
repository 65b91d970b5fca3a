"""Pairs of reviews for next-sentence prediction: both of one film, or of two films."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from preprocessing.pipeline import card
from preprocessing.pipeline.step import Context, Notes, Step
from preprocessing.text.data import Data

FILM_SEPARATOR = "/"
"""Separator between film and review in the id of a row."""


class Pairs(NamedTuple):
    """The rows of the first and of the second text, (pairs,) each, and whether both are of one group, (pairs,)."""

    first: np.ndarray
    second: np.ndarray
    together: np.ndarray


def films(row_id: np.ndarray) -> np.ndarray:
    """A number for the film of each row, (rows,)."""
    names = [str(name).partition(FILM_SEPARATOR)[0] for name in row_id]
    numbers: np.ndarray = np.unique(np.array(names, np.str_), return_inverse=True)[1].astype(np.int64)
    return numbers


def pair_rows(group: np.ndarray, generator: np.random.RandomState) -> Pairs:
    """Pair all rows, each once, so that about half of the pairs are of one group, if no group has most of the rows.

    Rows are shuffled within their group and paired two by two. A group of odd size leaves one row over; these rows are
    paired with each other. Then the second rows of some pairs within a group, drawn at random, are permuted cyclically:
    as many as make the pairs of two groups as many as those of one, if no row meets another one of its own group. A
    single row may be left over at the end; it is in no pair.

    Args:
        group: (rows,) the number of the group of each row.
        generator: generator of the draws.
    """
    shuffled = generator.permutation(len(group))
    order = shuffled[np.argsort(group[shuffled], kind="stable")]
    sizes = np.bincount(group, minlength=1)
    place = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    alone = (place % 2 == 0) & (place + 1 == np.repeat(sizes, sizes))
    within, rest = order[~alone], generator.permutation(order[alone])
    rest = rest[: len(rest) // 2 * 2]
    pairs = np.concatenate([within.reshape(-1, 2), rest.reshape(-1, 2)])
    exchanged = max(0, (len(within) // 2 - len(rest) // 2) // 2)
    circle = generator.permutation(len(within) // 2)[:exchanged]
    first, second = pairs[:, 0].copy(), pairs[:, 1].copy()
    second[circle] = pairs[np.roll(circle, 1), 1]
    return Pairs(first, second, group[first] == group[second])


@dataclass(frozen=True)
class PairReviews(Step[Data]):
    """State and count how reviews are paired; the data keep single reviews."""

    name: ClassVar[str] = "pair-reviews"

    @property
    def rule(self) -> str:
        return (
            "A review has no next sentence that is worth predicting: most are a single one. Instead two reviews are "
            "read, and whether both are of one film is predicted. In each epoch the reviews of every film are shuffled "
            "and paired two by two; those that are left over, one of a film with an odd number, are paired with each "
            "other. Of the pairs of one film so many, drawn at random, exchange their second reviews in a circle that "
            "half of all pairs are of two films. Every review is in one pair of an epoch, so nothing is read twice. "
            "The data are not changed; the counts are those of seed 0."
        )

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        facts = {}
        for name, split in data.splits.items():
            film = films(split.row_id)
            pairs = pair_rows(film, np.random.RandomState(0))
            facts[name] = {
                "films": int(film.max(initial=-1)) + 1,
                "pairs": len(pairs.first),
                "of_one_film": int(pairs.together.sum()),
                "rate_of_one_film": card.rate(int(pairs.together.sum()), len(pairs.first)),
            }
        return data, Notes(facts={"pairs": facts})
