"""Joining the workers named by environment variables."""

from __future__ import annotations

from gluon_attn import runtime
from gluon_attn.training.distributed.asynchronous import Asynchronous
from gluon_attn.training.distributed.workers import ALONE, Compressed, Together, Workers


def join(*, compression: float | None = None, asynchronous: bool = False) -> Workers:
    """Join the workers named by the environment of this process, and wait for all of them; a single worker if none are
    named.

    Args:
        compression: threshold for gradients of two bits; None to send whole gradients.
        asynchronous: whether workers do not wait for each other; they then send whole gradients.
    """
    if not runtime.is_worker():
        return ALONE
    if asynchronous:
        return Asynchronous()
    return Together() if compression is None else Compressed(compression)
