"""Worker processes, and tokenising texts in them; the result depends neither on their number nor on how they start."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import types
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import count
from typing import Any

import numpy as np

from preprocessing.errors import InputError
from preprocessing.pipeline.ragged import Ragged
from preprocessing.progress import progress
from preprocessing.text.tokenizers.tokenizer import Tokenizer

CHUNK = 4096
TITLE, UNIT = "tokenize", f"{CHUNK} texts"
Chunk = tuple[list[str], np.ndarray, np.ndarray]
"""Symbols of a chunk, symbol index of each token, and number of tokens of each text."""


def tokenize_all(tokenizer: Tokenizer, texts: Sequence[str], processes: int | None = None) -> tuple[list[str], Ragged]:
    """Tokens of every text as (symbols, rows): ``rows`` are indices into ``symbols``, the distinct tokens in order of
    first occurrence. ``processes``: maximum number of worker processes (default: the processors available to this
    process)."""
    chunks = [texts[start : start + CHUNK] for start in range(0, len(texts), CHUNK)]
    workers = min(processes or len(os.sched_getaffinity(0)), len(chunks))
    if workers <= 1:
        return _merge(tokenize_texts(tokenizer, chunk) for chunk in progress(chunks, TITLE, UNIT))
    if start_method() == "spawn" and type(tokenizer).__module__ == "__main__":
        reason = "is defined in the program that runs, from which worker processes cannot import it"
        raise InputError(f"tokenizer {tokenizer.name}", reason, remedy="move it to a module, or give processes=1")
    with worker_processes(workers, _start_worker, tokenizer) as pool:
        try:
            return _merge(progress(pool.map(_work, chunks), TITLE, UNIT, len(chunks)))
        except BrokenProcessPool as error:
            reason = "a worker process died, most likely out of memory"
            raise InputError(f"tokenizer {tokenizer.name}", reason, remedy="use fewer processes") from error


@contextmanager
def worker_processes(number: int, initializer: Callable[..., None], *arguments: Any) -> Iterator[ProcessPoolExecutor]:
    """Worker processes, each of which calls ``initializer(*arguments)`` first; Ctrl-C ends them at once."""
    context = multiprocessing.get_context(start_method())
    others = set(multiprocessing.active_children())
    with lean_main(), ProcessPoolExecutor(number, context, initializer, arguments) as pool:
        try:
            yield pool
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in set(multiprocessing.active_children()) - others:
                worker.kill()  # otherwise the end of the block would wait for all tasks that have begun
            raise


def tokenize_texts(tokenizer: Tokenizer, texts: Sequence[str]) -> Chunk:
    """One chunk as (symbols of the chunk, index of each token, tokens per text): small to send between processes."""
    symbols = _numbering()
    ids: list[int] = []
    ends = [0]
    for text in texts:
        ids += map(symbols.__getitem__, tokenizer.tokenize(text))
        ends.append(len(ids))
    return list(symbols), np.array(ids, np.int32), np.diff(np.array(ends, np.int64))


def _numbering() -> defaultdict[str, int]:
    """A table that assigns the next number to each new token. It is read millions of times, so its default factory is
    in C."""
    return defaultdict(count().__next__)


def _start_worker(tokenizer: Tokenizer) -> None:
    # One analyser for the lifetime of the process: loading one takes up to seconds.
    global _worker_tokenizer
    _worker_tokenizer = tokenizer
    prepare_worker()


def prepare_worker() -> None:
    """Make this worker process end with its parent, and leave Ctrl-C to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent too, which ends its workers
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when its parent ends, even if the parent was killed and could not end its workers itself."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(texts: Sequence[str]) -> Chunk:
    return tokenize_texts(_worker_tokenizer, texts)


_worker_tokenizer: Tokenizer


def _merge(chunks: Iterable[Chunk]) -> tuple[list[str], Ragged]:
    table = _numbering()
    ids, lengths = [np.empty(0, np.int32)], [np.empty(0, np.int64)]
    for symbols, local, tokens_per_text in chunks:
        renumber = np.fromiter(map(table.__getitem__, symbols), np.int32, len(symbols))
        ids.append(renumber[local])
        lengths.append(tokens_per_text)
    return list(table), Ragged.from_lengths(np.concatenate(ids), np.concatenate(lengths))


def start_method() -> str:
    """``fork``, which is faster, or ``spawn`` if MXNet or a Java virtual machine runs threads: such a process must not
    be forked."""
    jpype = sys.modules.get("jpype")
    return "spawn" if "mxnet" in sys.modules or (jpype is not None and jpype.isJVMStarted()) else "fork"


@contextmanager
def lean_main() -> Iterator[None]:
    """Replace ``__main__`` by an empty module while workers are spawned: they would import that of the caller again,
    guarded or not, and all of MXNet with it, but need only this package."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
