"""Joining the workers that the environment names."""

from __future__ import annotations

from gluon_attn import runtime
from gluon_attn.training.asynchronous import Asynchronous
from gluon_attn.training.distributed import ALONE, Compressed, Together, Workers


def join(*, compression: float | None = None, asynchronous: bool = False) -> Workers:
    """Join the workers that the environment of this process names, and wait for all of them; alone if it names none.

    Args:
        compression: threshold of gradients of two bits; None for whole ones.
        asynchronous: do not wait for each other, and send whole gradients.
    """
    if not runtime.is_worker():
        return ALONE
    if asynchronous:
        return Asynchronous()
    return Together() if compression is None else Compressed(compression)
