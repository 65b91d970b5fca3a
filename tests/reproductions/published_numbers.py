"""Published numbers, computed from the committed predictions by NumPy alone: nothing of the tasks that computed them.

A number is computed here as its row's signature and its claim's measure state it. Intervals are percentiles of 2 000
resamples of per-item values (on IMDb, of films) or 1 000 of sums over items, drawn with ``numpy.random.RandomState``
from the seed that is the upper 31 bits of the first four bytes of SHA-256 of ``(0, 'bootstrap')``.
"""

from __future__ import annotations

import hashlib
import json
import math
import subprocess
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from reproductions.protocol import papers
from reproductions.protocol.claims import Better
from tests.reproductions import published_images as images
from tests.reproductions.support import ROOT, claims_by_id

RESULTS = ROOT / "reproductions" / "results"
PUBLISHED = sorted(path.stem for path in RESULTS.glob("*.json") if "." not in path.stem)
SEED = int.from_bytes(hashlib.sha256(b"(0, 'bootstrap')").digest()[:4], "big") >> 1

Arrays = dict[str, np.ndarray]
Numbers = tuple[float, float, float]
"""A number and the ends of its interval."""


# --- committed outcomes ---


@cache
def results(paper: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((RESULTS / f"{paper}.json").read_text(encoding="utf-8"))
    return content


def published_at(commit: str, paper: str) -> dict[str, Any]:
    """The results that a commit had published; skips the test if the clone does not have the commit."""
    show = ["git", "show", f"{commit}:reproductions/results/{paper}.json"]
    shown = subprocess.run(show, cwd=ROOT, capture_output=True, text=True, check=False)
    if shown.returncode:
        pytest.skip(f"commit {commit} is not here: clone the repository with its whole history")
    content: dict[str, Any] = json.loads(shown.stdout)
    return content


def folder(paper: str, variant: str, seed: str) -> Path:
    return RESULTS / paper / "outcomes" / variant / f"seed-{seed}"


@cache
def record(paper: str, variant: str, seed: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder(paper, variant, seed) / "outcome.json").read_text(encoding="utf-8"))
    return content


@cache
def arrays(paper: str, variant: str, seed: str) -> Arrays:
    with np.load(folder(paper, variant, seed) / "predictions.npz", allow_pickle=False) as stored:
        return dict(stored)


def records(paper: str, variant: str) -> list[dict[str, Any]]:
    """What the trainings of a variant recorded, by seed."""
    seeds = next(row["per_seed"] for row in results(paper)["rows"] if row["variant"] == variant)
    return [record(paper, variant, seed) for seed in seeds]


def sides(paper: str, *variants: str) -> list[list[Arrays]]:
    """The predictions of each variant, by seed; ``paper/variant`` is that of another paper."""
    found = []
    for name in variants:
        of, _, variant = name.rpartition("/")
        rows = results(of or paper)["rows"]
        seeds = next(row["per_seed"] for row in rows if row["variant"] == variant)
        found.append([arrays(of or paper, variant, seed) for seed in seeds])
    return found


# --- metrics of sums over items ---


def bleu(totals: np.ndarray) -> float:
    """Papineni et al. (2002) of (matches of 1- to 4-grams, n-grams, length, length of the reference), in per cent."""
    matches, ngrams, (length, reference) = totals[:4], totals[4:8], totals[8:]
    assert matches.all(), "nothing is smoothed here"
    brevity = min(0.0, 1 - reference / length)
    return 100 * math.exp(brevity + np.log(matches / ngrams).mean())


def perplexity(totals: np.ndarray) -> float:
    nats, tokens = totals
    return math.exp(nats / tokens)


# --- intervals ---


def resamples(items: int, number: int) -> Iterator[np.ndarray]:
    generator = np.random.RandomState(SEED)
    for _ in range(number):
        yield generator.randint(0, items, items)


def ends(values: list[float]) -> tuple[float, float]:
    """The 2.5 and 97.5 percentiles, linear between the values."""
    ordered, positions = sorted(values), [(len(values) - 1) * share for share in (0.025, 0.975)]
    low, high = (
        ordered[int(at)] + (at - int(at)) * (ordered[min(int(at) + 1, len(ordered) - 1)] - ordered[int(at)])
        for at in positions
    )
    return low, high


