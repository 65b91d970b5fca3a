"""Worker processes for the chunks of a corpus. What they compute does not depend on their number."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TypeVar

from preprocessing.errors import InputError
from preprocessing.text.parallel import prepare_worker, worker_processes

TaskT = TypeVar("TaskT")
ResultT = TypeVar("ResultT")

WORKERS = "preprocessing"
"""Name that an error message uses if a worker dies."""

WAITING = 3
"""Number of tasks per worker that are read ahead. It bounds the memory of tasks that carry text."""


class Pool:
    """Runs a function on tasks, in worker processes if there are several."""

    def __init__(self, executor: ProcessPoolExecutor | None, workers: int) -> None:
        self._executor, self._workers = executor, workers

    def map(self, function: Callable[[TaskT], ResultT], tasks: Iterable[TaskT]) -> Iterator[ResultT]:
        """Yield the results in the order of the tasks; only a few tasks are taken in advance."""
        if self._executor is None:
            yield from map(function, tasks)
            return
        waiting: deque[Future[ResultT]] = deque()
        try:
            for task in tasks:
                waiting.append(self._executor.submit(function, task))
                if len(waiting) >= WAITING * self._workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool as error:
            reason = "a worker process died, most likely out of memory"
            raise InputError(WORKERS, reason, remedy="run again with fewer processes") from error
        finally:
            for future in waiting:
                future.cancel()


@contextmanager
def workers(processes: int | None) -> Iterator[Pool]:
    """A pool of worker processes (default: one for each processor that this process may use)."""
    number = processes or len(os.sched_getaffinity(0))
    if number == 1:
        yield Pool(None, 1)
        return
    with worker_processes(number, prepare_worker) as executor:
        yield Pool(executor, number)
