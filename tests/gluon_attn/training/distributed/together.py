"""Workers and a server of MXNet's parameter server as forks of this process, which has imported MXNet already."""

from __future__ import annotations

import multiprocessing
import os
import socket
from collections.abc import Callable
from typing import Any

from gluon_attn.training.distributed.serving import serve

_FORK = multiprocessing.get_context("fork")


def together(size: int, work: Callable[[], Any], *, seconds: float = 240) -> list[Any]:
    """Call a function in each of some workers; what they return, in the order in which they end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {
        "DMLC_PS_ROOT_URI": "127.0.0.1",
        "DMLC_PS_ROOT_PORT": str(port),
        "DMLC_NODE_HOST": "127.0.0.1",
        "DMLC_NUM_WORKER": str(size),
        "DMLC_NUM_SERVER": "1",
    }
    results: Any = _FORK.SimpleQueue()
    processes = [
        _FORK.Process(target=_serve, args=(environment | {"DMLC_ROLE": role},)) for role in ("scheduler", "server")
    ]
    processes += [
        _FORK.Process(target=_work, args=(environment | {"DMLC_ROLE": "worker"}, work, results)) for _ in range(size)
    ]
    for process in processes:
        process.start()
    try:
        for process in processes:
            process.join(seconds)
            assert process.exitcode == 0, f"a process ended with {process.exitcode}"
        return [results.get() for _ in range(size)]
    finally:
        for process in processes:
            process.kill()


def _serve(environment: dict[str, str]) -> None:
    os.environ.update(environment)
    serve()
    os._exit(0)


def _work(environment: dict[str, str], work: Callable[[], Any], results: Any) -> None:
    os.environ.update(environment)
    results.put(work())
