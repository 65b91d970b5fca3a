"""Numbers that others report, with their corpus, metric and source."""

from __future__ import annotations

import re
from dataclasses import dataclass

MARKS = {"memory": " †", "secondary": " (secondary source)", "text": ""}
"""What is printed after a number, by what it was checked against; what was checked the least comes first."""

_ARXIV, _REPOSITORY = re.compile(r"arXiv:(\d{4}\.\d{4,5})"), re.compile(r"[\w.-]+/[\w.-]+")


def linked(source: str) -> str:
    """A source in Markdown, with links to arXiv, and to GitHub if it is a repository, ``owner/name``."""
    if _REPOSITORY.fullmatch(source):
        return f"[{source}](https://github.com/{source})"
    return _ARXIV.sub(r"[arXiv:\1](https://arxiv.org/abs/\1)", source)


@dataclass(frozen=True)
class Reported:
    """A number reported by a paper or a public implementation.

    ``checked`` says what the number was checked against: ``text`` (what its authors publish: the paper, or the README
    of their code), ``secondary`` (another text, such as a summary) or ``memory``, which is printed with a dagger.
    ``digits`` is the number of decimals that the source gives.
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
        """The value with the decimals of its source, and a mark unless it was read where its authors publish it."""
        return f"{self.value:.{self.digits}f}{MARKS[self.checked]}"

    @property
    def by(self) -> str:
        """The system and the source."""
        return f"{self.system} ({self.source})"


@dataclass(frozen=True)
class Table:
    """A published table: the attributes that all its numbers share."""

    source: str
    corpus: str
    metric: str
    checked: str = "text"
    digits: int = 2

    def entry(self, system: str, value: float, details: str = "", *, metric: str = "") -> Reported:
        """One number of the table; ``metric`` overrides the metric of the table."""
        metric = metric or self.metric
        return Reported(system, value, self.corpus, metric, self.source, self.checked, details, self.digits)
