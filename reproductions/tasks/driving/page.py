"""The page that plays the test drive of a network."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reproductions.attention_viewer.drive import DriveFrames, write_drive_page
from reproductions.protocol.reproduction import Draw, Groups


def drive_page(title: str, variant: str) -> Draw:
    """Return a page of the test blocks, frame by frame, with the attention of the first seed of a variant and the
    regions that causal filtering keeps. Published outcomes have no frames and therefore no page."""

    def write(groups: Groups, directory: Path) -> dict[str, Path]:
        outcome = groups[variant][0] if variant in groups else None
        if outcome is None or not outcome.texts:
            return {}
        arrays = outcome.texts
        images = [part.tobytes() for part in np.split(arrays["jpeg"], arrays["jpeg_offsets"][1:-1])]
        rows, columns = arrays["grid"].tolist()
        drive = DriveFrames(
            images,
            arrays["weights"],
            arrays["kept"],
            (rows, columns),
            arrays["seconds"],
            arrays["target"],
            arrays["degrees"],
        )
        note = {
            "network": f"{variant}, seed {outcome.seed}",
            "corpus": str(outcome.record["corpus"]),
            "parameters SHA-256": str(outcome.record["parameters_sha256"])[:12],
        }
        path = directory / "drive.html"
        write_drive_page(path, f"{title}: the test drive", drive, note, sample=outcome.on_sample)
        return {"test drive, frame by frame": path}

    return write