def mean_of(values: np.ndarray, *, interval: bool, clusters: np.ndarray | None = None) -> Numbers:
    """Mean of the values of items, (items,), which are drawn in clusters if there are any, (items,)."""
    mean = float(values.sum() / len(values))
    if not interval:
        return mean, mean, mean
    if clusters is not None:
        cut = [values[clusters == each] for each in np.unique(clusters)]
        sums, counts = np.array([each.sum() for each in cut]), np.array([len(each) for each in cut])
        drawn = [float(sums[rows].sum() / counts[rows].sum()) for rows in resamples(len(cut), 2_000)]
        return widened(mean, ends(drawn), len(cut))
    return widened(mean, ends([values[rows].mean() for rows in resamples(len(values), 2_000)]), len(values))


def widened(mean: float, interval: tuple[float, float], items: int) -> Numbers:
    """Mean and interval; over fewer than 30 items, that of Student's t with the deviation divided by n - 1."""
    wider = (
        stats.t.ppf(0.975, items - 1) / stats.norm.ppf(0.975) * math.sqrt(items / (items - 1)) if items < 30 else 1.0
    )
    low, high = (mean + wider * (end - mean) for end in interval)
    return mean, low, high


def score_of(
    positive: Sequence[np.ndarray],
    score: Callable[[np.ndarray], float],
    negative: Sequence[np.ndarray] = (),
    *,
    interval: bool,
) -> Numbers:
    """Mean score of the sums over items of each seed (items, counts), minus that of other seeds; both have the same
    items."""

    def scored(times: np.ndarray) -> float:
        first, second = ([score((each * times[:, None]).sum(axis=0)) for each in side] for side in (positive, negative))
        return sum(first) / len(first) - (sum(second) / len(second) if second else 0.0)

    items = len(positive[0])
    value = scored(np.ones(items, int))
    if not interval:
        return value, value, value
    return widened(value, ends([scored(np.bincount(rows, minlength=items)) for rows in resamples(items, 1_000)]), items)


# --- rows ---


def selected(paper: str, variant: str, seed: str, metric: str) -> float:
    """The best validation result."""
    epochs = [epoch[f"validation_{metric}"] for epoch in record(paper, variant, seed)["history"]]
    return float(min(epochs) if metric in ("perplexity", "loss", "error") else max(epochs))


OTHER_WAYS = {
    "case:mixed": "bleu_cased",
    "tok:intl": "bleu_international",
    "tok:none": "bleu_spaces",
    "tok:char": "bleu_characters",
}
"""The arrays of sacreBLEU's counts, by what a signature says, if it is not lower-cased text with the tokenizer 13a."""


OTHER_SETS = {"Tatoeba en-fr": "_tatoeba", "KorSTS": "_korsts", "news": "_news", "JHE": "_jhe"}
"""Ends of the names of the arrays of other test sets, by the beginning of a signature."""


def other_set(row: dict[str, Any]) -> str:
    return OTHER_SETS.get(row["signature"].partition(";")[0], "")


def counts_of(row: dict[str, Any], one: Arrays) -> np.ndarray:
    """The array (sentences, 10) from which a row of BLEU is computed."""
    if suffix := other_set(row):
        return one[row["metric"] + suffix]
    if "unknown words replaced" in row["signature"]:
        return one["bleu_replaced"]
    if row["metric"] == "sacrebleu":
        return one[next((name for way, name in OTHER_WAYS.items() if way in row["signature"]), "sacrebleu")]
    if row["signature"].startswith("of the network's own tokens"):
        return one["bleu_pieces"]
    others = [name for name in one if f"beam {name.removeprefix('bleu_beam_')}," in row["signature"]]
    return one[others[0]] if others else one["bleu"]


def combined(effects: list[float], of_items: Numbers) -> Numbers:
    """Mean and interval over seeds and items: Student's t over the seeds, the bootstrap over the items, and the squares
    of their half-widths added."""
    of_seeds = stats.t.ppf(0.975, len(effects) - 1) * np.std(effects, ddof=1) / np.sqrt(len(effects))
    half = np.sqrt(of_seeds**2 + ((of_items[2] - of_items[1]) / 2) ** 2)
    return of_items[0], of_items[0] - half, of_items[0] + half


