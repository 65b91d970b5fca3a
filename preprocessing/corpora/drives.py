"""Registered drives: frames of a car's camera and how the car was steered."""

from __future__ import annotations

from preprocessing.corpora.corpus import CorpusFile, RegisteredCorpus


def _udacity(track: str, title: str, source: str, sha256: tuple[str, str], rows: int) -> RegisteredCorpus:
    """A drive in the Udacity simulator. ``sha256``: of the archive and of the log."""
    folder = f"udacity_{track}"
    return RegisteredCorpus(
        name=f"udacity {track}",
        title=title,
        licence="none stated",
        homepage=f"https://github.com/{source}",
        how_to_get=(
            f"put center.tar and driving_log.csv into {folder}/: frames of the centre camera of {source}, halved to "
            "160 x 80 pixels by a box filter, and the log with the columns frame, milliseconds, steering, throttle, "
            "brake, speed; or prepare a drive of your own"
        ),
        files={
            "frames": CorpusFile((f"{folder}/center.tar",), sha256=sha256[0]),
            "log": CorpusFile((f"{folder}/driving_log.csv",), sha256=sha256[1], rows=rows),
        },
    )


DRIVES: tuple[RegisteredCorpus, ...] = (
    _udacity(
        "lake",
        "A drive of five laps in the Udacity simulator, lake track, steered by mouse; frames halved and re-encoded",
        "ab1153/CarND-Behavioral-Cloning-Project",
        (
            "61dd9eda081188e502107da6b09d2e307a34de46996b2ad16de0da12dd3e58d0",
            "8d011cf7cc86bc2d23abda7cf3ab8e94d8c7632f34f7c9841246a9e20930fed5",
        ),
        4_203,
    ),
    _udacity(
        "track",
        "A drive in the Udacity simulator on another road, steered by keyboard; frames halved and re-encoded",
        "rslim087a/track",
        (
            "25c46c7eec51d376a5834dce205ef32819db1ae9b1bf12ccd517184bf577dc1a",
            "c2a05ae3e09dfc1379ef6e0c0a560b414e10b5b09ea4f30e8075f28bff5185d3",
        ),
        4_053,
    ),
)
