"""Word vectors: nearest neighbours by cosine, and multidimensional scaling to two dimensions."""

from __future__ import annotations

import numpy as np

_AT_ONCE = 256


def nearest(
    vectors: np.ndarray, ids: np.ndarray, count: int, among: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The nearest neighbours of words by the cosine of their vectors; a word is not a neighbour of itself.

    Args:
        vectors: (words, units).
        ids: (queries,), the words whose neighbours to find.
        count: number of neighbours per word, at most; there are fewer, for all words alike, if there are not as many
            candidates, to which a word itself does not belong.
        among: (candidates,), ids of the candidates in ascending order; all words if None.

    Returns:
        Ids and cosines (queries, count), the nearest first, ties ordered by id. The cosine with a zero vector is 0.
    """
    directions = unit_vectors(vectors)
    candidates = np.arange(len(vectors)) if among is None else among
    count = min(count, len(candidates) - bool(np.isin(ids, candidates).any()))
    candidate_directions = directions[candidates]
    neighbours, near = np.empty((len(ids), count), np.int64), np.empty((len(ids), count), vectors.dtype)
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        cosines = directions[some] @ candidate_directions.T
        cosines[some[:, None] == candidates] = -np.inf
        order = np.argsort(-cosines, axis=1, kind="stable")[:, :count]
        neighbours[start : start + _AT_ONCE] = candidates[order]
        near[start : start + _AT_ONCE] = np.take_along_axis(cosines, order, axis=1)
    return neighbours, near


def mds(vectors: np.ndarray, *, rounds: int = 300) -> np.ndarray:
    """Return positions (words, 2) whose distances approximate the dissimilarity of words, one minus the cosine.

    Metric multidimensional scaling by majorisation (SMACOF; de Leeuw, 1977) from the first two principal components: no
    step increases the sum of squared differences, and there is no randomness.

    Args:
        vectors: (words, units).
        rounds: number of steps.
    """
    directions = unit_vectors(vectors.astype(np.float64))
    wanted = 1.0 - directions @ directions.T
    centred = directions - directions.mean(axis=0)
    left, scale, axes = np.linalg.svd(centred, full_matrices=False)
    # The sign of a principal component is arbitrary: make the entry of largest magnitude positive.
    signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])
    positions = np.zeros((len(vectors), 2))
    width = min(2, len(scale))
    positions[:, :width] = (left * scale * signs)[:, :width]
    for _ in range(rounds):
        apart = np.linalg.norm(positions[:, None] - positions, axis=2)
        pull = np.divide(wanted, apart, out=np.zeros_like(apart), where=apart > 1e-12)
        np.fill_diagonal(pull, 0.0)
        positions = (pull.sum(axis=1, keepdims=True) * positions - pull @ positions) / max(1, len(positions))
    return positions


def unit_vectors(vectors: np.ndarray) -> np.ndarray:
    """Vectors (words, units) divided by their length; those of length 0 stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0)