def recomputed(paper: str, row: dict[str, Any], *, interval: bool) -> tuple[list[float], Numbers]:
    """The value of each seed, and mean and interval."""
    seeds, signature = list(row["per_seed"]), row["signature"]
    kind = row["split"], row["metric"]

    def over_seeds(values: list[float]) -> tuple[list[float], Numbers]:
        return values, (sum(values) / len(values), min(values), max(values))

    if kind == ("test", "difference"):
        base = signature.removeprefix("against ").partition(";")[0]
        sides_of = [[[arrays(paper, name, seed)] for name in (row["variant"], base)] for seed in seeds]
        values = [better(*pair, "", interval=False)[0] for pair in sides_of]
        both = [[arrays(paper, name, seed) for seed in seeds] for name in (row["variant"], base)]
        of_items = better(*both, "", interval=interval)
        return values, combined(values, of_items) if len(values) > 1 else of_items
    if row["split"] == "validation":
        return over_seeds([selected(paper, row["variant"], seed, row["metric"]) for seed in seeds])
    if kind in (("test", "chrf"), ("test", "loss")):
        name = row["metric"] + other_set(row)
        return over_seeds([record(paper, row["variant"], seed)["metrics"][name] for seed in seeds])
    each = [arrays(paper, row["variant"], seed) for seed in seeds]
    if kind == ("test", "accuracy"):
        unseen = "does not occur in train" in signature
        counted = ~each[0]["seen_in_train"] if unseen else slice(None)
        rights = [100.0 * one["right"][counted] for one in each]
        of_counted = each[0]["cluster"][counted] if "cluster" in each[0] else None
        complete = "the empty ones left out" in signature or " test images, " in signature
        assert signature.startswith(f"{len(rights[0])} test ") and (unseen or complete)
        accuracy = mean_of(np.mean(rights, axis=0), interval=interval, clusters=of_counted)
        return [float(right.mean()) for right in rights], accuracy
    if kind == ("test", "agreement"):
        words = [one["agreement"][one["rare"] if "rare words" in signature else slice(None)] for one in each]
        assert f"nearest words of {len(words[0])} " in signature
        return [float(one.mean()) for one in words], mean_of(np.mean(words, axis=0), interval=interval)
    if kind == ("test", "meteor"):
        aligned = totals(each, "meteor")
        return [images.meteor(one.sum(axis=0)) for one in aligned], score_of(aligned, images.meteor, interval=interval)
    if kind in (("test", "pairs"), ("test", "cider")):
        per_cent = [100.0 * one["told" if row["metric"] == "pairs" else row["metric"]] for one in each]
        return [float(one.mean()) for one in per_cent], mean_of(np.mean(per_cent, axis=0), interval=interval)
    if kind == ("test", "error"):
        prefix = "other_" if signature.startswith("the other road") else ""
        errors = images.steering_errors(each, prefix, turns="turns" in signature)
        return [images.error(one.sum(axis=0)) for one in errors], score_of(errors, images.error, interval=interval)
    if kind[0] == "test" and row["metric"].startswith("bleu-"):
        of_order, counts = images.bleu_n(int(row["metric"][-1])), totals(each, "bleu")
        return [of_order(one.sum(axis=0)) for one in counts], score_of(counts, of_order, interval=interval)
    score = perplexity if row["metric"] == "perplexity" else bleu
    assert kind[0] == "test" and row["metric"] in ("bleu", "sacrebleu", "perplexity")
    mixture = "even_mixture" if signature.endswith("equal weights") else "mixture"
    likelihood = mixture if signature.startswith("mixed with") else "likelihood"
    sums = totals(each, likelihood) if score is perplexity else [counts_of(row, one) for one in each]
    return [score(one.sum(axis=0)) for one in sums], score_of(sums, score, interval=interval)


BOUNDS = {
    "perplexity": (1.0, math.inf),
    "error": (0.0, math.inf),
    "loss": (0.0, math.inf),
    "cider": (-math.inf, math.inf),
    "difference": (-math.inf, math.inf),
}
"""Where the interval of a row ends; other metrics are percentages."""


