"""What a Vision Transformer attends to, and what it learned of positions and patches (Dosovitskiy et al., 2021, sec.
4.5, app. D.7 and D.8)."""

from __future__ import annotations

import numpy as np


def attention_rollout(weights: np.ndarray, *, class_token: bool) -> np.ndarray:
    """Attention rollout: the share of each patch in the classified representation (Abnar and Zuidema, 2020, eq. 1).

    Weights are averaged over heads, the identity is added for the residual connection, rows are normalised, and the
    matrices of all layers are multiplied.

    Args:
        weights: (layers, images, heads, tokens, tokens), each row a distribution.
        class_token: whether the first token is classified; otherwise the mean of all tokens is.

    Returns:
        (images, patches), a distribution for each image.
    """
    _, images, _, tokens, _ = weights.shape
    rollout = np.broadcast_to(np.eye(tokens), (images, tokens, tokens))
    for of_layer in weights.astype(np.float64):
        mixed = of_layer.mean(axis=1) + np.eye(tokens)
        rollout = mixed / mixed.sum(axis=-1, keepdims=True) @ rollout
    patches = rollout[:, 0, 1:] if class_token else rollout.mean(axis=1)
    shares: np.ndarray = patches / patches.sum(axis=-1, keepdims=True)
    return shares


def attention_distance(weights: np.ndarray, grid: int, pixels: float, *, class_token: bool) -> np.ndarray:
    """Mean distance between the centre of a patch and the centres of the patches it attends to, weighted by attention
    (Figure 7, right, and Figure 11).

    Args:
        weights: (layers, images, heads, tokens, tokens).
        grid: number of rows (and of columns) of patches.
        pixels: distance in pixels between the centres of neighbouring patches.
        class_token: whether the first token is a class token; it is left out and the other weights are renormalised.

    Returns:
        (layers, heads) in pixels.
    """
    first = int(class_token)
    patches = weights[..., first:, first:].astype(np.float64)
    patches = patches / patches.sum(axis=-1, keepdims=True)
    centres = np.stack(np.divmod(np.arange(grid * grid), grid), axis=-1) * pixels
    distances = np.linalg.norm(centres[:, None] - centres, axis=-1)
    mean: np.ndarray = (patches * distances).sum(axis=-1).mean(axis=(1, 3))
    return mean


def position_similarity(vectors: np.ndarray) -> np.ndarray:
    """Cosine similarity of the learned embeddings of every two positions (Figure 7, centre).

    Args:
        vectors: (patches, units).

    Returns:
        (patches, patches).
    """
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    cosines: np.ndarray = unit @ unit.T
    return cosines


def principal_filters(weight: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The first principal components of the filters that embed patches (Figure 7, left).

    Args:
        weight: (units, channels, height, width).
        count: number of components.

    Returns:
        Components (count, height, width, channels) of norm 1, with the sign that makes the largest weight positive; and
        the share of the variance of each (count,).
    """
    flat = weight.reshape(len(weight), -1).astype(np.float64)
    _, singular, components = np.linalg.svd(flat - flat.mean(axis=0), full_matrices=False)
    components, share = components[:count], singular**2 / max(float((singular**2).sum()), 1e-300)
    largest = components[np.arange(len(components)), np.abs(components).argmax(axis=1)]
    components = components * np.sign(largest)[:, None]
    return components.reshape(-1, *weight.shape[1:]).transpose(0, 2, 3, 1), share[:count]
