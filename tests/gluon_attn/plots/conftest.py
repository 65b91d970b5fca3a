"""The figures that a test draws, for a look at what is in them."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.figure import Figure


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """The figures that were written so far, in order."""
    written: list[Figure] = []
    save = Figure.savefig

    def savefig(figure: Figure, *positional: Any, **named: Any) -> None:
        written.append(figure)
        save(figure, *positional, **named)

    monkeypatch.setattr(Figure, "savefig", savefig)
    return written
