"""Lines of text from standard input or a file, one by one or in blocks."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import BinaryIO

import numpy as np

from gluon_attn.errors import UsageError
from preprocessing.corpora.reading import looks_like
from preprocessing.text.own_texts import DECOMPOSED
from preprocessing.text.vocabulary import UNKNOWN_ID
from reproductions.protocol.task import AnswerOptions

Line = tuple[int, str]
"""Line number, from 1, and text."""

_BATCHES = 32  # per block: lines of similar length are read together, and answers do not wait for the last line


def lines(stream: BinaryIO, source: str = "standard input") -> Iterator[Line]:
    """Yield each line of UTF-8, without leading and trailing white space.

    Raises:
        UsageError: if a line is not UTF-8; the message names ``source``.
    """
    for number, line in enumerate(stream, start=1):
        try:
            yield number, line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError as error:
            reason = f"not UTF-8 ({error.reason}){looks_like(line)}"
            raise UsageError(f"{source}, line {number}: {reason}; convert the text first") from None


def blocks(stream: BinaryIO, options: AnswerOptions, batch_size: int) -> Iterator[list[Line]]:
    """Yield :func:`lines` in blocks of several batches, or one by one if a person waits for each answer or if batches
    have one line.

    Raises:
        UsageError: if a line is not UTF-8; the lines before it are yielded first.
    """
    size = 1 if options.interactive or batch_size == 1 else _BATCHES * batch_size
    block: list[Line] = []
    try:
        for line in lines(stream, options.source):
            block.append(line)
            if len(block) == size:
                yield block
                block = []
    except UsageError:
        yield block
        raise
    yield block


def too_long(numbers: list[int], tokens: int, limit: int, done: str, keeps: str = "first") -> str:
    """Return a message about lines of which not all tokens are read.

    Args:
        numbers: numbers of the lines, at least one.
        tokens: number of tokens of the first of them.
        limit: number of tokens that are read.
        done: what happens to the tokens, such as "read".
        keeps: which tokens these are, ``first`` or ``last``.
    """
    return f"line {numbers[0]}: {tokens} tokens, only the {keeps} {limit} are {done}{_more(numbers)}"


def name_unknown(lines: Sequence[Line], sequences: Sequence[np.ndarray]) -> None:
    """Report on standard error the lines without a token that is in the vocabulary, and those of decomposed Hangul with
    tokens that are not; ``sequences`` are the ids of the lines."""
    unknown, decomposed = [], []
    for (number, text), ids in zip(lines, sequences, strict=True):
        if (ids == UNKNOWN_ID).any() and DECOMPOSED.search(text):
            decomposed.append(number)
        elif (ids == UNKNOWN_ID).all():
            unknown.append(number)
    for numbers, what, remedy in (
        (unknown, "no token is in the vocabulary", ""),
        (decomposed, "tokens are not in the vocabulary", "; convert decomposed Hangul (NFD) to NFC"),
    ):
        if numbers:
            print(f"line {numbers[0]}: {what}{_more(numbers)}{remedy}", file=sys.stderr)


def _more(numbers: list[int]) -> str:
    if len(numbers) == 2:
        return f"; the same for line {numbers[1]}"
    return f"; the same for {len(numbers) - 1} further lines" if len(numbers) > 1 else ""
