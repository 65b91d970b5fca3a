"""Batches of captions, likelihoods of captions, and beam search for captions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gluon_attn import runtime
from gluon_attn.decoding.beam_search import beam_search
from gluon_attn.models.encoder_decoder import EncoderDecoder
from gluon_attn.training.objective import Batch
from preprocessing.text.vocabulary import BEGIN_ID, END_ID, Vocabulary
from reproductions.tasks import teacher_forcing
from reproductions.tasks.captioning.data import CaptionData
from reproductions.tasks.captioning.image_features import Features

STEPS_MULTIPLE = 2
"""Captions of a batch are padded to a multiple of this length, since each length is a compiled graph."""

LONGEST = 25
"""Maximum number of words of a generated caption."""

_IMAGES = 64


@dataclass(frozen=True, eq=False)
class Caption:
    """A generated caption.

    Attributes:
        words: its words, without begin and end.
        log_p: ln p of its words and the end.
        weights: (words or one more, positions), including those of the end if it was generated; None without attention.
    """

    words: list[str]
    log_p: float
    weights: np.ndarray | None

    @property
    def text(self) -> str:
        return " ".join(self.words)


def batch(features: np.ndarray, captions: Sequence[np.ndarray]) -> Batch:
    """Return the inputs of one step and, as its target, the number of words including ends, which divides the loss."""
    begun, ended, words = teacher_forcing.begun_and_ended(captions, STEPS_MULTIPLE)
    positions = np.full(len(features), features.shape[1], np.float32)
    return Batch((features, positions, begun, ended), words)


def image_of_row(data: CaptionData, split: str) -> np.ndarray:
    """Return the index of the image of each caption of a split, (captions,)."""
    numbers = np.zeros(len(data.prepared.splits[split]), np.int64)
    for number, rows in enumerate(data.prepared.images(split).rows):
        numbers[rows] = number
    return numbers


def caption_images(
    model: EncoderDecoder,
    vocabulary: Vocabulary,
    features: Features | np.ndarray,
    *,
    beam: int,
    alpha: float = 0.0,
    excluded: Sequence[int] = (),
) -> list[Caption]:
    """Caption images by beam search, in batches.

    Args:
        model: the trained network.
        vocabulary: its vocabulary.
        features: features of a split, or (rows, positions, channels) float32.
        beam, alpha: beam size and exponent of the length penalty.
        excluded: ids of words that are never generated.
    """
    runtime.seed_all(runtime.derive(0, "captions"))  # random attention draws noise
    captions: list[Caption] = []
    for rows in _batches(features):
        hypotheses = beam_search(
            [model],
            rows,
            np.full(len(rows), rows.shape[1], np.float32),
            beam=beam,
            alpha=alpha,
            max_steps=LONGEST,
            begin=BEGIN_ID,
            end=END_ID,
            excluded=excluded,
        )
        for best, *_ in hypotheses:
            captions.append(Caption(vocabulary.tokens(best.ids), best.log_p, best.weights))
    return captions


def _batches(features: Features | np.ndarray) -> Iterator[np.ndarray]:
    rows = len(features.names) if isinstance(features, Features) else len(features)
    for start in range(0, rows, _IMAGES):
        numbers = np.arange(start, min(start + _IMAGES, rows))
        yield features.rows(numbers) if isinstance(features, Features) else features[numbers]


def likelihoods(model: EncoderDecoder, data: CaptionData, split: str) -> np.ndarray:
    """Return -ln p in nats and the number of words including the end for each caption of a split, (captions, 2)."""
    runtime.seed_all(runtime.derive(0, "likelihoods"))
    captions = data.prepared.splits[split]
    ids, images, features = captions.sequences(), image_of_row(data, split), data.features(split)

    def batch_of(rows: np.ndarray) -> Batch:
        return batch(features.rows(images[rows]), [ids[row] for row in rows])

    return teacher_forcing.likelihoods(model, captions.lengths, batch_of)
