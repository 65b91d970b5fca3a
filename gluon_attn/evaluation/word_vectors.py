"""Word vectors: nearest neighbours by cosine, and multidimensional scaling to two dimensions."""

from __future__ import annotations

import numpy as np

_AT_ONCE = 256


def nearest(
    vectors: np.ndarray, ids: np.ndarray, count: int, among: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The words whose vectors have the highest cosine with those of given words, which are left out themselves.

    Args:
        vectors: (words, units).
        ids: (asked,) the given words.
        count: how many are wanted; fewer than there are words to choose from.
        among: (candidates,) the words to choose from, ascending; all of them if None.

    Returns:
        Ids and cosines (asked, count), the nearest first; of equal ones the lower id first. A vector of zeros is at a
        cosine of 0 to all.
    """
    directions = _directions(vectors)
    candidates = np.arange(len(vectors)) if among is None else among
    there = directions[candidates]
    found, near = np.empty((len(ids), count), np.int64), np.empty((len(ids), count), vectors.dtype)
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        cosines = directions[some] @ there.T
        cosines[some[:, None] == candidates] = -np.inf
        order = np.argsort(-cosines, axis=1, kind="stable")[:, :count]
        found[start : start + _AT_ONCE] = candidates[order]
        near[start : start + _AT_ONCE] = np.take_along_axis(cosines, order, axis=1)
    return found, near


def mds(vectors: np.ndarray, *, rounds: int = 300) -> np.ndarray:
    """Places (words, 2) whose distances are as near as may be to those of the directions, one minus the cosine.

    Metric scaling by majorisation (de Leeuw, 1977): it begins with the two principal components, no step makes the sum
    of squared differences larger, and nothing is drawn at random.

    Args:
        vectors: (words, units).
        rounds: number of steps.
    """
    directions = _directions(vectors.astype(np.float64))
    wanted = 1.0 - directions @ directions.T
    centred = directions - directions.mean(axis=0)
    left, scale, axes = np.linalg.svd(centred, full_matrices=False)
    # The sign of a component is anybody's choice: here the largest number of each axis is positive.
    signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])
    places = np.zeros((len(vectors), 2))
    width = min(2, len(scale))
    places[:, :width] = (left * scale * signs)[:, :width]
    for _ in range(rounds):
        apart = np.linalg.norm(places[:, None] - places, axis=2)
        pull = np.divide(wanted, apart, out=np.zeros_like(apart), where=apart > 1e-12)
        np.fill_diagonal(pull, 0.0)
        places = (pull.sum(axis=1, keepdims=True) * places - pull @ places) / max(1, len(places))
    return places


def _directions(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0)
