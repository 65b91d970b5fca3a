"""Feature grids of the images of a corpus, computed once by a pretrained network and cached in shards on disk.

A shard is written completely or not at all, so a killed extraction resumes where it stopped. The name of the cache
folder depends on the network's weights, the images, the rule for reading them and their order; if any of these changes,
features are computed again.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from mxnet import nd
from tqdm import tqdm

from gluon_attn.errors import UsageError
from gluon_attn.models import efficientnet
from gluon_attn.models.efficientnet import CHANNELS, GRID, LAST, MIDDLE, EfficientNetLite0
from preprocessing.errors import InputError
from preprocessing.files import atomic_file
from preprocessing.flickr8k import CaptionResult
from preprocessing.pipeline import cache as result_cache

SHARD, BATCH = 500, 20
"""Number of images in a shard, and in a batch."""

_FORMAT = 2


@dataclass(frozen=True, eq=False)
class Features:
    """The features of the images of one split.

    Attributes:
        names: names of the images.
        shards: arrays (images, positions, channels) of float16, memory-mapped.
    """

    names: tuple[str, ...]
    shards: tuple[np.ndarray, ...]

    def rows(self, images: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the features of some images, (images, positions, channels) float32."""
        return np.stack([self.shards[image // SHARD][image % SHARD] for image in images]).astype(np.float32)


@cache
def network() -> EfficientNetLite0:
    """Return the feature network, loaded once."""
    return efficientnet.pretrained()


def extract(pixels: np.ndarray, inputs: Callable[[np.ndarray], np.ndarray], grid: str) -> np.ndarray:
    """Compute the feature grid of images, (rows, positions, channels) float16; positions are row by row.

    Args:
        pixels: (rows, size, size, 3) uint8.
        inputs: converts pixels to the inputs that the network expects.
        grid: ``stride-16`` or ``stride-32``.
    """
    batches = []
    for start in range(0, len(pixels), BATCH):
        batch = pixels[start : start + BATCH]
        # Every new shape needs a new graph, so the last batch is filled up.
        filled = np.concatenate([batch, np.repeat(batch[-1:], BATCH - len(batch), axis=0)])
        middle, last, _ = network()(nd.array(inputs(filled)))
        maps = {MIDDLE: middle, LAST: last}[grid].asnumpy()[: len(batch)]
        batches.append(maps.reshape(len(batch), CHANNELS[grid], -1).transpose(0, 2, 1).astype(np.float16))
    return np.concatenate(batches)


def of_split(prepared: CaptionResult, split: str, grid: str) -> Features:
    """Return the features of the images of a split, from disk if they were computed before.

    Raises:
        InputError: if an image is damaged, or the shards cannot be written.
        UsageError: if the weights of the network are missing, or there are none for this grid.
    """
    if grid not in GRID:
        remedy = f"choose a variant whose grid is {' or '.join(GRID)}"
        raise UsageError(f"features {grid!r}: there is no network here to compute them; {remedy}")
    names = prepared.images(split).names
    folder = result_cache.path_of(f"features-{grid}", _key(prepared, names, grid)).with_suffix("")
    starts = range(0, len(names), SHARD)
    with result_cache.locked(folder / "all.npz"):
        missing = [start for start in starts if _shard(folder, start, _shape(names, start, grid)) is None]
        bar = tqdm(
            total=sum(len(names[start : start + SHARD]) for start in missing),
            desc=f"features of {split} at {grid}",
            unit="image",
            leave=False,
            disable=not sys.stderr.isatty(),
        )
        for start in missing:
            part = names[start : start + SHARD]
            made = []
            for first in range(0, len(part), BATCH):
                batch = part[first : first + BATCH]
                made.append(extract(prepared.read(batch), prepared.reader.inputs, grid))
                bar.update(len(batch))
            with atomic_file(_path(folder, start)) as stream:
                np.lib.format.write_array(stream, np.concatenate(made), allow_pickle=False)
        bar.close()
    shards = []
    for start in starts:
        shard = _shard(folder, start, _shape(names, start, grid))
        if shard is None:
            raise InputError(_path(folder, start), "cannot be read back", remedy=f"delete {folder} and run again")
        shards.append(shard)
    return Features(names, tuple(shards))


def _key(prepared: CaptionResult, names: Sequence[str], grid: str) -> str:
    images = prepared.corpora["images"]
    identity = [_FORMAT, efficientnet.SHA256, prepared.reader.parameters(), images, grid, SHARD, list(names)]
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def _shape(names: Sequence[str], start: int, grid: str) -> tuple[int, int, int]:
    return min(SHARD, len(names) - start), GRID[grid] ** 2, CHANNELS[grid]


def _path(folder: Path, start: int) -> Path:
    return folder / f"{start:06d}.npy"


def _shard(folder: Path, start: int, shape: tuple[int, int, int]) -> np.ndarray | None:
    """Read a shard from disk; None if it is missing or incomplete."""
    try:
        array: np.ndarray = np.load(_path(folder, start), mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return array if array.shape == shape and array.dtype == np.float16 else None
