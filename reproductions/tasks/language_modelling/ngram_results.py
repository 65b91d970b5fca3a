"""Table rows, effects and figures from the outcomes of n-gram models, neural n-gram models and their mixtures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gluon_attn.evaluation.statistics import bootstrap_metric, perplexity
from gluon_attn.plots.curves import score_by_amount
from reproductions.protocol.claims import Effect
from reproductions.protocol.reproduction import Draw, Groups
from reproductions.protocol.results import Row
from reproductions.protocol.rows import alone, bootstrapped_row, stacked
from reproductions.protocol.runs import Outcome, paired
from reproductions.protocol.task import Column, Variant
from reproductions.tasks.language_modelling import results
from reproductions.tasks.perplexity import reduction

_FITTED, _EQUAL = "weights by known context, from validation", "equal weights"
COLUMNS = (
    *results.COLUMNS,
    Column("mixed with n-grams", "perplexity", _FITTED),
    Column("mixed with equal weights", "perplexity", _EQUAL),
)
_HOW = {"mixture": _FITTED, "even_mixture": _EQUAL}


def rows(outcomes: Sequence[Outcome], variant: Variant[Any], order: int) -> list[Row]:
    """Rows of a network on test: its own, and those of its mixtures with n-grams of the given order."""
    own = results.rows(outcomes, variant)
    for name, how in _HOW.items():
        signature = f"mixed with {order}-grams, {how}"
        sums = results.of_blocks(outcomes, name)
        mixed = bootstrapped_row(outcomes, variant, sums, perplexity, metric="perplexity", signature=signature)
        own.append(alone(mixed))
    return own


def mixture_below_network(networks: Sequence[Outcome]) -> Effect:
    """Reduction in perplexity from the network to the mixture; paired bootstrap over blocks of lines."""
    return reduction(results.of_blocks(networks, "mixture"), results.of_blocks(networks, "likelihood"), results.BLOCKS)


def mixture_below_ngrams(networks: Sequence[Outcome], ngrams: Sequence[Outcome]) -> Effect:
    """Reduction in perplexity from the n-grams to the mixture; paired bootstrap over blocks of lines."""
    return reduction(results.of_blocks(networks, "mixture"), results.of_blocks(ngrams, "likelihood"), results.BLOCKS)


def gains_more(
    short: Sequence[Outcome],
    long: Sequence[Outcome],
    short_ngrams: Sequence[Outcome],
    long_ngrams: Sequence[Outcome],
) -> Effect | None:
    """Relative reduction in perplexity, in per cent, by longer contexts: the network's minus that of the n-grams.
    Bootstrap over blocks of lines. None without a seed that both networks have."""
    pairs = paired(short, long)
    if not pairs:
        return None
    counted = [results.of_blocks(outcomes, "likelihood")[0] for outcomes in (short_ngrams, long_ngrams)]
    runs = [
        np.concatenate([*(results.of_blocks([network], "likelihood")[0] for network in pair), *counted], axis=1)
        for pair in pairs
    ]

    def difference(totals: np.ndarray) -> float:
        first, second, third, fourth = (perplexity(pair) for pair in totals.reshape(4, 2))
        return 100 * ((1 - second / first) - (1 - fourth / third))

    estimate = bootstrap_metric(np.stack(runs), difference, seed=0)
    return Effect(
        estimate, "percentage points, relative reduction by the network minus that by the n-grams", results.BLOCKS
    )


def perplexity_by_context(networks: Mapping[int, str], ngrams: Mapping[int, str], mixed_with: int) -> Draw:
    """A figure of test perplexity by context length: networks, n-grams, and the mixtures of these networks with n-grams
    of the order ``mixed_with``. The other arguments are names of variants by order."""

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        series = {
            "Kneser-Ney n-grams": _points(groups, ngrams, "likelihood"),
            "network": _points(groups, networks, "likelihood"),
            f"network, mixed with {mixed_with}-grams": _points(groups, networks, "mixture"),
        }
        series = {name: points for name, points in series.items() if points}
        if not series:
            return {}
        path = directory / "perplexity_by_context.png"
        score_by_amount(series, path, "context length in words", "perplexity on test")
        return {"perplexity by context": path}

    return draw


def _points(groups: Groups, names: Mapping[int, str], array: str) -> dict[int, list[float]]:
    """The perplexity of each seed, by context length."""
    return {
        order - 1: [perplexity(one.sum(axis=0)) for one in stacked(groups[name], array)]
        for order, name in names.items()
        if name in groups
    }
