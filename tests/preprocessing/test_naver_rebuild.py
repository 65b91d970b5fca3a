"""The rebuilt NSMC: a crawl small enough to compute by hand, every invalid input, and the real crawl."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import lzma
import os
import random
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from preprocessing.errors import InputError, ParameterError
from preprocessing.naver_rebuild import CrawlReview, RebuiltFile, Report, permute, quote, rebuild

# As strings the names order 10.json, 100.json, 9.json. Ratings 5 and 8 are dropped, 4 and 9 stay.
CRAWL: dict[str, list[tuple[str, str, str]]] = {
    "9.json": [
        ("9", "b", "2"),
        ("10", '"', "9"),
        ("11", "plain", "9"),
        ("12", "so-so", "7"),
        ("13", "", "1"),
        ("14", "nan", "4"),
    ],
    "10.json": [
        ("1", 'He said "go"', "10"),
        ("2", "fair", "8"),
        ("3", "NA", "4"),
        ("4", "두  칸\t탭\r\n줄\u3000전각", "9"),
        ("5", "meh", "5"),
    ],
    "100.json": [("6", "c", "1"), ("7", '"a"', "10"), ("8", "null", "3")],
}
# Labelled, in order: 1+ 3- 4+ 6- 7+ 8- 9- 10+ 11+ 13- 14-. RandomState(1234).permutation(11) is 8 2 9 10 1 0 7 4 5 6 3,
# hence 11+ 4+ 13- 14- 3- 1+ 10+ 7+ 8- 9- 6-, of which four of each label; permutation(8) is 2 1 6 0 4 5 3 7.
HEADER = "id\tdocument\tlabel\n"
EXPECTED = {
    "ratings.txt": '11\tplain\t1\n4\t두 칸 탭 줄 전각\t1\n1\t"He said ""go"""\t1\n10\t""""\t1\n'
    "13\t\t0\n14\tnan\t0\n3\tNA\t0\n8\tnull\t0\n",
    "ratings_train.txt": '1\t"""He said """"go"""""""\t1\n'
    "4\t두 칸 탭 줄 전각\t1\n3\tNA\t0\n11\tplain\t1\n13\t\t0\n14\tnan\t0\n",
    "ratings_test.txt": '10\t""""""""""\t1\n8\tnull\t0\n',
    "repaired/ratings.txt": '11\tplain\t1\n4\t두 칸 탭 줄 전각\t1\n1\tHe said "go"\t1\n10\t"\t1\n'
    "13\t\t0\n14\tnan\t0\n3\tNA\t0\n8\tnull\t0\n",
    "repaired/ratings_train.txt": '1\tHe said "go"\t1\n'
    "4\t두 칸 탭 줄 전각\t1\n3\tNA\t0\n11\tplain\t1\n13\t\t0\n14\tnan\t0\n",
    "repaired/ratings_test.txt": '10\t"\t1\n8\tnull\t0\n',
}


def movie_bytes(reviews: list[tuple[str, str, str]], movie: str = "9") -> bytes:
    same = {"date": "15.08.25", "author": "a****", "movie_id": movie}
    rows = [{"review": text, "rating": rating, "review_id": number, **same} for number, text, rating in reviews]
    return json.dumps(rows, ensure_ascii=False, indent=2).encode("utf-8")


def crawl_files() -> dict[str, bytes]:
    return {name: movie_bytes(reviews, name.removesuffix(".json")) for name, reviews in CRAWL.items()}


