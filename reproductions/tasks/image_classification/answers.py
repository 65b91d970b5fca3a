"""Classifying image files with a trained network."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from mxnet import nd

from gluon_attn.errors import UsageError
from gluon_attn.evaluation import vision
from gluon_attn.models.vision_transformer import VisionTransformer
from gluon_attn.plots.image_attention import Panel, draw
from preprocessing import cifar10
from preprocessing.errors import InputError
from preprocessing.files import printable
from reproductions.protocol.task import AnswerOptions, TrainedModel


def answer_image(trained: TrainedModel[Any, Any], path: Path, number: int, options: AnswerOptions) -> str:
    """Return the answer for an image file, the ``number``-th: the ``options.n_best`` most probable classes, each
    followed by its probability, separated by tabs; with ``options.json``, an object with the probability of each class.
    The image is resized regardless of its aspect ratio.

    Raises:
        InputError: if the file is missing or not an image.
    """
    labels = trained.data.labels
    pixels = read_image(trained, path)
    probabilities = nd.softmax(trained.model(nd.array(trained.data.prepared.inputs(pixels)))).asnumpy()[0]
    order = np.argsort(-probabilities, kind="stable")
    if options.json:
        by_label = {label: round(float(value), 6) for label, value in zip(labels, probabilities, strict=True)}
        best = labels[order[0]]
        record = {"line": number, "image": printable(path), "label": best, "probabilities": by_label}
        return json.dumps(record, ensure_ascii=False)
    return "\t".join(f"{labels[label]}\t{probabilities[label]:.4f}" for label in order[: options.n_best])


def read_image(trained: TrainedModel[Any, Any], path: Path) -> np.ndarray:
    """Read the pixels (1, size, size, 3) of an image file as inputs of the network.

    Raises:
        InputError: if the file is missing or not an image.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(path, error.strerror or "cannot be read", remedy="name an image file") from error
    try:
        return cifar10.encode(trained.data.prepared, [raw])
    except InputError as error:
        raise InputError(path, error.reason, remedy=error.remedy) from error


def require_attention(trained: TrainedModel[Any, Any]) -> None:
    """Raise UsageError if a network has no attention to draw."""
    if not isinstance(trained.model, VisionTransformer):
        name = trained.variant.name
        raise UsageError(f"variant {name} has no attention to draw; choose another --variant, or leave out --attention")


def draw_attention(trained: TrainedModel[Any, Any], paths: Sequence[Path], target: Path) -> None:
    """Draw images with the attention of the network (rollout over all layers) as brightness, each with its class.

    Raises:
        UsageError: if the network has no attention.
        InputError: if a file is missing or not an image.
    """
    require_attention(trained)
    panels = []
    for path in paths:
        pixels = read_image(trained, path)
        logits, weights = trained.model.attend(nd.array(trained.data.prepared.inputs(pixels)))
        shares = vision.attention_rollout(weights.asnumpy(), class_token=trained.model.has_class_token)[0]
        label = trained.data.labels[int(logits.asnumpy().argmax())]
        panels.append(Panel(pixels[0], shares.reshape(trained.model.grid, -1), f"{path.name}: {label}"))
    draw(panels, target)
