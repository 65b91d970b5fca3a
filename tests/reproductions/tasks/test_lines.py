"""Lines from a terminal or a pipe."""

from __future__ import annotations

import io

import pytest

from gluon_attn.errors import UsageError
from reproductions.tasks.lines import lines


def test_lines_are_numbered_and_stripped() -> None:
    stream = io.BytesIO("\ufeff하나 \n\n  둘\r\nlast".encode())
    assert list(lines(stream)) == [(1, "하나"), (2, ""), (3, "둘"), (4, "last")]


def test_a_line_that_is_not_utf8_is_named() -> None:
    with pytest.raises(UsageError, match=r"standard input, line 2: not UTF-8 .*convert the text first"):
        list(lines(io.BytesIO(b"fine\ncaf\xe9\n")))
