"""Checks of the folders of corpora and results; nothing is downloaded or written."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from preprocessing.corpora import locate
from preprocessing.errors import InputError, MissingError
from reproductions.cli.probe import Fault

GIB = 1024**3


def writable(folder: Callable[[], Path]) -> str:
    """Check that a folder that this program writes to is writable and has space left."""
    existing = next(parent for parent in (folder(), *folder().parents) if parent.exists())
    remedy = "point XDG_CACHE_HOME, and GLUON_ATTN_CACHE where it is set, to a folder that can be written"
    if not (existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)):
        raise Fault(f"{folder()} cannot be written: {existing} does not allow it", remedy)
    observed = f"{folder()}, {shutil.disk_usage(existing).free / GIB:.1f} GiB free"
    if shutil.disk_usage(existing).free < GIB:
        raise Fault(observed, f"free some space (corpora and results take about 1 GiB), or {remedy}", "note")
    return observed


def downloads() -> Path:
    return locate.user_cache() / "data"


def results() -> Path:
    from preprocessing.pipeline import cache

    return cache.path_of("any", "any").parent


def data_root() -> str:
    root = os.environ.get("GLUON_ATTN_DATA", "")
    if root and not Path(root).is_dir():
        raise Fault(f"GLUON_ATTN_DATA={root} is not a folder", "correct it or unset it")
    return root or "GLUON_ATTN_DATA is not set; corpora are searched for in the user cache"


def corpus(name: str) -> str:
    """Check that the files of a corpus exist and have the right hashes; nothing is downloaded."""
    try:
        files = locate.find(name, offline=True)
    except MissingError as error:
        if locate.is_downloaded(name):
            return "not here yet; downloaded when it is first needed"
        raise Fault("not found", error.remedy, "note") from error
    except InputError as error:
        raise Fault(f"{error.where}: {error.reason}", error.remedy) from error
    return f"{files.origin}, {next(iter(files.paths.values())).parent}"
