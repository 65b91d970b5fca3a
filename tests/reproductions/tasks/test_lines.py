"""Lines from a terminal or a pipe."""

from __future__ import annotations

import io

import pytest

from gluon_attn.errors import UsageError
from reproductions.protocol.task import AnswerOptions
from reproductions.tasks.lines import blocks, lines


def test_lines_are_numbered_and_stripped() -> None:
    stream = io.BytesIO("\ufeff하나 \n\n  둘\r\nlast".encode())
    assert list(lines(stream)) == [(1, "하나"), (2, ""), (3, "둘"), (4, "last")]


def test_a_line_that_is_not_utf8_is_named() -> None:
    with pytest.raises(UsageError, match=r"standard input, line 2: not UTF-8 .*convert the text first"):
        list(lines(io.BytesIO(b"fine\ncaf\xe9\n")))


def sizes(count: int, options: AnswerOptions, batch_size: int) -> list[int]:
    return [len(block) for block in blocks(io.BytesIO(b"x\n" * count), options, batch_size)]


def test_a_block_has_several_batches_and_one_line_where_someone_waits() -> None:
    first, second = sizes(100, AnswerOptions(), 2)
    assert first > 2 and first % 2 == 0 and first + second == 100
    assert sizes(3, AnswerOptions(interactive=True), 2)[:3] == [1, 1, 1]
    assert sizes(3, AnswerOptions(), 1)[:3] == [1, 1, 1]


def test_lines_before_a_fault_are_answered() -> None:
    read = blocks(io.BytesIO(b"one\ntwo\n\xff\n"), AnswerOptions(source="a.txt"), 100)
    assert next(read) == [(1, "one"), (2, "two")]
    with pytest.raises(UsageError, match=r"a\.txt, line 3: not UTF-8"):
        next(read)
