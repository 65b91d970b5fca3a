"""The pictures of the step-by-step guide to the attention layer, with numbers that :mod:`gluon_attn.attention.ladder`
computes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from mxnet import nd

from gluon_attn.attention import ladder
from gluon_attn.files import atomic_file
from gluon_attn.plots import equation
from gluon_attn.plots.equation import Matrix
from reproductions.guides.guides import STEPS

TOKENS = ("the", "film", "was", "fun")

# Small matrices of round numbers, so that every product can be followed by hand.
MEMORY = np.array([[0.1, 0.3, 0.0], [1.0, 0.2, 0.4], [0.2, 0.1, 0.6], [1.2, 0.9, -0.5]], np.float32)
SCORE = np.array([[1.5], [1.0], [-1.0]], np.float32)
QUERIES = np.array([[2.0, 1.0, -1.0], [0.0, -1.0, 2.5]], np.float32)
VALUES = np.array([[0.5, 0.0], [0.0, 1.0], [0.2, 0.4], [1.5, -1.0]], np.float32)
PROJECTIONS = tuple(
    np.array(rows, np.float32)
    for rows in (
        [[2.0, 0.0], [0.0, 1.0], [0.0, -1.0]],
        [[1.0, 0.5], [1.0, 0.0], [0.0, -1.5]],
        [[1.0, 0.0], [0.0, 1.0], [0.5, 0.0]],
    )
)
SECOND = tuple(
    np.array(rows, np.float32)
    for rows in (
        [[0.0, 1.0], [-1.0, 0.0], [2.0, 1.0]],
        [[0.0, -0.5], [-1.0, 0.0], [2.0, 1.0]],
        [[0.0, 0.5], [1.0, 0.0], [0.0, 1.0]],
    )
)
OUTPUT = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.0], [0.5, 0.0, -1.0], [0.0, 0.5, 1.0]], np.float32)
MASK = np.where(np.tri(len(TOKENS), dtype=bool), 0.0, -1e18).astype(np.float32)
UNITS, WIDTH = MEMORY.shape[1], PROJECTIONS[0].shape[1]


def pictures() -> dict[str, list[Matrix]]:
    """The matrices of each picture, by its name, in the order of the page."""
    pooled = _arrays(ladder.pooled(nd, _batch(MEMORY), nd.array(SCORE)))
    scores = MEMORY @ SCORE
    one = QUERIES[:1]
    unscaled = _softmax(MEMORY @ one.T)
    scaled = _arrays(ladder.scaled_dot(nd, nd.array(one), _batch(MEMORY), UNITS))
    many = _arrays(ladder.many_queries(nd, _batch(QUERIES), _batch(MEMORY), UNITS))
    split = _arrays(ladder.keys_and_values(nd, _batch(QUERIES), _batch(MEMORY), _batch(VALUES), UNITS))
    x, projections = _batch(MEMORY), [nd.array(each) for each in PROJECTIONS]
    own = _arrays(ladder.self_attention(nd, x, projections, WIDTH))
    mask = nd.expand_dims(nd.array(MASK), axis=0)
    hidden = _arrays(ladder.masked(nd, x, projections, WIDTH, mask))
    heads = [projections, [nd.array(each) for each in SECOND]]
    context, of_heads = ladder.multi_head(nd, x, heads, nd.array(OUTPUT), WIDTH, mask)
    first, second = of_heads.asnumpy()[0]
    query, key, value = (MEMORY @ each for each in PROJECTIONS)
    own_scores = query @ key.T / np.sqrt(WIDTH)
    contexts = np.concatenate([first @ value, second @ (MEMORY @ SECOND[2])], axis=1)
    return {
        "1_score": [
            Matrix("M", MEMORY, rows=TOKENS),
            Matrix("w", SCORE, "×"),
            Matrix("scores e", scores, "=", rows=TOKENS),
        ],
        "2_softmax": [
            Matrix("scores e", scores, rows=TOKENS),
            Matrix("exp e", np.exp(scores), "exp", rows=TOKENS),
            Matrix("weights α", pooled[1].T, "÷ sum", weights=True, rows=TOKENS),
        ],
        "3_weighted_sum": [
            Matrix("αᵀ", pooled[1], weights=True, columns=TOKENS),
            Matrix("M", MEMORY, "×", rows=TOKENS),
            Matrix("context c", pooled[0], "="),
        ],
        "4_scaled": [
            Matrix("M q", MEMORY @ one.T, rows=TOKENS),
            Matrix("unscaled", unscaled, "softmax", weights=True),
            Matrix("M q / √3", MEMORY @ one.T / np.sqrt(UNITS), "instead", rows=TOKENS),
            Matrix("weights α", scaled[1].T, "softmax", weights=True),
            Matrix("context c", scaled[0], "αᵀ M"),
        ],
        "5_several_queries": [
            Matrix("Q", QUERIES, rows=("q1", "q2")),
            Matrix("Mᵀ", MEMORY.T, "×", columns=TOKENS),
            Matrix("weights A", many[1], "/ √3, softmax", weights=True, columns=TOKENS),
            Matrix("contexts A M", many[0], "× M"),
        ],
        "6_keys_and_values": [
            Matrix("Q", QUERIES, rows=("q1", "q2")),
            Matrix("Kᵀ", MEMORY.T, "×", columns=TOKENS),
            Matrix("weights A", split[1], "/ √3, softmax", weights=True, columns=TOKENS),
            Matrix("V", VALUES, "×", rows=TOKENS),
            Matrix("contexts", split[0], "="),
        ],
        "7_self_attention": [
            Matrix("X", MEMORY, rows=TOKENS),
            Matrix("Q = X W_Q", query, "project"),
            Matrix("K = X W_K", key, ","),
            Matrix("V = X W_V", value, ","),
            Matrix("weights A", own[1], "Q Kᵀ / √2, softmax", weights=True, rows=TOKENS, columns=TOKENS),
            Matrix("A V", own[0], "× V"),
        ],
        "8_masked": [
            Matrix("Q Kᵀ / √2", own_scores, rows=TOKENS, columns=TOKENS),
            Matrix("mask", MASK, "+", columns=TOKENS),
            Matrix("weights A", hidden[1], "softmax", weights=True, rows=TOKENS, columns=TOKENS),
            Matrix("A V", hidden[0], "× V"),
        ],
        "9_multi_head": [
            Matrix("A of head 1", first, weights=True, rows=TOKENS, columns=TOKENS),
            Matrix("A of head 2", second, "and", weights=True, columns=TOKENS),
            Matrix("[A1 V1 ; A2 V2]", contexts, "× V"),
            Matrix("W_O", OUTPUT, "×"),
            Matrix("output", context.asnumpy()[0], "=", rows=TOKENS),
        ],
    }


def write_pictures(*, check: bool) -> list[Path]:
    """Draw the pictures of the page.

    Args:
        check: only compare, write nothing.

    Returns:
        The files that differed.
    """
    stale = []
    with TemporaryDirectory() as folder:
        for name, matrices in pictures().items():
            drawn, path = Path(folder) / f"{name}.png", STEPS.pictures / f"{name}.png"
            equation.draw(matrices, drawn)
            if not path.exists() or path.read_bytes() != drawn.read_bytes():
                stale.append(path)
                if not check:
                    with atomic_file(path) as stream:
                        stream.write(drawn.read_bytes())
    return stale


def _batch(array: np.ndarray) -> nd.NDArray:
    return nd.array(array[None])


def _arrays(computed: Sequence[nd.NDArray]) -> tuple[np.ndarray, np.ndarray]:
    """Context and weights of the only text, as matrices."""
    context, weights = (np.atleast_2d(each.asnumpy()[0]) for each in computed)
    return context, weights


def _softmax(scores: np.ndarray) -> np.ndarray:
    grown: np.ndarray = np.exp(scores - scores.max())
    return grown / grown.sum()
