"""Files of folders and archives: what is read, and what is refused."""

from __future__ import annotations

import os
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
