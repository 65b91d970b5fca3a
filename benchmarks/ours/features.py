"""Our side of ``features_speed``: from JPEG files to features of EfficientNet-Lite0.

Each runs in its own process: ``python -m benchmarks.ours.features {describe,train} ...`` prints its result as one line
of JSON; ``train`` computes features.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from benchmarks.stopwatch import second_time, side

HEIGHT, WIDTH = 375, 500


def drawn(images: int) -> list[bytes]:
    """JPEG files of smooth noise, the same in every process."""
    import numpy as np
    from PIL import Image

    generator = np.random.RandomState(1)
    files = []
    for _ in range(images):
        coarse = Image.fromarray(generator.randint(0, 256, (HEIGHT // 25, WIDTH // 25, 3)).astype(np.uint8))
        stream = io.BytesIO()
        coarse.resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC).save(stream, "jpeg", quality=90)
        files.append(stream.getvalue())
    return files


def describe(model: str, units: int, steps: int, path: Path) -> dict[str, Any]:
    """Write the files to ``path`` for the peer, and describe the work."""
    import numpy as np

    from gluon_attn.models.efficientnet import weights_path
    from gluon_attn.torch_checkpoint import read_tensors
    from reproductions.tasks.captioning.image_features import BATCH

    files = drawn(steps * BATCH)
    bounds = np.cumsum([0, *map(len, files)])
    weights = {f"weights/{name}": array for name, array in read_tensors(weights_path()).items()}
    np.savez(path, files=np.frombuffer(b"".join(files), np.uint8), bounds=bounds, **weights)
    return {"batch": BATCH, "images": len(files), "height": HEIGHT, "width": WIDTH}


def train(model: str, units: int, steps: int) -> dict[str, float]:
    """Compute the features of the files twice and time the second time."""
    import numpy as np

    from gluon_attn.models.efficientnet import LAST
    from preprocessing.flickr8k import READER
    from reproductions.tasks.captioning.image_features import BATCH, extract

    files = drawn(steps * BATCH)

    def work() -> None:
        for start in range(0, len(files), BATCH):
            pixels = np.stack([READER.pixels("drawn", file) for file in files[start : start + BATCH]])
            extract(pixels, READER.inputs, LAST)

    return second_time(work)


if __name__ == "__main__":
    side(__doc__, describe, train)
