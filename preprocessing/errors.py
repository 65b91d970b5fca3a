"""Errors that a user can fix: the exception that the preprocessing raises, and the most common checks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from os import PathLike
from typing import Any


class InputError(Exception):
    """Bad input, described in one line: where it is, what is wrong and how to fix it.

    The command line prints ``str(error)`` and exits with status 2. When it is raised, no half-written file is left.
    """

    def __init__(self, where: str | PathLike[str], reason: str, *, line: int | None = None, remedy: str = "") -> None:
        self.where, self.line, self.reason, self.remedy = str(where), line, reason, remedy
        location = self.where if line is None else f"{self.where}, line {line}"
        super().__init__(f"{location}: {reason}" + (f"; {remedy}" if remedy else ""))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the error with its attributes, as a worker process sends it."""
        return _restored, (type(self), str(self), vars(self))


def _restored(kind: type[InputError], message: str, attributes: dict[str, Any]) -> InputError:
    error = kind.__new__(kind)
    Exception.__init__(error, message)
    vars(error).update(attributes)
    return error


class MissingError(InputError):
    """Input that is missing and could not be downloaded, as opposed to input that is damaged."""


class ParameterError(InputError):
    """An invalid value of a parameter; ``parameter`` is its name and ``value`` the given value."""

    def __init__(self, parameter: str, value: object, reason: str, *, remedy: str = "") -> None:
        self.parameter, self.value = parameter, value
        super().__init__(f"{parameter} {value!r}", reason, remedy=remedy)


LARGEST = 2**31 - 1


def checked_list(texts: Iterable[str]) -> list[str]:
    """The texts as a list. Raises InputError for a single text, whose characters would be taken for texts, and for one
    that is no text or not Unicode."""
    if isinstance(texts, str):
        raise ParameterError("texts", texts, "is a single text", remedy="give a list of texts")
    try:
        listed = list(texts)
    except TypeError:
        raise InputError("texts", f"{type(texts).__name__}, not a list of str", remedy="give a list of str") from None
    for number, text in enumerate(listed):
        if not isinstance(text, str):
            raise InputError("texts", f"text {number} is {type(text).__name__}, not str", remedy="give a list of str")
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            reason = f"text {number} contains half a surrogate pair, which is not a character"
            raise ParameterError("texts", text[:20], reason, remedy="remove it") from None
    return listed


def check_positive(**values: float | None) -> None:
    """Raise ParameterError for the first value that is not a whole number from 1 to 2147483647. Each keyword is the
    name of a parameter; None is not checked."""
    for name, value in values.items():
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            # NumPy's integers cannot be written as JSON, so not to a card.
            reason = "must be a whole number" if isinstance(value, float) else f"is {type(value).__name__}, not int"
            raise ParameterError(name, value, reason, remedy="give a positive whole number")
    check_at_least_one(**values)


def check_at_least_one(**values: float | None) -> None:
    """Raise ParameterError for the first value that is not a number from 1 to 2147483647, the largest number that
    arrays of lengths and ids can hold. Each keyword is the name of a parameter; None is not checked."""
    for name, value in values.items():
        if value is None:
            continue
        if not value >= 1:  # refuses NaN too
            raise ParameterError(name, value, "must be at least 1", remedy="choose a positive number")
        if value > LARGEST:
            raise ParameterError(name, value, f"must be a number up to {LARGEST}", remedy="choose a smaller one")


def check_above_zero(**values: float) -> None:
    """Raise ParameterError for the first value that is not a finite number above 0."""
    for name, value in values.items():
        if not 0 < value < math.inf:
            raise ParameterError(name, value, "must be above 0", remedy="choose a positive number")


def check_choice(parameter: str, value: object, choices: Iterable[str]) -> None:
    """Raise ParameterError if ``value`` is none of ``choices``, of which there are at least two."""
    *others, last = choices
    if value not in (*others, last):
        raise ParameterError(parameter, value, "no such choice", remedy=f"choose {', '.join(others)} or {last}")
