"""Figures of classification, from the outcomes of the variants that they are asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gluon_attn.plots.distributions import entropy_and_agreement
from gluon_attn.plots.heatmap import attention_matrix
from reproductions.protocol.reproduction import Draw, Groups


def attention_of_featured(*variants: str) -> Draw:
    """The featured text of each of these variants with its whole matrix of weights, of two classes."""

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        paths = {}
        for outcome in (groups[name][0] for name in variants if name in groups):
            for example in outcome.examples.get("featured", ())[:1]:
                name = outcome.variant
                probability = example["probabilities"][1]
                title = f"{name}: positive with probability {probability:.2f} ({outcome.record['corpus']})"
                padding = 1 - float(np.array(example["weights"], np.float32).sum())
                if padding > 0.005:
                    title += f"; {padding:.0%} of the weight is on padding"
                path = paths[f"attention of {name}"] = directory / f"attention_{name}.png"
                matrix = np.array(example["matrix"], np.float32)
                attention_matrix(example["tokens"], example["tokens"], matrix, path, title)
        return paths

    return draw


def faithfulness_by_epoch(variant: str) -> Draw:
    """Entropy and agreement of the weights at the best epoch and at the last."""

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        if variant not in groups:
            return {}
        arrays, record = groups[variant][0].predictions, groups[variant][0].record
        epochs = {f"best epoch ({record['best_epoch']})": "best", f"last epoch ({len(record['history'])})": "last"}
        entropy, agreement = (
            {title: arrays[f"{what}_{when}"] for title, when in epochs.items()} for what in ("entropy", "agreement")
        )
        path = directory / "readability.png"
        entropy_and_agreement(entropy, agreement, path)
        return {"readability": path}

    return draw
