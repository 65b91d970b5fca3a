"""Errors that a user can fix: one line that says what is wrong, where, and what to do."""

from __future__ import annotations


class UsageError(Exception):
    """A request that cannot be carried out as asked; the command line prints it and exits with status 2."""


def check_layers(layers: int) -> None:
    """Raise UsageError if a network would have no layers."""
    if layers < 1:
        raise UsageError(f"layers must be 1 or more, not {layers}")