def as_folder(folder: Path, files: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def as_archive(path: Path, files: dict[str, bytes], folder: str = "raw/") -> Path:
    with tarfile.open(path, "w:xz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(folder + name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def rebuild_small(raw: Path, out: Path, overwrite: bool = False) -> Report:
    return rebuild(raw, out, overwrite=overwrite, per_class=4, train_rows=6)


def contents(folder: Path) -> dict[str, bytes]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_a_small_crawl_gives_the_files_computed_by_hand(tmp_path: Path) -> None:
    rebuild_small(as_archive(tmp_path / "raw.tar.xz", crawl_files()), tmp_path / "out")
    written = contents(tmp_path / "out")
    assert sorted(written) == sorted([*EXPECTED, "rebuild.json"])
    for name, rows in EXPECTED.items():
        assert written[name].decode("utf-8") == HEADER + rows, name


def test_report_and_json_list_every_step(tmp_path: Path) -> None:
    report = rebuild_small(as_archive(tmp_path / "raw.tar.xz", crawl_files()), tmp_path / "out")
    assert (report.movies, report.reviews) == (3, 14)
    assert report.missing_markers == {"": 1, "NA": 1, "nan": 1, "null": 1}
    assert [(step.name, step.rows_in, step.rows_out, step.texts_changed) for step in report.steps] == [
        ("read", 14, 14, 0),
        ("label", 14, 11, 0),
        ("whitespace", 11, 11, 1),
        ("shuffle", 11, 11, 0),
        ("balance", 11, 8, 0),
        ("quote", 8, 8, 2),
        ("shuffle again", 8, 8, 0),
        ("train", 8, 6, 0),
        ("test", 8, 2, 0),
        ("quote again", 8, 8, 2),
        ("repair", 8, 8, 2),
    ]
    by_name = {file.name: file for file in report.files}
    assert [(file.rows, file.empty_texts, file.quoted_texts, file.times_quoted) for file in report.files] == [
        (8, 1, 2, 1),
        (6, 1, 1, 2),
        (2, 0, 1, 2),
        (8, 1, 2, 0),
        (6, 1, 1, 0),
        (2, 0, 1, 0),
    ]
    for name, rows in EXPECTED.items():
        assert by_name[name].sha256 == hashlib.sha256((HEADER + rows).encode()).hexdigest()
        assert by_name[name].verdict == "differs"
    assert not report.is_official
    assert json.loads((tmp_path / "out" / "rebuild.json").read_text(encoding="utf-8")) == report.as_json()
    assert report.as_json()["random"]["seed"] == 1234


def test_folder_clone_and_archive_in_any_order_give_the_same_bytes(tmp_path: Path) -> None:
    files = crawl_files()
    backwards = dict(sorted(files.items(), reverse=True))
    raws = [
        as_archive(tmp_path / "raw.tar.xz", files),
        as_archive(tmp_path / "other.tar.xz", backwards, folder="./"),
        as_folder(tmp_path / "clone" / "raw", backwards),
        tmp_path / "clone",
    ]
    (tmp_path / "clone" / "README.md").write_text("not a movie", encoding="utf-8")
    (tmp_path / "clone" / "raw" / "notes.json").write_text("not a movie", encoding="utf-8")
    results = []
    for number, raw in enumerate(raws):
        rebuild_small(raw, tmp_path / f"out{number}")
        results.append(contents(tmp_path / f"out{number}"))
    assert results[0] == results[1] == results[2] == results[3]


def test_crawl_digest_is_that_of_sha256sum(tmp_path: Path) -> None:
    files = crawl_files()
    report = rebuild_small(as_folder(tmp_path / "raw", files), tmp_path / "out")
    lines = [f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in ("10.json", "100.json", "9.json")]
    assert report.crawl_sha256 == hashlib.sha256("".join(lines).encode()).hexdigest()


def test_permute_is_the_seeded_permutation_and_leaves_the_global_generator_alone() -> None:
    before = np.random.get_state()
    try:
        np.random.seed(1234)
        expected = np.random.permutation(1000)
        np.random.seed(7)
        untouched = np.random.random(3)
        np.random.seed(7)
        rows = permute([CrawlReview(str(index), "", 0) for index in range(1000)])
        assert [int(row.id) for row in rows] == expected.tolist()
        assert np.random.random(3).tolist() == untouched.tolist()
    finally:
        np.random.set_state(before)


@given(st.text(st.characters(exclude_categories=("Cs", "Cc")) | st.just('"')))
def test_quote_is_the_minimal_quoting_of_csv(text: str) -> None:
    line = io.StringIO()
    csv.writer(line, delimiter="\t", quoting=csv.QUOTE_MINIMAL, lineterminator="\n").writerow(["1", text, "0"])
    assert f"1\t{quote(text)}\t0\n" == line.getvalue()


def test_texts_contain_no_tab_and_no_line_end(tmp_path: Path) -> None:
    spaces = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u2028\u2029\u3000"
    reviews = [("1", spaces.join("ab"), "1"), ("2", "  ".join("cd"), "10")]
    raw = as_folder(tmp_path / "raw", {"1.json": movie_bytes(reviews)})
    rebuild(raw, tmp_path / "out", per_class=1, train_rows=1)
    text = (tmp_path / "out" / "repaired" / "ratings.txt").read_text(encoding="utf-8")
    assert text == HEADER + "2\tc d\t1\n1\ta b\t0\n"


def changed(**change: Any) -> bytes:
    """One movie whose second review is changed; None removes the key."""
    movie = json.loads(movie_bytes(CRAWL["9.json"]))
    movie[1] = {key: value for key, value in (movie[1] | change).items() if value is not None}
    return json.dumps(movie).encode()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"[{", "not JSON"),
        (b"", "not JSON"),
        (b'["\xff"]', "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"review": "x"}', "expected a list of reviews, found dict"),
        (b'["x"]', "review 1 is not an object but str"),
        (changed(review=None), "review 2 lacks 'review'"),
        (changed(review_id=None), "review 2 lacks 'review_id'"),
        (changed(rating=None), "review 2 lacks 'rating'"),
        (changed(rating=9), "review 2 has a 'rating' that is not text but int"),
        (changed(rating="11"), "review 2 has the rating '11'"),
        (changed(rating="0"), "review 2 has the rating '0'"),
        (changed(review_id="1\t2"), "review 2 has the review_id '1\\t2'"),
        (changed(review="\ud800"), "review 2 contains half a surrogate pair"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_an_invalid_movie_is_named_and_nothing_is_written(
    tmp_path: Path, content: bytes, reason: str, packed: bool
) -> None:
    files = crawl_files() | {"77.json": content}
    raw = as_archive(tmp_path / "raw.tar.xz", files) if packed else as_folder(tmp_path / "raw", files)
    with pytest.raises(InputError) as caught:
        rebuild_small(raw, tmp_path / "out")
    message = str(caught.value)
    assert "77.json" in message and reason in message and "\n" not in message
    assert [path.name for path in tmp_path.iterdir()] == [raw.name]


def invalid_raw(kind: str, path: Path) -> None:
    noise = movie_bytes([("5", random.Random(5).randbytes(300_000).hex(), "5")])
    whole = as_archive(path, crawl_files() | {"5.json": noise}).read_bytes()
    path.unlink()
    match kind:
        case "missing":
            pass
        case "empty folder":
            path.mkdir()
        case "empty file":
            path.write_bytes(b"")
        case "text":
            path.write_bytes(b"id\tdocument\tlabel\n" * 100)
        case "plain tar":
            path.write_bytes(lzma.decompress(whole))
        case "xz without tar":
            path.write_bytes(lzma.compress(b"not a tar " * 1000))
        case "truncated":
            path.write_bytes(whole[: len(whole) // 2])
        case "last byte lost":
            path.write_bytes(as_archive(path, crawl_files()).read_bytes()[:-1])
        case "corrupt":
            middle = len(whole) // 2
            path.write_bytes(whole[:middle] + bytes(64) + whole[middle + 64 :])
        case "wrong archive":
            as_archive(path, {"review.txt": b"x"})
        case "twice":
            as_archive(path, {"a/9.json": movie_bytes([]), "b/9.json": movie_bytes([])})
        case "incomplete":
            as_archive(path, {"10.json": crawl_files()["10.json"]})
        case "folder for a file":
            (path / "9.json").mkdir(parents=True)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("missing", "no such file or folder"),
        ("empty folder", "contains no <movie id>.json"),
        ("empty file", "truncated"),
        ("text", "not a whole .tar.xz archive"),
        ("plain tar", "not a whole .tar.xz archive"),
        ("xz without tar", "not a whole .tar.xz archive"),
        ("truncated", "truncated"),
        ("last byte lost", "truncated"),
        ("corrupt", "not a whole .tar.xz archive"),
        ("wrong archive", "contains no <movie id>.json"),
        ("twice", "a second 9.json"),
        ("incomplete", "has 2 reviews labelled 1, 4 are needed"),
        ("folder for a file", "cannot be read (Is a directory)"),
    ],
)
def test_an_invalid_crawl_is_one_line_and_nothing_is_written(tmp_path: Path, kind: str, reason: str) -> None:
    raw = tmp_path / "crawl"
    invalid_raw(kind, raw)
    with pytest.raises(InputError) as caught:
        rebuild_small(raw, tmp_path / "out")
    message = str(caught.value)
    assert message.startswith(str(raw)) and reason in message and "\n" not in message
    assert [path for path in tmp_path.iterdir() if path != raw] == []


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [
        ({"per_class": 0, "train_rows": 6}, "per_class 0: must be at least 1"),
        ({"per_class": 4, "train_rows": -3}, "train_rows -3: must be at least 1"),
        ({"per_class": 4, "train_rows": 8}, "train_rows 8: leaves no rows for test, as there are 8; choose less"),
    ],
)
def test_sizes_that_leave_a_part_empty_are_refused(sizes: dict[str, int], reason: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=reason):
        rebuild(as_folder(tmp_path / "raw", crawl_files()), tmp_path / "out", **sizes)
    assert not (tmp_path / "out").exists()


def test_output_is_overwritten_only_on_request_and_only_if_a_rebuild_wrote_it(tmp_path: Path) -> None:
    raw, out = as_folder(tmp_path / "raw", crawl_files()), tmp_path / "out"
    out.mkdir()
    rebuild_small(raw, out)  # An empty folder is accepted.
    first = contents(out)
    (out / "ratings.txt").write_text("older", encoding="utf-8")
    with pytest.raises(InputError, match="is not empty"):
        rebuild_small(raw, out)
    assert (out / "ratings.txt").read_text(encoding="utf-8") == "older"
    rebuild_small(raw, out, overwrite=True)
    assert contents(out) == first

    (out / "repaired" / "thesis.tex").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match=r"contains 'repaired/thesis\.tex', which no rebuild wrote"):
        rebuild_small(raw, out, overwrite=True)
    assert (out / "repaired" / "thesis.tex").exists()
    with pytest.raises(InputError, match="is a file"):
        rebuild_small(raw, out / "ratings.txt", overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "raw"]


def test_a_failed_overwrite_leaves_the_previous_files(tmp_path: Path) -> None:
    out = tmp_path / "out"
    rebuild_small(as_folder(tmp_path / "raw", crawl_files()), out)
    before = contents(out)
    (tmp_path / "raw" / "9.json").write_bytes(b"[")
    with pytest.raises(InputError, match="not JSON"):
        rebuild_small(tmp_path / "raw", out, overwrite=True)
    assert contents(out) == before


def test_output_may_be_a_link_to_a_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for _ in range(2):
        rebuild_small(as_archive(tmp_path / "raw.tar.xz", crawl_files()), tmp_path / "link", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "ratings.txt").read_text(encoding="utf-8") == HEADER + EXPECTED["ratings.txt"]


def test_the_verdict_compares_with_the_known_bytes() -> None:
    def verdict(name: str, sha256: str) -> str:
        return RebuiltFile(name, 1, 0, 0, 0, sha256, "known").verdict

    assert verdict("ratings.txt", "known") == "official"
    assert verdict("repaired/ratings.txt", "known") == "repaired"
    assert verdict("ratings.txt", "other") == verdict("repaired/ratings.txt", "other") == "differs"


@pytest.mark.slow
@pytest.mark.corpus
def test_real_crawl_gives_the_official_files(tmp_path: Path) -> None:
    root = os.environ.get("GLUON_ATTN_DATA")
    if not root:
        pytest.skip("GLUON_ATTN_DATA is not set")
    raw = Path(root) / "nsmc" / "raw.tar.xz"
    if not raw.exists():
        pytest.skip("nsmc/raw.tar.xz is not below GLUON_ATTN_DATA")
    report = rebuild(raw, tmp_path / "out")
    assert {file.name: file.sha256 for file in report.files} == {
        "ratings.txt": "7d1d8e66323eb5a64feb2e299178f58827d8302111c434195dfeef48506e1256",
        "ratings_train.txt": "e03b7d14e9e41be8d464a28057cd25d7396c53e67aa7fd5f7e552c59b0ee2940",
        "ratings_test.txt": "8ac9f64052f11dbf6ae0acb5e038f03d90a76f0eda7820cfb3a92d02edfcebda",
        "repaired/ratings.txt": "c4c93a8f68bda7a6b00618fd694e8c3c50ab8d1e30298c71aee126a9307187dd",
        "repaired/ratings_train.txt": "44588d294334553c7e7f342932d9c4588ada713090fed0cd6bea3260ba89d321",
        "repaired/ratings_test.txt": "df1952d0ebfcce0b4c6b243516388ebbf3bcecd8aa31681002c1477745e4005d",
    }
    counts = [(200_000, 8, 856), (150_000, 5, 623), (50_000, 3, 233)]
    assert [(file.rows, file.empty_texts, file.quoted_texts) for file in report.files] == [*counts, *counts]
    assert report.is_official
    assert (report.movies, report.reviews, report.missing_markers) == (14_730, 712_404, {"": 20})
    for part, differing in (("train", 623), ("test", 233)):
        official = (tmp_path / "out" / f"ratings_{part}.txt").read_text(encoding="utf-8").split("\n")
        repaired = (tmp_path / "out" / "repaired" / f"ratings_{part}.txt").read_text(encoding="utf-8").split("\n")
        assert sum(one != two for one, two in zip(official, repaired, strict=True)) == differing
        assert all(line.count("\t") == 2 for line in repaired[:-1])
