"""Attention, position embeddings and filters of a trained Vision Transformer: measured on the test split, and drawn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from mxnet import nd

from gluon_attn.evaluation import vision
from gluon_attn.models.vision_transformer import VisionTransformer
from gluon_attn.plots import vision as plots
from gluon_attn.plots.image_attention import Panel, draw
from reproductions.html.embedded_images import as_text, compressed, pixels_of
from reproductions.protocol.reproduction import Draw, Groups
from reproductions.tasks.image_classification.task import EvaluatedImageModel

SHOWN = 12
"""Number of test images shown with their attention."""

MEASURED = 128
"""Number of test images over which attention distances are averaged."""

FILTERS = 28
"""Number of principal components of the patch embedding that are shown, as in the paper."""


def inspect(evaluated: EvaluatedImageModel) -> dict[str, Any]:
    """Examples of an evaluation: ``rollout``, images with the share of each patch; ``distance`` (layers, heads), mean
    attention distance in pixels; and, if the network has them, ``similarity`` (patches, patches) of its position
    embeddings, and ``filters`` with ``filter_shares``."""
    model: VisionTransformer = evaluated.model
    test, shape = evaluated.test, {"class_token": model.has_class_token}
    rows = np.linspace(0, len(test) - 1, min(MEASURED, len(test))).astype(int)
    _, weights = model.attend(nd.array(evaluated.data.prepared.inputs(test.decoded[rows])))
    weights = weights.asnumpy()
    shown = range(0, len(rows), -(-len(rows) // SHOWN))
    shares = vision.attention_rollout(weights[:, shown], **shape).reshape(len(shown), model.grid, model.grid)
    labels, predicted = evaluated.data.labels, evaluated.probabilities.argmax(axis=1)
    examples: dict[str, Any] = {
        "rollout": [
            {
                "row_id": str(test.row_id[rows[number]]),
                "png": as_text(compressed(test.decoded[rows[number]], "png", optimize=True)),
                "label": labels[test.label[rows[number]]],
                "predicted": labels[predicted[rows[number]]],
                "shares": np.round(share, 5).tolist(),
            }
            for number, share in zip(shown, shares, strict=True)
        ],
        "distance": np.round(
            vision.attention_distance(weights, model.grid, evaluated.data.size / model.grid, **shape), 3
        ).tolist(),
    }
    if (vectors := model.position_vectors()) is not None:
        examples["similarity"] = np.round(vision.position_similarity(vectors), 3).tolist()
    if (filters := model.patch_filters()) is not None:
        components, variance = vision.principal_filters(filters, FILTERS)
        examples["filters"] = np.round(components, 4).tolist()
        examples["filter_shares"] = np.round(variance, 4).tolist()
    return examples


def rollouts(*variants: str) -> Draw:
    """Draw test images with the attention rollout of the first seed of each network (Figure 6)."""

    def draw_rollouts(groups: Groups, directory: Path) -> dict[str, Path]:
        drawn = {}
        for name in _with_example(groups, variants, "rollout"):
            panels = []
            for example in groups[name][0].examples["rollout"]:
                image = pixels_of(example["png"])
                right = example["label"] == example["predicted"]
                title = example["label"] if right else f"{example['label']} (as {example['predicted']})"
                panels.append(Panel(image, np.array(example["shares"]), title))
            path = directory / f"rollout_{name}.png"
            draw(panels, path)
            drawn[f"what `{name}` attends to: rollout over all layers (Figure 6)"] = path
        return drawn

    return draw_rollouts


def positions_and_filters(*variants: str) -> Draw:
    """Draw the similarity of position embeddings and the principal filters of the first seed of each network (Figure
    7)."""

    def draw_learned(groups: Groups, directory: Path) -> dict[str, Path]:
        drawn = {}
        for name in _with_example(groups, variants, "similarity"):
            path = directory / f"positions_{name}.png"
            plots.position_similarity(np.array(groups[name][0].examples["similarity"]), path)
            drawn[f"similarity of the positions of `{name}` (Figure 7)"] = path
        for name in _with_example(groups, variants, "filters"):
            examples, path = groups[name][0].examples, directory / f"filters_{name}.png"
            plots.filters(np.array(examples["filters"]), np.array(examples["filter_shares"]), path)
            drawn[f"principal filters of the patches of `{name}`, with their share of the variance (Figure 7)"] = path
        return drawn

    return draw_learned


def attention_distances(*variants: str) -> Draw:
    """Draw the mean attention distance of every head of the first seed of each network (Figure 11)."""

    def draw_distances(groups: Groups, directory: Path) -> dict[str, Path]:
        names = _with_example(groups, variants, "distance")
        if not names:
            return {}
        path = directory / "attention_distance.png"
        plots.attention_distance({name: np.array(groups[name][0].examples["distance"]) for name in names}, path)
        return {"mean attention distance by depth (Figure 11)": path}

    return draw_distances


def _with_example(groups: Groups, variants: Sequence[str], example: str) -> list[str]:
    return [name for name in variants if name in groups and example in groups[name][0].examples]
