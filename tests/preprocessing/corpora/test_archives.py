"""Files of folders and archives: what is read, and what is refused."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from pathlib import Path

import pytest

from preprocessing.corpora.archives import contents
from preprocessing.errors import InputError


def test_a_wanted_file_whose_name_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xc0\xd0.jpg")).write_bytes(b"image")
    (tmp_path / "one.jpg").write_bytes(b"one")
    assert list(contents(tmp_path, lambda name: name == "one.jpg")) == [("one.jpg", b"one")]
    with pytest.raises(InputError, match=r"'\\udcc0\\udcd0\.jpg': the name of the file is not UTF-8; rename it"):
        list(contents(tmp_path, lambda name: True))


def test_an_archive_with_a_wrong_checksum_is_refused(tmp_path: Path) -> None:
    """The checksum comes after the last member: all of them can be read without it."""
    packed, path = io.BytesIO(), tmp_path / "a.tar.gz"
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("one.txt"), io.BytesIO())
    whole = bytearray(gzip.compress(packed.getvalue()))
    path.write_bytes(whole)
    assert list(contents(path, lambda name: True)) == [("one.txt", b"")]
    whole[-8] ^= 1
    path.write_bytes(whole)
    with pytest.raises(InputError, match=r"cannot be decompressed to its end .*CRC"):
        list(contents(path, lambda name: True))
