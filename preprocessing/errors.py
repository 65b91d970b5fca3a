"""The one exception this room raises for input a person can mend."""

from __future__ import annotations

from os import PathLike


class InputError(Exception):
    """Bad input, in one line: where, what is wrong, what to do about it.

    The command line prints ``str(error)`` and exits with status 2; whoever raises it has left nothing half-written.
    """

    def __init__(self, where: str | PathLike[str], reason: str, *, line: int | None = None, remedy: str = "") -> None:
        self.where, self.line, self.reason, self.remedy = str(where), line, reason, remedy
        place = self.where if line is None else f"{self.where}, line {line}"
        super().__init__(f"{place}: {reason}" + (f"; {remedy}" if remedy else ""))


class MissingError(InputError):
    """Input that is not here and could not be fetched, as against input that is here and damaged."""
