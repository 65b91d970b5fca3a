"""What published numbers of papers on images are computed from, by NumPy alone: sums by item of the committed
predictions, and scores of such sums. ``published_numbers`` resamples them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

Arrays = dict[str, np.ndarray]

# --- captions ---


def bleu_n(order: int) -> Callable[[np.ndarray], float]:
    """BLEU of n-grams up to ``order`` (Papineni et al., 2002), in per cent, without smoothing; as ``bleu``."""

    def score(totals: np.ndarray) -> float:
        matches, ngrams, (length, reference) = totals[:order], totals[4 : 4 + order], totals[8:]
        if not matches.all():
            return 0.0
        return 100 * math.exp(min(0.0, 1 - reference / length) + np.log(matches / ngrams).mean())

    return score


def meteor(totals: np.ndarray) -> float:
    """METEOR 1.5 (Denkowski and Lavie, 2014), in per cent, from counts: words, function words, matches by kind, chunks
    and matched words. Pairs are of the caption and of the reference; content words weigh 3/4, function words 1/4."""
    kinds = totals[4:20].reshape(4, 2, 2)  # kind, content or function, side
    matches = np.einsum("kws,k,w->s", kinds, [1, 3 / 5, 4 / 5, 3 / 5], [3 / 4, 1 / 4])
    precision, recall = matches / (3 / 4 * (totals[:2] - totals[2:4]) + totals[2:4] / 4)
    harmonic = 1 / (0.85 / recall + 0.15 / precision)
    return float(100 * harmonic * (1 - 0.6 * (2 * totals[20] / totals[21:].sum()) ** 0.2))


def noun_rise(column: int) -> Callable[[np.ndarray], float]:
    """By how many points a noun's classes are more probable with its own weights than with those of a column."""
    return lambda sums: 100 * (sums[0] - sums[column]) / max(sums[3], 1)


# --- driving ---


def steering_errors(side: Sequence[Arrays], prefix: str = "", *, turns: bool = False) -> list[np.ndarray]:
    """By piece of 80 frames: absolute errors, frames, and absolute targets, (pieces, 3), of each seed."""
    each = []
    for one in side:
        degrees, target = (one[f"{prefix}{name}"].astype(np.float64) for name in ("degrees", "target"))
        frames = np.abs(target) >= 2.0 if turns else np.full(len(target), True)
        sums = np.zeros((int(one[f"{prefix}item"].max()) + 1, 3))
        np.add.at(
            sums,
            one[f"{prefix}item"],
            np.stack([np.abs(degrees - target), frames, np.abs(target)], 1) * frames[:, None],
        )
        each.append(pieces(sums, one[f"{prefix}item"]))
    return each


def pieces(sums: np.ndarray, item: np.ndarray) -> np.ndarray:
    """About four items of 20 frames of one test block are one piece, but there are at least eight pieces. A block ends
    with an item that has fewer frames than the others."""
    frames = [int((item == number).sum()) for number in range(len(sums))]
    blocks: list[list[np.ndarray]] = [[]]
    for number, own in enumerate(sums):
        blocks[-1].append(own)
        if frames[number] < max(frames) and number < len(sums) - 1:
            blocks.append([])
    made = []
    for block in blocks:
        number = min(len(block), max(math.ceil(8 / len(blocks)), round(len(block) / 4)))
        longer = len(block) % number  # the first pieces have an item more
        lengths = [len(block) // number + (at < longer) for at in range(number)]
        ends = np.cumsum(lengths)
        made += [np.sum(block[end - length : end], axis=0) for end, length in zip(ends, lengths, strict=True)]
    return np.array(made)


def error(sums: np.ndarray) -> float:
    return float(sums[0] / sums[1]) if sums[1] else 0.0


def below(part: float) -> Callable[[np.ndarray], float]:
    """How far the error is below a part of that of always 0."""
    return lambda sums: part - (float(sums[0] / sums[2]) if sums[2] else 0.0)


def allowed_errors(side: Sequence[Arrays], margin: float) -> list[np.ndarray]:
    """As :func:`steering_errors`, with a part of the errors of always 0 added to those of the network."""
    return [np.stack([each[:, 0] + margin * each[:, 2], each[:, 1], each[:, 2]], 1) for each in steering_errors(side)]


def region_sums(side: Sequence[Arrays]) -> list[np.ndarray]:
    """By piece of 80 frames (pieces, 6): regions without effect; all; distance and number of those with an effect;
    distance and number of those without. Distances are counted where they are known."""
    each = []
    for one in side:
        kept = one["region_effect"] >= one["least_effect"][0]
        distance = one["region_distance"].astype(np.float64)
        known = ~np.isnan(distance)
        columns = [~kept, np.full(len(kept), True)]
        for chosen in (kept & known, ~kept & known):
            columns += [np.where(chosen, distance, 0.0), chosen]
        sums = np.zeros((int(one["item"].max()) + 1, 6))
        np.add.at(sums, one["region_item"], np.stack(columns, axis=1))
        each.append(pieces(sums, one["item"]))
    return each


def removed(sums: np.ndarray) -> float:
    return float(100 * sums[0] / sums[1]) if sums[1] else 0.0


def nearer(sums: np.ndarray) -> float:
    return float(sums[4] / sums[5] - sums[2] / sums[3]) if sums[3] and sums[5] else 0.0
