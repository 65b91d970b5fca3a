"""Lines of plain and compressed files, and every fault of a file named with its line."""

from __future__ import annotations

import errno
import gzip
import hashlib
import lzma
import os
import tarfile
import tracemalloc
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from preprocessing import documents
from preprocessing.corpora import reading
from preprocessing.corpora.reading import read_bytes, read_lines, sha256_of_member
from preprocessing.errors import InputError

LINES = [f"sentence number {number}, é 가" for number in range(400)]
RAW = "".join(line + "\n" for line in LINES).encode()


def packed(path: Path, raw: bytes = RAW) -> Path:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("folder/_about.txt", "about")
            archive.writestr("folder/text.txt", raw)
            archive.writestr("__MACOSX/folder/._text.txt", b"\0")
    else:
        path.write_bytes({".gz": gzip.compress, ".xz": lzma.compress}.get(path.suffix, bytes)(raw))
    return path


@pytest.mark.parametrize("name", ["text", "text.gz", "text.xz", "text.zip"])
def test_lines_do_not_depend_on_the_compression(name: str, tmp_path: Path) -> None:
    path = packed(tmp_path / name)
    member = "text.txt" if path.suffix == ".zip" else None
    assert read_lines(path, member) == LINES
    assert read_bytes(path, member) == RAW


@given(st.lists(st.text(st.characters(exclude_characters="\n\r\ufeff", exclude_categories=["Cs"])), min_size=1))
def test_only_a_line_feed_ends_a_line(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    path = tmp_path_factory.mktemp("lines") / "text"
    path.write_bytes("".join(line + "\n" for line in lines).encode())
    assert read_lines(path) == lines


@pytest.mark.parametrize("name", ["text.gz", "text.xz", "text.zip"])
@pytest.mark.parametrize("part", [0.1, 0.3, 0.9, "damaged"])
def test_an_incomplete_archive_is_refused(name: str, part: float | str, tmp_path: Path) -> None:
    path = packed(tmp_path / name)
    raw = path.read_bytes()
    if isinstance(part, float):
        path.write_bytes(raw[: int(len(raw) * part)])
    else:
        middle = len(raw) // 2
        path.write_bytes(raw[:middle] + bytes(byte ^ 255 for byte in raw[middle : middle + 8]) + raw[middle + 8 :])
    with pytest.raises(InputError, match=r"cannot be decompressed to its end|the archive contains no file") as caught:
        read_lines(path, "text.txt" if path.suffix == ".zip" else None)
    assert caught.value.where == str(path) and "\n" not in str(caught.value)


def test_the_last_readable_line_of_a_compressed_file_is_named(tmp_path: Path) -> None:
    lines = [hashlib.sha256(b"%d" % number).hexdigest() for number in range(20_000)]
    path = packed(tmp_path / "text.gz", "".join(line + "\n" for line in lines).encode())
    path.write_bytes(path.read_bytes()[:-200_000])
    with pytest.raises(InputError) as caught:
        read_lines(path)
    assert caught.value.line is not None and 1_000 < caught.value.line < 20_000


def test_english_of_windows_is_not_taken_for_korean(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes("I don’t\n".encode("cp1252"))
    with pytest.raises(InputError) as caught:
        read_lines(path)
    assert caught.value.reason == "invalid UTF-8 (byte 0x92: invalid start byte)"


@pytest.mark.parametrize(
    ("raw", "line", "reason", "remedy"),
    [
        (b"", 1, "no lines", "fetch"),
        (b"\xef\xbb\xbfa\n", 1, "begins with a byte order mark", "without it"),
        (b"a\nb\r\nc\n", 2, "Windows line endings", "Unix line endings"),
        (b"a\nb\nc", 3, "the last line has no line feed", "add it if the line is whole"),
        (b"a\n\xe9t\xe9\n", 2, "invalid UTF-8 (byte 0xe9", "save the file as UTF-8"),
        (
            "a\n".encode("utf-16"),
            1,
            "invalid UTF-8 (byte 0xff: invalid start byte); it looks like UTF-16, as Excel writes Unicode text",
            "save the file as UTF-8",
        ),
        (
            "a\n정말\n".encode("cp949"),
            2,
            "invalid UTF-8 (byte 0xc1: invalid start byte); it looks like CP949 (EUC-KR), as Korean Windows writes it",
            "save the file as UTF-8",
        ),
        (b"a\nb\n" + "é".encode()[:1], 3, "invalid UTF-8", "save the file as UTF-8"),
    ],
)
def test_each_fault_is_named_with_its_line(tmp_path: Path, raw: bytes, line: int, reason: str, remedy: str) -> None:
    path = tmp_path / "text"
    path.write_bytes(raw)
    with pytest.raises(InputError) as caught:
        read_lines(path)
    error = caught.value
    assert (error.where, error.line) == (str(path), line)
    assert error.reason.startswith(reason) and remedy in error.remedy


def test_an_archive_must_have_the_member_once(tmp_path: Path) -> None:
    path = packed(tmp_path / "text.zip")
    with pytest.raises(InputError, match=r"contains no file named other\.txt"):
        read_bytes(path, "other.txt")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("another/text.txt", RAW)
    with pytest.raises(InputError, match=r"contains 2 files named text\.txt"):
        read_bytes(path, "text.txt")


def test_the_hash_of_a_member_does_not_depend_on_its_archive(tmp_path: Path) -> None:
    first = packed(tmp_path / "first.zip")
    second = tmp_path / "second.zip"
    with zipfile.ZipFile(second, "w") as archive:
        archive.writestr("text.txt", RAW)
    assert first.read_bytes() != second.read_bytes()
    assert (
        sha256_of_member(first, "text.txt") == sha256_of_member(second, "text.txt") == hashlib.sha256(RAW).hexdigest()
    )


@pytest.mark.parametrize("name", ["lines.gz", "lines.xz", "lines.zip"])
def test_a_file_that_fills_memory_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "SMALL", 1 << 20)
    path = tmp_path / name
    zeros = bytes(1 << 26)
    if name.endswith("zip"):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("lines", zeros)
    else:
        path.write_bytes(gzip.compress(zeros) if name.endswith("gz") else lzma.compress(zeros))
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="which no text does; unpack it and check"):
            reading.read_bytes(path, "lines")
        assert tracemalloc.get_traced_memory()[1] < 1 << 24  # LZMA has a dictionary of 8 MB
    finally:
        tracemalloc.stop()


def test_a_sparse_member_of_an_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "documents.tar"
    header = tarfile.TarInfo("train/neg/0_1.txt")
    header.size = 1 << 40
    path.write_bytes(header.tobuf())
    with pytest.raises(InputError, match="which no text does"):
        documents.prepare(documents.own_documents(path))


def test_a_file_that_cannot_be_opened_is_not_called_damaged(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "none.txt", "No such file or directory"), (tmp_path, "Is a directory")):
        with pytest.raises(InputError) as error:
            read_bytes(path)
        assert str(error.value) == f"{path}: cannot be read ({reason}); name a file that you may read"


def test_only_a_compressed_file_can_be_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that cannot be read does not mean that the file must be fetched again."""

    @contextmanager
    def failing(path: Path, member: str | None = None) -> Iterator[None]:
        raise OSError(errno.EIO, os.strerror(errno.EIO))
        yield

    monkeypatch.setattr(reading, "unpacked", failing)
    for name, message in (("a.txt", r"cannot be read \(Input/output error\)"), ("a.gz", "truncated or damaged")):
        with pytest.raises(InputError, match=message):
            read_bytes(tmp_path / name)
