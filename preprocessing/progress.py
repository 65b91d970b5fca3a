"""Progress bars for operations that take more than a second."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqdm import tqdm


def progress(items: Iterable[Any] | None, title: str, unit: str, total: int | None = None) -> tqdm[Any]:
    """A progress bar on standard error, shown only on a terminal and removed when it ends.

    Args:
        items: counted while they are iterated over; None if the caller counts with ``update``.
        title, unit: shown next to the bar; the unit ``B`` means bytes.
        total: number of items, if ``items`` has no length.
    """
    from tqdm import tqdm  # not needed by commands that only print help

    return tqdm(items, title, total, unit=unit, unit_scale=unit == "B", delay=1, leave=False, disable=None)