def check_rows(paper: str, *, interval: bool) -> None:
    for row in results(paper)["rows"]:
        values, (mean, low, high) = recomputed(paper, row, interval=interval)
        where = (row["variant"], row["split"], row["metric"], row["signature"])
        assert list(row["per_seed"].values()) == pytest.approx(values, rel=1e-12), where
        assert row["mean"] == pytest.approx(mean, rel=1e-12), where
        deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / max(len(values) - 1, 1))
        assert row["std"] == pytest.approx(deviation, rel=1e-9, abs=1e-12), where
        if interval:
            least, most = BOUNDS.get(row["metric"], (0.0, 100.0))
            low, high = max(low, least), min(high, most)
            assert row["ci95"] == pytest.approx([low, high], rel=1e-6 if row["metric"] == "difference" else 1e-9), where


# --- claims ---


def mean_right(side: list[Arrays]) -> np.ndarray:
    return np.mean([100.0 * one["right"] for one in side], axis=0)


def of_shared_seeds(*systems: list[Arrays]) -> list[list[Arrays]]:
    """The systems with the seeds that all have, which are the first ones of each."""
    return [system[: min(map(len, systems))] for system in systems]


def averaged_right(*systems: list[Arrays]) -> np.ndarray:
    """Share of the seeds whose networks, one of each system, classify an item correctly together, in per cent."""
    labels = [one["label"] for system in systems for one in system]
    assert all((label == labels[0]).all() for label in labels), "the systems read the same items"
    above = [sum(one["probability"] for one in of_seed) > len(systems) / 2 for of_seed in zip(*systems, strict=True)]
    return 100.0 * np.mean([each == labels[0] for each in above], axis=0)


def mean_array(side: list[Arrays], name: str) -> np.ndarray:
    return np.mean([one[name].astype(np.float64) for one in side], axis=0)


def totals(side: list[Arrays], name: str) -> list[np.ndarray]:
    return [blocks(one[name]) if len(one[name]) == LINES else one[name] for one in side]


LINES = 3_761  # of the test split of the Penn Treebank


def blocks(lines: np.ndarray) -> np.ndarray:
    return np.array([lines[first : first + 100].sum(axis=0) for first in range(0, len(lines), 100)])


def better(first: list[Arrays], second: list[Arrays], metric: str, *, interval: bool) -> Numbers:
    """By how much the first side is better in a metric; without one, in the values that its predictions are."""
    if metric == "perplexity" or ("likelihood" in first[0] and "bleu" not in first[0]):
        return score_of(totals(second, "likelihood"), perplexity, totals(first, "likelihood"), interval=interval)
    if metric.startswith("bleu-"):
        of_order = images.bleu_n(int(metric[-1]))
        return score_of(totals(first, "bleu"), of_order, totals(second, "bleu"), interval=interval)
    if "bleu" in first[0]:
        return score_of(totals(first, metric or "bleu"), bleu, totals(second, metric or "bleu"), interval=interval)
    if "degrees" in first[0]:
        errors = images.steering_errors(second), images.steering_errors(first)
        return score_of(errors[0], images.error, errors[1], interval=interval)
    if "agreement" in first[0]:
        words = first[0]["rare"] if "rare" in metric else slice(None)
        difference = mean_array(first, "agreement") - mean_array(second, "agreement")
        return mean_of(difference[words], interval=interval)
    return mean_of(mean_right(first) - mean_right(second), interval=interval, clusters=first[0].get("cluster"))


def halves(side: list[Arrays]) -> list[np.ndarray]:
    """BLEU counts of sentences of more than 12 words, and of the others: (sentences, 20)."""
    return [
        np.hstack([one["bleu"] * chosen[:, None] for chosen in (one["words"] > 12, one["words"] <= 12)]) for one in side
    ]


def long_minus_short(sums: np.ndarray) -> float:
    return bleu(sums[:10]) - bleu(sums[10:])


def beams(side: list[Arrays]) -> list[np.ndarray]:
    return [np.hstack([one["bleu_beam_1"], one["bleu_beam_2"], one["bleu"]]) for one in side]


def first_gain_minus_second(sums: np.ndarray) -> float:
    one, two, twelve = (bleu(sums[start : start + 10]) for start in (0, 10, 20))
    return 2 * two - one - twelve


def without_missing(values: np.ndarray) -> np.ndarray:
    return values[~np.isnan(values)]


def less_overlap(free: list[Arrays], strict: list[Arrays], *, interval: bool) -> Numbers:
    """By how much less hops overlap on the second side, in texts that have tokens."""
    less = mean_array(free, "overlap") - mean_array(strict, "overlap")
    known, clusters = ~np.isnan(less), free[0].get("cluster")
    return mean_of(less[known], interval=interval, clusters=None if clusters is None else clusters[known])


