"""Rows, effects, figures and pages from outcomes of classification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gluon_attn.evaluation.statistics import bootstrap
from gluon_attn.plots.curves import training_curves as draw_training_curves
from preprocessing.pipeline.ragged import strings_in
from reproductions.attention_viewer import viewer
from reproductions.attention_viewer.viewer import Review
from reproductions.protocol.claims import Effect
from reproductions.protocol.reported import Reported
from reproductions.protocol.reproduction import Draw, Ensemble, Groups
from reproductions.protocol.results import Row
from reproductions.protocol.rows import alone, row, validation_row
from reproductions.protocol.runs import Outcome
from reproductions.protocol.task import Column, Evaluation, Variant
from reproductions.tasks.classification.accuracy import CLUSTER, clusters_of, per_cent, share_right
from reproductions.tasks.classification.published_examples import examples_with_split

WHOLE = 1_000
"""Number of texts up to which a page has all of them."""
COLUMNS = (
    Column("accuracy, %", "accuracy", "empty ones left out"),
    Column("without train/test duplicates", "accuracy", "does not occur in train"),
)


def rows(outcomes: Sequence[Outcome], variant: Variant[Any], items: str) -> list[Row]:
    """Return accuracy in per cent on test, on the test texts that are not in train if some are, and on validation. The
    reported number is next to the first.

    Intervals are bootstrapped over texts, or over clusters of them; the interval of validation is the range over seeds.
    """
    unseen, clusters = ~outcomes[0].predictions["seen_in_train"], clusters_of(outcomes)
    counted = [(np.ones(len(unseen), bool), f"{len(unseen)} test {items}, the empty ones left out")]
    if unseen.any():
        counted.append((unseen, f"{int(unseen.sum())} test {items} whose text does not occur in train"))
    made = []
    for chosen, signature in counted:
        of_chosen = None if clusters is None else clusters[chosen]
        interval = bootstrap(share_right(outcomes)[chosen], seed=0, clusters=of_chosen)
        values = [per_cent(outcome.predictions["right"][chosen]) for outcome in outcomes]
        if outcomes[0].is_ensemble:
            values = [interval.mean]  # equal up to the last bit; published results have this value
        given = {"split": "test", "metric": "accuracy", "signature": signature}
        made.append(row(outcomes, variant, **given, values=values, ci95=interval))
    made[1:] = map(alone, made[1:])
    return made if outcomes[0].is_ensemble else [*made, validation_row(outcomes, variant, "accuracy")]


def combined(members: Sequence[Outcome]) -> Evaluation:
    """Evaluate the ensemble of several seeds, whose probabilities are the mean of theirs."""
    first = members[0].predictions
    probability = np.mean([member.predictions["probability"] for member in members], axis=0)
    predicted = probability > 0.5 if probability.ndim == 1 else probability.argmax(axis=1)
    right = predicted == first["label"]
    arrays = {name: first[name] for name in ("label", "seen_in_train", CLUSTER) if name in first}
    return Evaluation({"accuracy": per_cent(right)}, {"probability": probability, "right": right, **arrays})


def gained_by_averaging(first: Sequence[Outcome], *others: Sequence[Outcome]) -> Effect | None:
    """Gain of the first system in accuracy points if the probabilities of one network of each other system are averaged
    with those of its own, for the seeds that all have; None if there is none."""
    systems = [{outcome.seed: outcome for outcome in system} for system in (first, *others)]
    together = [[system[seed] for system in systems] for seed in systems[0] if all(seed in each for each in systems)]
    if not together:
        return None
    right = np.mean([combined(members).predictions["right"] for members in together], axis=0)
    alone = np.mean([members[0].predictions["right"] for members in together], axis=0)
    return Effect(bootstrap(100.0 * (right - alone), seed=0), "accuracy points, averaged minus alone", "reviews")


def averaged(members: str, beside: Reported | None = None, seeds: tuple[int, ...] = ()) -> Ensemble:
    """Return the ensemble of a variant, of all seeds or of these, called ``<members>-averaged``."""
    of = f"seeds {seeds[0]} to {seeds[-1]}" if seeds else "all seeds"
    name = f"{members}-averaged"
    title = f"the probabilities of {of if seeds else 'all its seeds'}, averaged"
    differs = f"the networks of {of}, their probabilities averaged"
    return Ensemble(name, title, members, beside, differs=differs, seeds=seeds)


def training_curves(outcomes: Mapping[str, Outcome], path: Path, *, train_label: str = "train") -> None:
    """Draw loss and validation accuracy."""
    curves = {name: outcome.record["history"] for name, outcome in outcomes.items()}
    draw_training_curves(curves, path, train_label=train_label)


BACK = ("attention.html", "Attention of the published examples")
"""The page of the explorer from which the published reading pages are linked."""


def reading_page(title: str, *variants: str, every: int = 1) -> Draw:
    """Write the page on which test texts can be searched and read with the weights of one network, that of the first
    trained variant.

    Args:
        title: title of the paper.
        variants: names of variants with attention.
        every: only every n-th text is on the page, if there are more than :data:`WHOLE`: all of them would be too many
            for a browser.
    """

    def write(groups: Groups, directory: Path) -> dict[str, Path]:
        trained = [groups[name][0] for name in variants if name in groups]
        if not trained or not trained[0].texts:
            return {}
        path = directory / "reviews.html"
        _write_reading_page(trained[0], path, title, every if len(trained[0].texts["token_counts"]) > WHOLE else 1)
        return {"reading page": path}

    return write


def _write_reading_page(outcome: Outcome, path: Path, title: str, every: int) -> None:
    arrays, texts = outcome.predictions, outcome.texts
    symbols, test_texts = strings_in(texts, "symbols"), strings_in(texts, "text")
    ends = np.cumsum(texts["token_counts"])
    probabilities = arrays["probability"]
    if probabilities.ndim == 1:
        probabilities = np.stack([1 - probabilities, probabilities], axis=1)
    predicted = probabilities.argmax(axis=1)
    reviews = [_featured(outcome.examples["featured"])] if "featured" in outcome.examples else []
    for number in range(0, len(test_texts), every):
        chosen = slice(ends[number] - texts["token_counts"][number], ends[number])
        reviews.append(
            Review(
                id=str(texts["row_id"][number]),
                tokens=[symbols[symbol] for symbol in texts["tokens"][chosen]],
                weights=texts["token_weights"][chosen],
                predicted=int(predicted[number]),
                probability=float(probabilities[number, predicted[number]]),
                label=int(arrays["label"][number]),
                text=test_texts[number],
                in_train=bool(arrays["seen_in_train"][number]),
            )
        )
    note = _note(outcome)
    if every > 1:
        note["shown"] = f"one in {every} of the {len(test_texts)} test texts"
    labels, language = texts["labels"].tolist(), str(texts["language"])
    title = _title_of(outcome, title)
    viewer.write(path, title=title, reviews=reviews, note=note, labels=labels, language=language)


def write_published_page(outcome: Outcome, path: Path, title: str, labels: Sequence[str], language: str) -> bool:
    """Write the reading page of the test texts whose tokens and weights an outcome publishes; return false if
    there are none."""
    of_test = [each for split, each in examples_with_split(outcome) if split == "test"]
    examples = [each for each in of_test if {"tokens", "weights", "probabilities"} <= each.keys()]
    # A text may be published twice, once with all its weights.
    examples.sort(key=lambda each: "matrix" in each)
    chosen: dict[Any, dict[str, Any]] = {each.get("row"): each for each in examples}
    reviews = [_featured(chosen.pop(None))] if None in chosen else []
    for number, example in sorted(chosen.items()):
        reviews.append(
            Review(
                id=f"test text {number + 1}",
                tokens=example["tokens"],
                weights=example["weights"],
                predicted=example["predicted"],
                probability=max(example["probabilities"]),
                label=int(outcome.predictions["label"][number]),
                in_train=bool(outcome.predictions["seen_in_train"][number]),
                matrix=example.get("matrix"),
            )
        )
    if not reviews:
        return False
    note = _note(outcome) | {"shown": f"{len(chosen)} of the {len(outcome.predictions['label'])} test texts"}
    looks: dict[str, Any] = {"labels": labels, "language": language, "back": BACK}
    viewer.write(path, title=_title_of(outcome, title), reviews=reviews, note=note, **looks)
    return True


def _title_of(outcome: Outcome, title: str) -> str:
    """The title of a reading page, which names the network: a paper may have several pages."""
    return f"Texts read by {outcome.variant}: {title}"


def _note(outcome: Outcome) -> dict[str, str]:
    return {
        "model": f"{outcome.variant}, seed {outcome.seed}",
        "corpus": outcome.record["corpus"],
        "digest": outcome.record["pipeline"],
        "parameters SHA-256": outcome.record["parameters_sha256"],
    }


def _featured(example: Mapping[str, Any]) -> Review:
    return Review(
        id=example["name"],
        tokens=example["tokens"],
        weights=example["weights"],
        predicted=example["predicted"],
        probability=max(example["probabilities"]),
        text=example["text"],
        matrix=example["matrix"],
        is_example=True,
    )
