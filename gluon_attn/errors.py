"""Errors that a user can fix: one line that says what is wrong, where, and what to do."""

from __future__ import annotations


class UsageError(Exception):
    """A request that cannot be carried out as asked; the command line prints it and exits with status 2."""
