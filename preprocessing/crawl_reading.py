"""Read the raw crawl of the Naver sentiment movie corpus strictly: every error names the file and the review.

The crawl of ``e9t/nsmc`` has one ``<movie id>.json`` per movie: a list of reviews whose ``review_id``, ``review`` and
``rating`` ("1" to "10") are strings.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from preprocessing.corpora.reading import FETCH_AGAIN, check_unpacked, has_half_pair, limited
from preprocessing.errors import InputError

LABELS: dict[str, int | None] = {str(rating): None for rating in range(1, 11)}
LABELS |= {"1": 0, "2": 0, "3": 0, "4": 0, "9": 1, "10": 1}
_MOVIE_FILE = re.compile(r"[0-9]+\.json")
_WHITESPACE = re.compile(r"\s+")
_WHAT_TO_GIVE = "give the crawl's raw.tar.xz, a clone of github.com/e9t/nsmc, or its folder raw"


class CrawlReview(NamedTuple):
    """One review: its id at Naver, its text, and 0 (negative), 1 (positive) or None for a rating in between."""

    id: str
    text: str
    label: int | None


class Crawl(NamedTuple):
    """The crawl as read: movies, digest, the reviews in order, and the id of the movie of each review."""

    movies: int
    sha256: str
    reviews: list[CrawlReview]
    movie_ids: list[str]


def read_crawl(raw: Path) -> Crawl:
    """Read and check every movie of the crawl; an archive is read as a stream, whatever the order of its members."""
    movies: dict[str, list[CrawlReview]] = {}
    digests: dict[str, str] = {}
    for name, where, content in movie_files(raw):
        if name in movies:
            raise InputError(where, f"a second {name}", remedy=_WHAT_TO_GIVE)
        digests[name] = hashlib.sha256(content).hexdigest()
        movies[name] = parse_movie(where, content)
    if not movies:
        raise InputError(raw, "contains no <movie id>.json", remedy=_WHAT_TO_GIVE)
    names = sorted(movies)
    sha256 = hashlib.sha256("".join(f"{digests[name]}  {name}\n" for name in names).encode()).hexdigest()
    reviews = [review for name in names for review in movies[name]]
    return Crawl(len(movies), sha256, reviews, [name.removesuffix(".json") for name in names for _ in movies[name]])


def movie_files(raw: Path) -> Iterator[tuple[str, str, bytes]]:
    """Yield (file name, path, content) of each ``<movie id>.json``; nothing is unpacked to disk."""
    try:
        if not raw.exists():
            raise InputError(raw, "no such file or folder", remedy=_WHAT_TO_GIVE)
        yield from folder_files(raw) if raw.is_dir() else archive_files(raw)
    except EOFError as error:
        raise InputError(raw, "the archive is truncated", remedy=FETCH_AGAIN) from error
    except (lzma.LZMAError, tarfile.TarError) as error:
        raise InputError(raw, f"not a whole .tar.xz archive ({error})", remedy=_WHAT_TO_GIVE) from error
    except OSError as error:
        raise InputError(error.filename or raw, f"cannot be read ({error.strerror})", remedy=_WHAT_TO_GIVE) from error


def folder_files(raw: Path) -> Iterator[tuple[str, str, bytes]]:
    """The movie files of a clone, or of its folder ``raw``."""
    folder = raw / "raw" if (raw / "raw").is_dir() else raw
    for path in sorted(folder.iterdir()):
        if _MOVIE_FILE.fullmatch(path.name):
            yield path.name, str(path), path.read_bytes()


def archive_files(raw: Path) -> Iterator[tuple[str, str, bytes]]:
    """The movie files of a ``.tar.xz``, read once from front to back."""
    with lzma.open(raw) as packed, limited(raw, packed) as stream:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                name = member.name.rpartition("/")[2]
                content = archive.extractfile(member) if _MOVIE_FILE.fullmatch(name) and member.isfile() else None
                check_unpacked(raw, member.size)  # a sparse member can state a larger size than the archive has
                if content is not None:
                    yield name, f"{raw}:{member.name}", content.read()
        # The tar archive ends before the xz stream: only reading to the end lets xz check that nothing is missing.
        while stream.read(1 << 20):
            pass


def parse_movie(where: str, content: bytes) -> list[CrawlReview]:
    """Check one movie's JSON; return its reviews in order."""
    try:
        movie = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(where, f"not JSON ({error})", remedy=FETCH_AGAIN) from error
    if not isinstance(movie, list):
        raise InputError(where, f"expected a list of reviews, found {type(movie).__name__}", remedy=_WHAT_TO_GIVE)
    for number, review in enumerate(movie, start=1):
        if fault := fault_of(review):
            raise InputError(where, f"review {number} {fault}", remedy=FETCH_AGAIN)
    return [CrawlReview(review["review_id"], review["review"], LABELS[review["rating"]]) for review in movie]


def fault_of(review: Any) -> str:
    """What is wrong with one review of the crawl; an empty string if nothing is."""
    if not isinstance(review, dict):
        return f"is not an object but {type(review).__name__}"
    for key in ("review_id", "review", "rating"):
        if key not in review:
            return f"lacks {key!r}"
        if not isinstance(review[key], str):
            return f"has a {key!r} that is not text but {type(review[key]).__name__}"
    if not re.fullmatch("[0-9]+", review["review_id"]):
        return f"has the review_id {review['review_id']!r}, which is not a number"
    if review["rating"] not in LABELS:
        return f"has the rating {review['rating']!r}, which is not one of 1 to 10"
    if has_half_pair(review["review"]):
        return "contains half a surrogate pair, which is not a character"
    return ""


def single_spaces(text: str) -> str:
    """The text with each run of white space replaced by one space."""
    return _WHITESPACE.sub(" ", text)
