"""What others report: numbers with their corpus, metric and source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reported:
    """A number reported by a paper or a public implementation.

    ``checked`` is ``text`` (compared with the published text), ``secondary`` (with a summary or README) or ``memory``;
    a number from memory is printed with a dagger. ``digits`` after the point are those that the source gives.
    """

    system: str
    value: float
    corpus: str
    metric: str
    source: str
    checked: str = "text"
    details: str = ""
    digits: int = 2

    @property
    def shown(self) -> str:
        """The value with as many digits as its source gives, and how it was checked."""
        mark = {"text": "", "secondary": " (secondary source)", "memory": " †"}[self.checked]
        return f"{self.value:.{self.digits}f}{mark}"


@dataclass(frozen=True)
class Table:
    """A published table: what its numbers have in common, ``digits`` after the point among it."""

    source: str
    corpus: str
    metric: str
    checked: str = "text"
    digits: int = 2

    def entry(self, system: str, value: float, details: str = "", *, metric: str = "") -> Reported:
        """One number of the table; ``metric`` where the table has several."""
        metric = metric or self.metric
        return Reported(system, value, self.corpus, metric, self.source, self.checked, details, self.digits)
