"""Errors that a user can fix: the one exception that the preprocessing raises, and its most common check."""

from __future__ import annotations

from os import PathLike


class InputError(Exception):
    """Bad input, in one line: where, what is wrong, what to do about it.

    The command line prints ``str(error)`` and exits with status 2. Nothing is left half-written where it is raised.
    """

    def __init__(self, where: str | PathLike[str], reason: str, *, line: int | None = None, remedy: str = "") -> None:
        self.where, self.line, self.reason, self.remedy = str(where), line, reason, remedy
        location = self.where if line is None else f"{self.where}, line {line}"
        super().__init__(f"{location}: {reason}" + (f"; {remedy}" if remedy else ""))


class MissingError(InputError):
    """Input that is missing and could not be downloaded, as opposed to input that is damaged."""


class ParameterError(InputError):
    """A parameter with a value that it cannot have; ``parameter`` is its name and ``value`` what was given."""

    def __init__(self, parameter: str, value: object, reason: str, *, remedy: str = "") -> None:
        self.parameter, self.value = parameter, value
        super().__init__(f"{parameter} {value}", reason, remedy=remedy)


def check_positive(**values: float | None) -> None:
    """Raise ParameterError for the first value below 1, under the name it is given by; None is no value."""
    for name, value in values.items():
        if value is not None and value < 1:
            raise ParameterError(name, value, "must be at least 1", remedy="choose a positive number")
