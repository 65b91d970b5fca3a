"""The result of a run in bounded memory: its arrays on disk, mapped into memory."""

from __future__ import annotations

import json
import logging
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from preprocessing.bitext.bounded.card import BoundedCard
from preprocessing.bitext.bounded.pool import WORKERS
from preprocessing.bitext.bounded.run import COLUMNS, BoundedRun
from preprocessing.bitext.bounded.shards import digest_of_files, mapped
from preprocessing.bitext.bounded.steps import Translating
from preprocessing.bitext.data import SIDES, Bitext
from preprocessing.corpora import CorpusFiles
from preprocessing.corpora.reading import FETCH_AGAIN, of_own_file
from preprocessing.errors import InputError
from preprocessing.files import FULL, atomic_file, write_json
from preprocessing.pipeline import cache
from preprocessing.pipeline.card import corpus_of
from preprocessing.pipeline.ragged import pack_strings

CARD = "card.json"
_log = logging.getLogger(__name__)


def is_complete(pipeline: Translating, files: CorpusFiles) -> bool:
    """Whether the result of a run is in the cache."""
    return (_folder(pipeline, files) / CARD).exists()


def run(
    pipeline: Translating, files: CorpusFiles, *, processes: int | None, keep: bool
) -> tuple[Bitext, dict[str, Any]]:
    """Run a pipeline on files, continue a run that was killed, or read a complete result; return the data, mapped into
    memory, and its card. Without ``keep``, nothing stays on disk when the data is no longer used.

    Raises InputError for bad files and if the disk is full.
    """
    if not keep:
        with tempfile.TemporaryDirectory(prefix="gluon-attn-") as temporary:
            return _finished(pipeline, files, Path(temporary) / "run", processes)
    folder = _folder(pipeline, files)
    with cache.locked(folder.with_suffix(".npz")):
        if not os.access(folder.parent, os.W_OK | os.X_OK):  # the lock has warned about it
            return run(pipeline, files, processes=processes, keep=False)
        if (folder / CARD).exists():
            try:
                data, card = _load(pipeline, folder)
                if digest_of_files(_paths(folder)) == card["digest"]:
                    for shards in folder.glob("shards-*"):  # left by a run that was killed while it deleted them
                        shutil.rmtree(shards)
                    return data, card | {"corpus": corpus_of(files)}
                reason = "does not have its digest"
            except (InputError, KeyError, ValueError) as error:
                reason = f"cannot be read ({error})"
            _log.warning("%s: result %s; it is computed again", folder, reason)
            shutil.rmtree(folder)
        return _finished(pipeline, files, folder, processes)


def _folder(pipeline: Translating, files: CorpusFiles) -> Path:
    return cache.path_of(pipeline.name, pipeline.key(files)).with_suffix(".shards")


def _finished(
    pipeline: Translating, files: CorpusFiles, folder: Path, processes: int | None
) -> tuple[Bitext, dict[str, Any]]:
    """Compute what is missing in a folder. If the corpus is at fault, the folder is deleted."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        computed = BoundedRun(pipeline, files, folder)
        computed.compute(processes)
        files.check_unchanged()
        for side, data in zip(SIDES, computed.states, strict=True):
            utf8, offsets = pack_strings(computed.symbols[side])
            for name, array in {**data.to_arrays(), "symbols.utf8": utf8, "symbols.offsets": offsets}.items():
                with atomic_file(folder / COLUMNS / f"{side}.{name}.npy") as stream:
                    np.lib.format.write_array(stream, array, version=(2, 0), allow_pickle=False)
        write_json(folder / CARD, BoundedCard(computed).build(digest_of_files(_paths(folder))))
        computed.remove_shards()
    except InputError as error:
        if error.where != WORKERS and not error.where.startswith(str(folder)):
            shutil.rmtree(folder)
        if files.origin == "given" and error.remedy.endswith(FETCH_AGAIN):
            raise of_own_file(error) from error
        raise
    except OSError as error:
        reason = f"cannot be written ({error.strerror or error})"
        remedy = "free some space" if error.errno in FULL else "make the folder writable"
        raise InputError(folder, reason, remedy=f"{remedy}, and run again") from error
    return _load(pipeline, folder)


def _load(pipeline: Translating, folder: Path) -> tuple[Bitext, dict[str, Any]]:
    """The result in a folder, mapped into memory."""
    card: dict[str, Any] = json.loads((folder / CARD).read_text(encoding="utf-8"))
    arrays = {name: mapped(path) for name, path in _paths(folder).items()}
    splits = list(card["splits"])
    in_order = sorted(arrays, key=lambda name: splits.index(split) if (split := name.split(".")[1]) in splits else -1)
    return pipeline.restored({name: arrays[name] for name in in_order}), card


def _paths(folder: Path) -> dict[str, Path]:
    """The file of each array of the result; equal arrays share a file."""
    paths = {path.name.removesuffix(".npy"): path for path in sorted((folder / COLUMNS).glob("*.npy"))}
    for name, path in list(paths.items()):
        if name.endswith(".row_id"):
            paths[name.replace("source.", "target.", 1)] = path
        elif name.endswith(".tokens.offsets"):
            paths[name.replace(".tokens.", ".encoded.")] = path
    return paths
