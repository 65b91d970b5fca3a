"""Does attention point to the object that a word names? The attended features are passed to the ImageNet classifier.

The classifier of the feature network is linear in the mean of its last grid. With the attention weights of a word in
place of equal weights, it classifies what the word attends to. For nouns that are ImageNet classes, the probability of
the class is compared with a chance level: the same image with the weights of nouns in other images, which share any
preference for the centre.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gluon_attn.models.efficientnet import CLASSES, GRID, LAST
from reproductions.tasks.captioning import image_features
from reproductions.tasks.captioning.decoding import Caption
from reproductions.tasks.captioning.image_features import Features

CLASSES_OF: dict[str, tuple[int, ...]] = {
    "dog": tuple(range(151, 269)),
    "dogs": tuple(range(151, 269)),
    "bird": (*range(7, 25), *range(80, 101), *range(127, 147)),
    "birds": (*range(7, 25), *range(80, 101), *range(127, 147)),
    "cat": tuple(range(281, 286)),
    "horse": (339,),
    "bike": (444, 671),
    "bicycle": (444, 671),
    "motorcycle": (665, 670),
    "car": (436, 468, 511, 609, 627, 656, 661, 751, 817),
    "truck": (555, 569, 675, 717, 864, 867),
    "bus": (654, 779, 874),
    "train": (466, 547, 705, 820, 829),
    "boat": (472, 554, 576, 625, 814, 871, 914),
    "canoe": (472,),
    "kayak": (472,),
    "basketball": (430,),
    "football": (560,),
    "soccer": (805,),
    "tennis": (752, 852),
    "volleyball": (890,),
    "baseball": (429, 981),
    "ball": (429, 430, 522, 574, 722, 768, 805, 852, 890),
    "snow": (537, 795, 802, 970),
    "mountain": (970, 972),
    "cliff": (972,),
    "beach": (977, 978),
    "ocean": (977, 978),
    "lake": (975,),
    "fence": (489, 716, 912),
    "bench": (703,),
    "swing": (843,),
    "fountain": (562,),
    "hat": (515, 808),
    "helmet": (518, 560),
    "sunglasses": (836, 837),
    "bikini": (445,),
    "camera": (732, 759),
    "tent": (672,),
    "umbrella": (879,),
    "guitar": (402, 546),
    "bridge": (821, 839),
    "flag": (557,),
    "bubbles": (971,),
}
"""ImageNet classes of a noun, by their indices in ILSVRC 2012 (checked against the list of Keras's models)."""

_OTHERS = 10
"""Number of other nouns whose weights give the chance level."""


def attended_classes(captions: Sequence[Caption], last: Features, grid: str) -> np.ndarray:
    """How much attention raises the class probability of the nouns in captions.

    Args:
        captions: captions of all images of a split, with attention weights.
        last: the last feature grid of the same images.
        grid: name of the grid that the weights are over.

    Returns:
        (images, 4): summed over the nouns of each caption that are classes, the probability of the class with the
        word's own weights, with the weights of nouns in other images, and with equal weights; and the number of nouns.
    """
    images, nouns, weights = [], [], []
    for image, caption in enumerate(captions):
        assert caption.weights is not None
        for word, row in zip(caption.words, caption.weights, strict=False):
            if word in CLASSES_OF:
                images.append(image)
                nouns.append(word)
                weights.append(_on_last_grid(row, grid))
    sums = np.zeros((len(captions), 4))
    if not nouns:
        return sums
    own = np.stack(weights)
    named = np.zeros((len(nouns), CLASSES), bool)
    for number, noun in enumerate(nouns):
        named[number, list(CLASSES_OF[noun])] = True
    of_image = np.array(images)
    features = last.rows(of_image)  # (nouns, positions, channels)
    equal = np.full_like(own, 1 / own.shape[1])
    columns = [_probability(features, own, named), _of_others(features, own, named, of_image)]
    columns += [_probability(features, equal, named), np.ones(len(nouns))]
    np.add.at(sums, of_image, np.stack(columns, axis=1))
    return sums


def _of_others(features: np.ndarray, own: np.ndarray, named: np.ndarray, images: np.ndarray) -> np.ndarray:
    """Mean class probability with the weights of nouns in other images; with equal weights if there is no other."""
    totals, tried = np.zeros(len(own)), np.zeros(len(own))
    for distance in range(1, _OTHERS + 1):
        shift = distance * max(1, len(own) // (_OTHERS + 1))
        is_other = np.roll(images, shift) != images
        totals += is_other * _probability(features, np.roll(own, shift, axis=0), named)
        tried += is_other
    alone = _probability(features, np.full_like(own, 1 / own.shape[1]), named)
    return np.where(tried > 0, totals / np.maximum(tried, 1), alone)


def _probability(features: np.ndarray, weights: np.ndarray, named: np.ndarray) -> np.ndarray:
    """Probability of the classes of each noun with these weights: (nouns,)."""
    pooled = np.einsum("npc,np->nc", features, weights)
    probabilities = image_features.network().classify(pooled)
    return np.asarray((probabilities * named).sum(axis=1), np.float64)


def _on_last_grid(weights: np.ndarray, grid: str) -> np.ndarray:
    """Weights of a finer grid, summed over the cells of the last grid."""
    side = GRID[LAST]
    factor = GRID[grid] // side
    return np.asarray(weights.reshape(side, factor, side, factor).sum(axis=(1, 3)).ravel(), np.float32)