def unreadable(side: list[Arrays], measure: str) -> np.ndarray:
    return mean_array(side, f"{measure}_best") - mean_array(side, f"{measure}_last")


def joined(side: list[Arrays]) -> list[np.ndarray]:
    """BLEU counts of three consecutive sentences, translated one by one and as one: (groups, 20)."""
    groups = [len(one["joined_3"]) for one in side]
    return [
        np.hstack([one["bleu"][: 3 * number].reshape(number, 3, 10).sum(axis=1), one["joined_3"]])
        for one, number in zip(side, groups, strict=True)
    ]


def lost(sums: np.ndarray) -> float:
    return bleu(sums[:10]) - bleu(sums[10:])


def share_lost(sums: np.ndarray) -> float:
    return 100 * (1 - bleu(sums[10:]) / bleu(sums[:10]))


def weights_of(side: list[Arrays], word: str, label: int) -> list[np.ndarray]:
    """Sum of the weights of a word and its occurrences, in reviews of a class and in the others: (films, 4)."""
    both = []
    for one in side:
        sums, rows = np.zeros((len(one["label"]), 4)), one[f"rows_of_{word}"]
        column = np.where(one["label"][rows] == label, 0, 2)
        np.add.at(sums, (rows, column), one[f"weights_of_{word}"].astype(np.float64))
        np.add.at(sums, (rows, column + 1), 1)
        films = np.unique(one["cluster"])
        both.append(np.array([sums[one["cluster"] == film].sum(axis=0) for film in films]))
    return both


def heavier(sums: np.ndarray) -> float:
    return sums[0] / sums[1] - sums[2] / sums[3]


def at_best_epochs(first: list[Arrays], second: list[Arrays], *, interval: bool) -> Numbers:
    """The best agreement on validation of each training, skip-gram minus CBOW; as wide as the interval on test."""
    mean, low, high = better(first, second, "", interval=interval)
    best = [
        np.mean(
            [max(epoch["validation_agreement"] for epoch in one["history"]) for one in records("mikolov2013", name)]
        )
        for name in ("skip-gram", "cbow")
    ]
    difference = float(best[0] - best[1])
    return difference, difference + low - mean, difference + high - mean


def gain_beyond_ngrams(short: Any, long: Any, short_ngrams: Any, long_ngrams: Any, *, interval: bool) -> Numbers:
    """By how many per cent of perplexity a longer context helps networks, minus the same of n-grams."""
    (first,), (second,) = totals(short_ngrams, "likelihood"), totals(long_ngrams, "likelihood")
    runs = [
        np.hstack([*totals([one, other], "likelihood"), first, second])
        for one, other in zip(short, long, strict=False)  # the first seeds, which both have
    ]

    def difference(sums: np.ndarray) -> float:
        a, b, c, d = (perplexity(sums[start : start + 2]) for start in (0, 2, 4, 6))
        return 100 * (d / c - b / a)

    return score_of(runs, difference, interval=interval)


def best_heads(side: list[Arrays], criterion: str) -> np.ndarray:
    """The weight of each seed's best head on what a criterion names, the mean over seeds: (sentences,)."""
    chosen = []
    for one in side:
        if f"head_{criterion}" in one:  # the best on validation
            chosen.append(one[f"head_{criterion}"].astype(np.float64))
            continue
        heads = one[f"heads_{criterion}"].astype(np.float64).reshape(len(one["bleu"]), -1)
        even, odd = heads[::2], heads[1::2]  # each has the head that is best on the other
        weights = np.empty(len(heads))
        weights[::2] = even[:, np.argmax(np.nanmean(odd, axis=0))]
        weights[1::2] = odd[:, np.argmax(np.nanmean(even, axis=0))]
        chosen.append(weights)
    return without_missing(np.mean(chosen, axis=0))


def noun_minus_second_word(side: list[Arrays]) -> np.ndarray:
    """Of the seeds that have both."""
    side = [one for one in side if "head_second_word" in one]
    return without_missing(mean_array(side, "head_noun") - mean_array(side, "head_second_word"))


