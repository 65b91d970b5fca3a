"""Lines of text from standard input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from gluon_attn.errors import UsageError


def lines(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """Yield number, from 1, and text of each line of UTF-8, without leading and trailing white space.

    Raises:
        UsageError: a line is not UTF-8.
    """
    for number, line in enumerate(stream, start=1):
        try:
            yield number, line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError as error:
            raise UsageError(
                f"standard input, line {number}: not UTF-8 ({error.reason}); convert the text first"
            ) from None
