"""Rebuild the Naver sentiment movie corpus from its raw crawl, bit for bit equal to the official files.

The crawl of ``e9t/nsmc`` holds one ``<movie id>.json`` per movie: a list of reviews whose ``review_id``, ``review`` and
``rating`` ("1" to "10") are text. The official files follow from it by the steps that :func:`rebuild` carries out and
writes down in ``rebuild.json``. Quotes are written by the CSV rule *minimal*: in a text with a double quote every one
is doubled and the text is put between two more; any other text is not changed. ``ratings.txt`` was written so, read
back without this rule, and the split was written so again: the official texts have their quotes escaped twice.
``repaired/`` contains the same rows, order and split with the true text, in a TSV that quotes nothing.

Missing text needs no step. The official files were read back by pandas, which takes texts such as "NA" or "null" for
missing and writes them empty; in the crawl only the empty text is spelled like that, so the rule changes nothing.
``rebuild.json`` counts those texts. In another crawl they would be kept, because somebody wrote them.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import re
import tarfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from preprocessing.errors import InputError
from preprocessing.files import atomic_directory, sha256_of, write_json, write_text

SEED = 1234
PER_CLASS = 100_000
TRAIN_ROWS = 150_000
HEADER = "id\tdocument\tlabel\n"
LABELS: dict[str, int | None] = {str(rating): None for rating in range(1, 11)}
LABELS |= {"1": 0, "2": 0, "3": 0, "4": 0, "9": 1, "10": 1}

OFFICIAL_SHA256 = {
    "ratings.txt": "7d1d8e66323eb5a64feb2e299178f58827d8302111c434195dfeef48506e1256",
    "ratings_train.txt": "e03b7d14e9e41be8d464a28057cd25d7396c53e67aa7fd5f7e552c59b0ee2940",
    "ratings_test.txt": "8ac9f64052f11dbf6ae0acb5e038f03d90a76f0eda7820cfb3a92d02edfcebda",
}
REPAIRED_SHA256 = {
    "repaired/ratings.txt": "c4c93a8f68bda7a6b00618fd694e8c3c50ab8d1e30298c71aee126a9307187dd",
    "repaired/ratings_train.txt": "44588d294334553c7e7f342932d9c4588ada713090fed0cd6bea3260ba89d321",
    "repaired/ratings_test.txt": "df1952d0ebfcce0b4c6b243516388ebbf3bcecd8aa31681002c1477745e4005d",
}
_MOVIE_FILE = re.compile(r"[0-9]+\.json")
_WHITESPACE = re.compile(r"\s+")
# The texts that pandas reads as missing: the union over its versions since 2015.
_MISSING = re.compile(r"|#N/A( N/A)?|#NA|-?1\.#(IND|QNAN)|-?(NaN|nan)|<NA>|N/A|n/a|NA|NULL|null|None")
_SURROGATE = re.compile("[\ud800-\udfff]")
_WHAT_TO_GIVE = "give the crawl's raw.tar.xz, a clone of github.com/e9t/nsmc, or its folder raw"
_FETCH_AGAIN = "fetch it again"


class CrawlReview(NamedTuple):
    """One review: its id at Naver, its text, and 0 (negative), 1 (positive) or None for a rating between."""

    id: str
    text: str
    label: int | None


class Crawl(NamedTuple):
    """The crawl as read: movies, digest, and the reviews in order."""

    movies: int
    sha256: str
    reviews: list[CrawlReview]


@dataclass(frozen=True)
class RebuildStep:
    """One step: its rule in words, the rows before and after it, the number of texts it changed."""

    name: str
    rule: str
    rows_in: int
    rows_out: int
    texts_changed: int = 0


@dataclass(frozen=True)
class RebuiltFile:
    """One file as written: ``name`` relative to the output folder, its actual and its expected hash.

    ``quoted_texts`` counts the texts with a double quote, escaped ``times_quoted`` times in this file; in the repaired
    files these are the rows that differ from the official file.
    """

    name: str
    rows: int
    empty_texts: int
    quoted_texts: int
    times_quoted: int
    sha256: str
    expected_sha256: str

    @property
    def verdict(self) -> str:
        """``official`` or ``repaired`` when the bytes are the ones known, else ``differs``."""
        if self.sha256 != self.expected_sha256:
            return "differs"
        return "official" if self.name in OFFICIAL_SHA256 else "repaired"


@dataclass(frozen=True)
class Report:
    """What :func:`rebuild` read, did and wrote; the content of ``rebuild.json``."""

    movies: int
    reviews: int
    crawl_sha256: str
    missing_markers: dict[str, int]
    steps: tuple[RebuildStep, ...]
    files: tuple[RebuiltFile, ...]

    @property
    def is_official(self) -> bool:
        """Whether all six files have the known bytes."""
        return all(file.verdict != "differs" for file in self.files)

    def as_json(self) -> dict[str, Any]:
        """The content of ``rebuild.json``: no path and no date, so that the same crawl gives the same bytes."""
        return {
            "corpus": "nsmc",
            "source": "https://github.com/e9t/nsmc",
            "licence": "CC0 1.0",
            "crawl": {
                "movies": self.movies,
                "reviews": self.reviews,
                "sha256": self.crawl_sha256,
                "sha256_rule": "of the lines '<SHA-256>  <file name>' that sha256sum prints, in file-name order",
            },
            "random": {"generator": "numpy.random.RandomState (legacy MT19937), permutation", "seed": SEED},
            "texts_that_pandas_reads_as_missing": self.missing_markers,
            "steps": [asdict(step) for step in self.steps],
            "files": [asdict(file) | {"verdict": file.verdict} for file in self.files],
        }


def rebuild(
    raw: Path, out: Path, *, overwrite: bool = False, per_class: int = PER_CLASS, train_rows: int = TRAIN_ROWS
) -> Report:
    """Write the official NSMC files, their repaired variant and ``rebuild.json`` from the raw crawl.

    ``raw`` is the crawl as ``.tar.xz``, a clone of ``e9t/nsmc``, or its folder ``raw``. ``out`` appears whole or not at
    all; a folder that is not empty is replaced only with ``overwrite``, and only if a rebuild wrote all of its content.
    ``per_class`` (reviews per label) and ``train_rows`` are those of the corpus: other values give another corpus.

    Raises InputError when the crawl is missing, unreadable, truncated, not a crawl or too small, or ``out`` is not
    free.
    """
    refuse_to_lose(out, overwrite)
    crawl = read_crawl(raw)
    labelled = [review for review in crawl.reviews if review.label is not None]
    spaced = [review._replace(text=single_spaces(review.text)) for review in labelled]
    shuffled = permute(spaced)
    sample = [*first(shuffled, 1, per_class, raw), *first(shuffled, 0, per_class, raw)]
    split = permute(sample)
    train, test = split[:train_rows], split[train_rows:]
    # The split was drawn from ratings.txt read as if it were not quoted: its texts went through the quoting twice.
    files: dict[str, tuple[Sequence[CrawlReview], int]] = {
        "ratings.txt": (sample, 1),
        "ratings_train.txt": (train, 2),
        "ratings_test.txt": (test, 2),
        "repaired/ratings.txt": (sample, 0),
        "repaired/ratings_train.txt": (train, 0),
        "repaired/ratings_test.txt": (test, 0),
    }

    reviews, rated, total = len(crawl.reviews), len(spaced), len(sample)
    respaced = sum(before != after for before, after in zip(labelled, spaced, strict=True))
    quoted = sum('"' in review.text for review in sample)
    steps = (
        RebuildStep(
            "read", "every movie's JSON in the order of the file names as strings, top to bottom", reviews, reviews
        ),
        RebuildStep("label", "ratings 9-10 become 1, ratings 1-4 become 0, ratings 5-8 are dropped", reviews, rated),
        RebuildStep("whitespace", "each run of whitespace becomes one space", rated, rated, respaced),
        RebuildStep("shuffle", f"numpy.random.RandomState({SEED}) permutes the rows", rated, rated),
        RebuildStep(
            "balance", f"the first {per_class} rows labelled 1, then the first {per_class} labelled 0", rated, total
        ),
        RebuildStep("quote", "minimal quoting: ratings.txt", total, total, quoted),
        RebuildStep(
            "shuffle again", f"a new RandomState({SEED}) permutes the rows, their quoting left on", total, total
        ),
        RebuildStep("train", f"the first {train_rows} rows", total, len(train)),
        RebuildStep("test", "the other rows", total, len(test)),
        RebuildStep("quote again", "minimal quoting: ratings_train.txt and ratings_test.txt", total, total, quoted),
        RebuildStep("repair", "the same rows, order and split, no quoting at all: repaired/", total, total, quoted),
    )
    markers = Counter(review.text for review in spaced if _MISSING.fullmatch(review.text))
    with atomic_directory(out.resolve()) as folder:
        written = tuple(write_tsv(folder, name, rows, times) for name, (rows, times) in files.items())
        report = Report(crawl.movies, reviews, crawl.sha256, dict(sorted(markers.items())), steps, written)
        write_json(folder / "rebuild.json", report.as_json())
    return report


def single_spaces(text: str) -> str:
    """The text with each run of white space as one space."""
    return _WHITESPACE.sub(" ", text)


def quote(text: str) -> str:
    """Minimal CSV quoting of a text without tabs and line ends."""
    return '"' + text.replace('"', '""') + '"' if '"' in text else text


def permute(reviews: Sequence[CrawlReview]) -> list[CrawlReview]:
    """The rows as ``numpy.random.seed(1234); numpy.random.permutation`` orders them, global state untouched.

    NumPy freezes the stream of the legacy generator (NEP 19), so this holds for every version.
    """
    return [reviews[index] for index in np.random.RandomState(SEED).permutation(len(reviews))]


def first(reviews: Sequence[CrawlReview], label: int, count: int, raw: Path) -> list[CrawlReview]:
    """The first ``count`` reviews with this label; InputError when the crawl has fewer."""
    selected = list(islice((review for review in reviews if review.label == label), count))
    if len(selected) < count:
        reason = f"has {len(selected)} reviews labelled {label}, {count} are needed"
        raise InputError(raw, reason, remedy=f"the crawl is incomplete, it has 14730 movies: {_FETCH_AGAIN}")
    return selected


def write_tsv(folder: Path, name: str, reviews: Sequence[CrawlReview], times: int) -> RebuiltFile:
    """Write one file, its texts quoted ``times`` times."""
    lines = [HEADER]
    for review in reviews:
        text = review.text
        for _ in range(times):
            text = quote(text)
        lines.append(f"{review.id}\t{text}\t{review.label}\n")
    write_text(folder / name, "".join(lines))
    return RebuiltFile(
        name=name,
        rows=len(reviews),
        empty_texts=sum(not review.text for review in reviews),
        quoted_texts=sum('"' in review.text for review in reviews),
        times_quoted=times,
        sha256=sha256_of(folder / name),
        expected_sha256=(OFFICIAL_SHA256 | REPAIRED_SHA256)[name],
    )


def read_crawl(raw: Path) -> Crawl:
    """Read and check every movie of the crawl: an archive as a stream, in any order of its members."""
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
    return Crawl(len(movies), sha256, [review for name in names for review in movies[name]])


def movie_files(raw: Path) -> Iterator[tuple[str, str, bytes]]:
    """Yield (file name, path, content) of each ``<movie id>.json``; nothing is unpacked to disk."""
    try:
        if not raw.exists():
            raise InputError(raw, "no such file or folder", remedy=_WHAT_TO_GIVE)
        yield from folder_files(raw) if raw.is_dir() else archive_files(raw)
    except EOFError as error:
        raise InputError(raw, "the archive is truncated", remedy=_FETCH_AGAIN) from error
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
    with lzma.open(raw) as stream:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                name = member.name.rpartition("/")[2]
                content = archive.extractfile(member) if _MOVIE_FILE.fullmatch(name) and member.isfile() else None
                if content is not None:
                    yield name, f"{raw}:{member.name}", content.read()
        # A tar ends before its xz does: only reading to the end lets xz check that nothing is missing.
        while stream.read(1 << 20):
            pass


def parse_movie(where: str, content: bytes) -> list[CrawlReview]:
    """Check one movie's JSON; return its reviews in order."""
    try:
        movie = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(where, f"not JSON ({error})", remedy=_FETCH_AGAIN) from error
    if not isinstance(movie, list):
        raise InputError(where, f"expected a list of reviews, found {type(movie).__name__}", remedy=_WHAT_TO_GIVE)
    for number, review in enumerate(movie, start=1):
        if fault := fault_of(review):
            raise InputError(where, f"review {number} {fault}", remedy=_FETCH_AGAIN)
    return [CrawlReview(review["review_id"], review["review"], LABELS[review["rating"]]) for review in movie]


def fault_of(review: Any) -> str:
    """What is wrong with one review of the crawl, or nothing."""
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
    if _SURROGATE.search(review["review"]):
        return "contains half a surrogate pair, which is not a character"
    return ""


def refuse_to_lose(out: Path, overwrite: bool) -> None:
    """InputError unless ``out`` is free, or may be overwritten and contains nothing that a rebuild did not write."""
    if not out.exists():
        return
    if not out.is_dir():
        raise InputError(out, "is a file, not a folder", remedy="name another folder")
    present = sorted(path.relative_to(out).as_posix() for path in out.rglob("*"))
    if present and not overwrite:
        raise InputError(out, "is not empty", remedy="name another folder, or allow overwriting")
    ours = {*OFFICIAL_SHA256, *REPAIRED_SHA256, "repaired", "rebuild.json"}
    if foreign := [name for name in present if name not in ours]:
        raise InputError(out, f"contains {foreign[0]!r}, which no rebuild wrote", remedy="name another folder")