def minutes_to_best(paper: str, fast: str, slow: str) -> float:
    """Minutes of processor time until the best validation BLEU of the slower system, slow minus fast, at the pace of
    the seed that took the fewest."""
    gained, spent = [], [[one["history"][-1]["cpu_seconds"] for one in records(paper, name)] for name in (slow, fast)]
    fewest = np.argmin(np.sum(spent, axis=0))
    for first, second in zip(records(paper, fast), records(paper, slow), strict=False):
        best = max(epoch["validation_bleu"] for epoch in second["history"])
        reached = [
            min(number for number, epoch in enumerate(one["history"], 1) if epoch["validation_bleu"] >= best)
            for one in (second, first)
        ]
        seconds = [of_side[fewest] / len(one["history"]) for of_side, one in zip(spent, (second, first), strict=True)]
        gained.append((reached[0] * seconds[0] - reached[1] * seconds[1]) / 60)
    return sum(gained) / len(gained)


def level_within(margin: float, groups: Sequence[list[Arrays]], *, interval: bool) -> Numbers:
    """A margin minus the largest distance of the accuracies of several systems."""
    distance, low, high = widest(*groups, interval=interval)
    return margin - distance, margin - high, margin - low


def level_at_best_rate(*groups: list[Arrays], interval: bool) -> Numbers:
    """Of class token and mean, each with the rate that is better on validation."""
    chosen = []
    for names in (("class", "class-fast"), ("mean", "mean-fast")):
        best = {
            name: np.mean(
                [
                    max(epoch["validation_accuracy"] for epoch in one["history"])
                    for one in records("dosovitskiy2020", name)
                ]
            )
            for name in names
        }
        name = max(names, key=best.__getitem__)
        chosen.append(groups[("class", "class-fast", "mean", "mean-fast").index(name)])
    return level_within(1.0, chosen, interval=interval)


def gap_closes(*groups: list[Arrays], interval: bool) -> Numbers:
    """By how many points the first system is less ahead of the second with many images than with few."""
    few_ahead, few_behind, ahead, behind = map(mean_right, groups)
    return mean_of((few_ahead - few_behind) - (ahead - behind), interval=interval)


def widest(*groups: list[Arrays], interval: bool) -> Numbers:
    """Accuracy of the best of several systems minus that of the worst."""
    ordered = sorted(map(mean_right, groups), key=np.mean)
    return mean_of(ordered[-1] - ordered[0], interval=interval, clusters=groups[0][0].get("cluster"))


def below_half(side: list[Arrays], own: str, other: str, *, interval: bool) -> Numbers:
    """Half of the BLEU of one test set minus that of another, which has other sentences."""
    first, second = (score_of(totals(side, name), bleu, interval=interval) for name in (own, other))
    mean, half = first[0] / 2 - second[0], math.hypot((first[2] - first[1]) / 4, (second[2] - second[1]) / 2)
    return mean, mean - half, mean + half


def gain_of_chosen(*systems: list[Arrays], interval: bool) -> Numbers:
    """BLEU on Tatoeba of the system with the best validation BLEU, for each seed, minus that of the first system."""
    declared = claims_by_id(papers.load("translation_domains").claims)["chosen"]
    validation = [
        [max(epoch["validation_bleu"] for epoch in one["history"]) for one in records("translation_domains", name)]
        for name in declared.variants
    ]
    chosen = [systems[which][seed] for seed, which in enumerate(np.argmax(validation, axis=0))]
    return score_of(totals(chosen, "bleu_tatoeba"), bleu, totals(systems[0], "bleu_tatoeba"), interval=interval)


def more_together(
    both: list[Arrays], first: list[Arrays], second: list[Arrays], base: list[Arrays], *, interval: bool
) -> Numbers:
    """What two choices gain together, minus what each gains alone."""
    together, one, other = (mean_right(each) - mean_right(base) for each in (both, first, second))
    return mean_of(together - one - other, interval=interval)


def extra_variation(accuracy: np.ndarray, count: int) -> float:
    """Standard deviation of the accuracy of the first systems, minus that of the others."""
    return float(np.std(accuracy[:count], ddof=1) - np.std(accuracy[count:], ddof=1))


