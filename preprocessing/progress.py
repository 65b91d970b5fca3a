"""Progress of whatever takes more than a second."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqdm import tqdm


def progress(items: Iterable[Any] | None, title: str, unit: str, total: int | None = None) -> tqdm[Any]:
    """A progress bar on standard error, on a terminal alone, that is removed when it ends.

    Args:
        items: counted while they are iterated over; None where ``update`` counts.
        title, unit: shown next to the bar; B are bytes.
        total: number of items, where they have no length.
    """
    from tqdm import tqdm  # commands that only print help do without it

    return tqdm(items, title, total, unit=unit, unit_scale=unit == "B", delay=1, leave=False, disable=None)
