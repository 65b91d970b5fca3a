"""Several hops of attention over a text: their overlap, their penalty, and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gluon_attn.evaluation.hops import least_penalty, overlap
from gluon_attn.evaluation.statistics import bootstrap
from gluon_attn.plots import highlighted_text
from gluon_attn.plots.curves import score_by_length
from gluon_attn.plots.heatmap import attention_matrix, fits
from gluon_attn.plots.highlighted_text import Paragraph
from reproductions.protocol.claims import Effect
from reproductions.protocol.reproduction import Draw, Groups
from reproductions.protocol.runs import Outcome
from reproductions.tasks.classification.accuracy import clusters_of, drawn
from reproductions.tasks.classification.predictions import classify
from reproductions.tasks.classification.task import EvaluatedModel, MeasurementResult


def measure_hops(evaluated: EvaluatedModel) -> MeasurementResult:
    """Measure networks with two or more hops on each test text: ``token_counts``, the number of tokens read;
    ``overlap``, the overlap of hops, and ``cost``, the penalty without its coefficient, both float16 and NaN for a text
    without tokens."""
    data = evaluated.data
    matrices = classify(evaluated.model, data.inputs, data.inputs.texts(evaluated.test), matrices=True).matrices
    if max(len(weights) for weights in matrices) < 2:
        return MeasurementResult()
    shared, cost = (np.full(len(matrices), np.nan, np.float16) for _ in range(2))
    for row, weights in enumerate(matrices):
        if weights.shape[1]:
            shared[row] = overlap(weights[None])[0]
            cost[row] = np.square(weights @ weights.T - np.eye(len(weights))).sum()
    counts = np.array([weights.shape[1] for weights in matrices])
    return MeasurementResult({"token_counts": counts, "overlap": shared, "cost": cost})


def less_overlap(free: Sequence[Outcome], strict: Sequence[Outcome]) -> Effect:
    """Decrease of the overlap of hops through the penalty; texts without tokens are left out."""
    without, with_penalty = (
        np.stack([outcome.predictions["overlap"] for outcome in side]).mean(axis=0, dtype=np.float64)
        for side in (free, strict)
    )
    clusters, measured = clusters_of(free), np.isfinite(without)
    of_measured = None if clusters is None else clusters[measured]
    estimate = bootstrap((without - with_penalty)[measured], seed=0, clusters=of_measured)
    return Effect(estimate, "what two hops share, without penalty minus with", drawn("reviews", clusters))


def hops_of_review(*variants: str, tokens: int) -> Draw:
    """Draw a test text of about this length with a row of weights for each hop: the same text for all of these
    variants, one that all of them classify correctly if there is one. Nothing if it is too long for a figure."""

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        outcomes = [groups[name][0] for name in variants if name in groups]
        paths = {}
        for outcome, examples in zip(outcomes, _chosen(outcomes, tokens, 1), strict=True):
            if not examples or not fits(examples[0]["matrix"]):
                return {}
            example = examples[0]
            path = paths[f"hops of {outcome.variant}"] = directory / f"hops_{outcome.variant}.png"
            weights = np.array(example["matrix"], np.float32)
            corpus = outcome.record["corpus"]
            attention_matrix(
                [f"hop {hop}" for hop in range(1, len(weights) + 1)],
                example["tokens"],
                weights,
                path,
                f"{outcome.variant}: {_answer(example)} (test example {example['row'] + 1}, {corpus})",
                axis_labels=("hop", "token"),
            )
        return paths

    return draw


def summed_hops(corpus: str, *variants: str, tokens: int, count: int) -> Draw:
    """Draw some test texts of about this length with the sum of the hops of each of these variants, without and with
    the penalty; nothing unless all variants are trained."""

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        outcomes = [groups[name][0] for name in variants if name in groups]
        paragraphs = []
        for outcome, examples in zip(outcomes, _chosen(outcomes, tokens, count), strict=True):
            for example in examples:
                weights = np.array(example["weights"], np.float32)
                heading = f"{outcome.variant}, test example {example['row'] + 1}: {_answer(example)}"
                # Darkest at four times the uniform weight or more, so that nearly uniform weights stay pale.
                darkest = max(weights.max(), 4 / len(weights))
                paragraphs.append(Paragraph(example["tokens"], weights / darkest, heading=heading))
        if len(outcomes) < len(variants) or not paragraphs:
            return {}
        path = directory / f"summed_hops_{corpus}.png"
        title = f"The sum of all hops, without penalty and with ({outcomes[0].record['corpus']})"
        highlighted_text.draw(paragraphs, path, title)
        return {f"summed hops, {corpus}": path}

    return draw


def _chosen(outcomes: Sequence[Outcome], tokens: int, count: int) -> list[list[Mapping[str, Any]]]:
    """Select the same examples of about this length for each outcome: first the nearest ones that all networks classify
    correctly, then others, in the order of the corpus."""
    if not outcomes or not all(f"of_length_{tokens}" in outcome.examples for outcome in outcomes):
        return [[] for _ in outcomes]
    each: list[list[Mapping[str, Any]]] = [outcome.examples[f"of_length_{tokens}"] for outcome in outcomes]
    right = np.array(
        [[outcome.predictions["right"][example["row"]] for example in each[0]] for outcome in outcomes]
    ).all(axis=0)
    chosen = sorted(np.argsort(~right, kind="stable")[:count], key=lambda number: int(each[0][number]["row"]))
    return [[examples[number] for number in chosen] for examples in each]


def _answer(example: Mapping[str, Any]) -> str:
    return f"{example['label']}, {max(example['probabilities']):.2f}"


def penalty_by_length(*variants: str, hops: int) -> Draw:
    """Draw the mean of ||A A^T - I||_F^2 over the test texts of each length, of the first seed of each variant, next to
    its minimum for the number of hops.
    """

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        outcomes = [groups[name][0] for name in variants if name in groups]
        if not outcomes:
            return {}
        all_lengths = outcomes[0].predictions["token_counts"]
        lengths = np.array([tokens for tokens in range(1, 21) if tokens in all_lengths])
        lines = {}
        for outcome in outcomes:
            cost, tokens = (outcome.predictions[name] for name in ("cost", "token_counts"))
            lines[outcome.variant] = [float(cost[tokens == length].mean(dtype=np.float64)) for length in lengths]
        path = directory / "penalty_by_length.png"
        score_by_length(
            lines,
            [str(length) for length in lengths],
            path,
            f"Penalty of {hops} hops",
            length_label="length of the review (tokens)",
            bounds={"minimum": least_penalty(lengths, hops).tolist()},
        )
        return {"penalty by length": path}

    return draw