Measure = Callable[..., Numbers]
MEASURED: dict[str, Measure] = {
    "bahdanau2014 length": lambda a, b, **how: score_of(joined(a), lost, joined(b), **how),
    "bahdanau2014 length-share": lambda a, b, **how: score_of(joined(a), share_lost, joined(b), **how),
    "bahdanau2014 length-captions": lambda a, b, **how: score_of(halves(b), long_minus_short, halves(a), **how),
    "bahdanau2014 monotone": lambda side, **how: mean_of(without_missing(mean_array(side, "monotone")), **how),
    "bengio2003 mixture-network": lambda side, **how: score_of(
        totals(side, "likelihood"), perplexity, totals(side, "mixture"), **how
    ),
    "bengio2003 mixture-ngrams": lambda side, ngrams, **how: score_of(
        totals(ngrams, "likelihood"), perplexity, totals(side, "mixture"), **how
    ),
    "bengio2003 longer-more-5": gain_beyond_ngrams,
    "bengio2003 longer-more-8": gain_beyond_ngrams,
    "translation_domains captions": partial(below_half, own="bleu", other="bleu_tatoeba"),
    "translation_domains chosen": gain_of_chosen,
    "translation_domains news": partial(below_half, own="bleu_korsts", other="bleu_news"),
    "dosovitskiy2020 gap": gap_closes,
    "dosovitskiy2020 kind": lambda *groups, **how: level_within(1.0, groups, **how),
    "dosovitskiy2020 pooling": level_at_best_rate,
    "kim2017 always-0": lambda side, **how: score_of(images.steering_errors(side), images.below(0.6), **how),
    "kim2017 other-road": lambda side, **how: score_of(
        images.steering_errors(side, "other_"), images.below(1.0), **how
    ),
    "kim2017 removed": lambda side, **how: score_of(images.region_sums(side), images.removed, **how),
    "kim2017 edges": lambda side, **how: score_of(images.region_sums(side), images.nearer, **how),
    "luong2015 unknown": lambda side, **how: score_of(totals(side, "bleu_replaced"), bleu, totals(side, "bleu"), **how),
    "luong2015 long": lambda a, b, **how: score_of(halves(a), long_minus_short, halves(b), **how),
    "sutskever2014 beam-2": lambda side, **how: score_of(beams(side), first_gain_minus_second, **how),
    "sutskever2014 long": lambda side, **how: score_of(halves(side), long_minus_short, **how),
    "translation_preprocessing pieces": lambda side, **how: score_of(
        totals(side, "bleu_pieces"), bleu, totals(side, "bleu"), **how
    ),
    "translation_preprocessing without-case": lambda side, **how: score_of(
        totals(side, "sacrebleu"), bleu, totals(side, "bleu_cased"), **how
    ),
    "vaswani2017 head-before": lambda side, **how: mean_of(best_heads(side, "before"), **how),
    "vaswani2017 head-noun": lambda side, **how: mean_of(noun_minus_second_word(side), **how),
    "vaswani2017 head-aligns": lambda side, **how: mean_of(best_heads(side, "lexicon"), **how),
    "vaswani2017 time": lambda a, b, **how: (minutes_to_best("vaswani2017", "transformer", "rnnsearch"),) * 3,
    "xu2015 points-random": lambda soft, random, **how: score_of(
        totals(soft, "nouns"), images.noun_rise(1), totals(random, "nouns"), **how
    ),
    "xu2015 raises": lambda side, **how: score_of(totals(side, "nouns"), images.noun_rise(2), **how),
    "yang2016 ave-max": lambda *groups, **how: level_within(0.5, groups, **how),
    "yang2016 context-good": lambda side, **how: score_of(weights_of(side, "good", 1), heavier, **how),
    "yang2016 context-bad": lambda side, **how: score_of(weights_of(side, "bad", 0), heavier, **how),
    "mikolov2013 meaning": at_best_epochs,
    "naver_preprocessing underspecified": widest,
    "naver_preprocessing underspecified-strong": widest,
    "naver_preprocessing leaks-copied": lambda base, without, **how: mean_of(
        (mean_right(base) - mean_right(without))[base[0]["seen_in_train"].astype(bool)], **how
    ),
    "naver_preprocessing pipelines": lambda *groups, **how: score_of(
        [np.stack([mean_right(group) / len(group[0]["right"]) for group in groups], axis=1)],
        lambda accuracy: extra_variation(accuracy, 6),
        **how,
    ),
    "naver_self_attention kinds": lambda *systems, **how: mean_of(
        averaged_right(*of_shared_seeds(*systems)) - mean_right(of_shared_seeds(*systems)[0]), **how
    ),
    "naver_self_attention readable-agreement": lambda side, **how: mean_of(unreadable(side, "agreement"), **how),
    "naver_self_attention readable-entropy": lambda side, **how: mean_of(-unreadable(side, "entropy"), **how),
}
for penalty in (0, 10, 20):
    MEASURED[f"kim2017 no-cost-{penalty}"] = lambda side, lstm, **how: score_of(
        images.allowed_errors(lstm, 0.05), images.error, images.steering_errors(side), **how
    )
