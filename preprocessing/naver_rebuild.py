"""Rebuild the Naver sentiment movie corpus from its raw crawl, bit for bit equal to the official files.

The official files follow from the crawl (``crawl_reading.py``) by the steps that :func:`rebuild` carries out and lists
in ``rebuild.json``. Quotes are written by the CSV rule *minimal*: in a text with double quotes, each of them is doubled
and the text is enclosed in two more; any other text is not changed. ``ratings.txt`` was written by this rule but read
back without it, and the split was written by it again: the official texts have their quotes escaped twice.
``repaired/`` contains the same rows, order and split with the true text, in TSV files without any quoting.

Missing text needs no step. The official files were read back by pandas, which treats texts such as "NA" or "null" as
missing and writes them as empty; in the crawl, the only such text is the empty one, so this changes nothing.
``rebuild.json`` counts those texts. In another crawl they would be kept, because users wrote them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from preprocessing.corpora.reading import FETCH_AGAIN
from preprocessing.crawl_reading import CrawlReview, read_crawl, single_spaces
from preprocessing.errors import InputError, ParameterError, check_positive
from preprocessing.files import atomic_directory, sha256_of, write_json, write_text
from preprocessing.text.table import HEADER

SEED = 1234
PER_CLASS = 100_000
TRAIN_ROWS = 150_000

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
# The texts that pandas reads as missing: the union over its versions since 2015.
_MISSING = re.compile(r"|#N/A( N/A)?|#NA|-?1\.#(IND|QNAN)|-?(NaN|nan)|<NA>|N/A|n/a|NA|NULL|null|None")


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
        """``official`` or ``repaired`` when the bytes are the known ones, else ``differs``."""
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

    Raises InputError when the crawl is missing, unreadable, truncated, not a crawl or too small, or when ``out`` must
    not be overwritten; ParameterError when a number is not positive, or when no rows are left for test.
    """
    check_positive(per_class=per_class, train_rows=train_rows)
    if train_rows >= 2 * per_class:
        reason = f"leaves no rows for test, as there are {2 * per_class}"
        raise ParameterError("train_rows", train_rows, reason, remedy="choose less")
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


def quote(text: str) -> str:
    """Minimal CSV quoting of a text without tabs and line ends."""
    return '"' + text.replace('"', '""') + '"' if '"' in text else text


def permute(reviews: Sequence[CrawlReview]) -> list[CrawlReview]:
    """The rows in the order of ``numpy.random.seed(1234); numpy.random.permutation``, without touching global state.

    NumPy freezes the stream of the legacy generator (NEP 19), so this holds for every version.
    """
    return [reviews[index] for index in np.random.RandomState(SEED).permutation(len(reviews))]


def first(reviews: Sequence[CrawlReview], label: int, count: int, raw: Path) -> list[CrawlReview]:
    """The first ``count`` reviews with this label; raises InputError when the crawl has fewer."""
    selected = list(islice((review for review in reviews if review.label == label), count))
    if len(selected) < count:
        reason = f"has {len(selected)} reviews labelled {label}, {count} are needed"
        raise InputError(raw, reason, remedy=f"the crawl is incomplete, it has 14730 movies: {FETCH_AGAIN}")
    return selected


def write_tsv(folder: Path, name: str, reviews: Sequence[CrawlReview], times: int) -> RebuiltFile:
    """Write one file, its texts quoted ``times`` times."""
    lines = [f"{HEADER}\n"]
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


def refuse_to_lose(out: Path, overwrite: bool) -> None:
    """Raise InputError unless ``out`` is missing or empty, or may be overwritten and contains only what a rebuild
    wrote."""
    if not out.exists():
        return
    if not out.is_dir():
        raise InputError(out, "is a file, not a folder", remedy="name another folder")
    present = sorted(path.relative_to(out).as_posix() for path in out.rglob("*"))
    if present and not overwrite:
        raise InputError(out, "is not empty", remedy="name another folder, or pass --overwrite (overwrite=True)")
    ours = {*OFFICIAL_SHA256, *REPAIRED_SHA256, "repaired", "rebuild.json"}
    if foreign := [name for name in present if name not in ours]:
        raise InputError(out, f"contains {foreign[0]!r}, which no rebuild wrote", remedy="name another folder")