for one in ("nsmc", "imdb"):
    MEASURED[f"lin2017 overlap-{one}"] = less_overlap
for one in ("", "-stop-words", "-words", "-list"):
    MEASURED[f"naver_preprocessing interaction{one}"] = more_together
for one in ("bengio2003 alike", "mikolov2013 alike-skip-gram", "mikolov2013 alike-cbow"):
    MEASURED[one] = lambda side, **how: mean_of(mean_array(side, "agreement") - mean_array(side, "chance"), **how)


OF_ALL_SEEDS = ("dosovitskiy2020 pooling", "mikolov2013 meaning", "translation_domains chosen", "vaswani2017 time")
"""Claims whose effect is computed above from the histories of all seeds together; their effects by seed are not."""

OF_EXTREMES: dict[str, Callable[[float], float]] = {
    "dosovitskiy2020 kind": lambda apart: 1.0 - apart,
    "yang2016 ave-max": lambda apart: 0.5 - apart,
    "naver_preprocessing underspecified": lambda apart: apart,
    "naver_preprocessing underspecified-strong": lambda apart: apart,
}
"""Claims on the best and the worst of several systems, which are chosen once for all seeds: their effect with a seed,
of the accuracy points by which these two are apart with it."""


def of_seed(paper: str, name: str, seed: str) -> list[Arrays]:
    """One side of a claim with one seed; a system without a random part has one outcome, which is used for every
    seed."""
    of, _, variant = name.rpartition("/")
    seeds = next(row["per_seed"] for row in results(of or paper)["rows"] if row["variant"] == variant)
    return [arrays(of or paper, variant, seed if seed in seeds else next(iter(seeds)))]


def extremes_apart(groups: Sequence[list[Arrays]], alone: Sequence[list[Arrays]]) -> float:
    """Accuracy with one seed: of the system that is best with all seeds, minus that of the worst."""
    means = [mean_right(group).mean() for group in groups]
    best, worst = (mean_right(alone[int(of(means))]).mean() for of in (np.argmax, np.argmin))
    return float(best - worst)


def check_claims(paper: str, *, interval: bool) -> None:
    declared = claims_by_id(papers.load(paper).claims)
    for claim in results(paper)["claims"]:
        name, declaration = f"{paper} {claim['id']}", declared[claim["id"]]
        given = sides(paper, *declaration.variants)
        measured = partial(better, metric=declaration.metric) if isinstance(declaration, Better) else MEASURED[name]
        effect, low, high = measured(*given, interval=interval)
        assert claim["effect"] == pytest.approx(effect, rel=1e-9, abs=1e-11), name
        if interval:
            assert claim["ci95_items"] == pytest.approx([low, high], rel=1e-9, abs=1e-11), name
        effects = list(claim["per_seed"].values())
        for seed, published in () if name in OF_ALL_SEEDS else claim["per_seed"].items():
            alone = [of_seed(paper, variant, seed) for variant in declaration.variants]
            if name in OF_EXTREMES:
                of_one = OF_EXTREMES[name](extremes_apart(given, alone))
            else:
                of_one, *_ = measured(*alone, interval=False)
            assert published == pytest.approx(of_one, rel=1e-9, abs=1e-11), (name, seed)
        if len(effects) > 1:
            assert (claim["p"] < 0.05) == (claim["verdict"] != "inconclusive"), name
            _, low, high = combined(effects, (claim["effect"], *claim["ci95_items"]))
            assert claim["ci95"] == pytest.approx([low, high], rel=1e-6), name
        low, high = (end - declaration.margin for end in claim["ci95"])
        of_interval = "supported" if low > 0 else "contradicted" if high < 0 else "inconclusive"
        assert claim["verdict"] in ((of_interval,) if len(effects) > 1 else (of_interval, "not judged")), name


def korean_document() -> str:
    return " ".join((ROOT / "docs" / "naver.ko.md").read_text(encoding="utf-8").split())
