"""Start the processes of a training on several workers, and end them together.

As with MXNet's own launcher, a scheduler, servers and workers find each other through the variables ``DMLC_*``. They
are processes on this machine, or commands that ssh starts on others. All of them end when one fails or when this
process ends: each watches its standard input, whose other end is held by this process.
"""

from __future__ import annotations

import ipaddress
import os
import queue
import shlex
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from preprocessing.errors import InputError
from reproductions.protocol.cluster import Cluster
from reproductions.protocol.processes import how_it_ended, pass_errors_on, print_refusal

_PASSED_ON = ("DMLC_", "PS_", "GLUON_ATTN_")
_SERVER: Sequence[str] = ("serve-gradients",)
_SECONDS_TO_LEAVE = 10.0

# An ssh process whose remote machine is gone ends by itself within 15 seconds.
_SSH_OPTIONS = ("BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=5", "ServerAliveCountMax=3")
_SSH = ["ssh", *(word for option in _SSH_OPTIONS for word in ("-o", option))]


def train_together(cluster: Cluster, words: Sequence[str]) -> None:
    """Train on several workers, and return when all have ended without an error.

    Args:
        cluster: machines of the workers.
        words: command of a worker.

    Raises:
        UsageError: if the port is in use, or if one of the processes failed; all others are then ended.
    """
    port = _port(cluster.port)
    address = _address_for(cluster.hosts[0])
    common = {
        "DMLC_PS_ROOT_URI": address,
        "DMLC_PS_ROOT_PORT": str(port),
        "DMLC_NUM_WORKER": str(len(cluster.hosts)),
        "DMLC_NUM_SERVER": str(cluster.servers),
    }
    servers = list(dict.fromkeys(cluster.hosts))
    members = [("scheduler", "scheduler", "", _SERVER)]
    members += [(f"server {i}", "server", servers[i % len(servers)], _SERVER) for i in range(cluster.servers)]
    members += [(f"worker {i}", "worker", host, words) for i, host in enumerate(cluster.hosts)]
    job = _Job()
    try:
        for name, role, host, command in members:
            job.start(name, host, command, {**common, "DMLC_ROLE": role, "DMLC_NODE_HOST": _address_of(host, address)})
        job.wait_for_workers()
    finally:
        job.end()


class _Job:
    """Processes that end together."""

    def __init__(self) -> None:
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self._ended: queue.SimpleQueue[tuple[str, int, str]] = queue.SimpleQueue()
        self._watchers: list[threading.Thread] = []

    def start(self, name: str, host: str, words: Sequence[str], environment: Mapping[str, str]) -> None:
        command = [sys.executable, "-m", "reproductions", *words]
        if host:
            command = [*_SSH, host, _remote(command, environment)]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **({} if host else environment)},
            encoding="utf-8",
            errors="replace",
        )
        self._processes[name] = process
        where = f"{name} on {host}" if host else name
        watcher = threading.Thread(target=self._watch, args=(name, where, process), daemon=True)
        watcher.start()
        self._watchers.append(watcher)

    def _watch(self, name: str, where: str, process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None
        with process.stderr as lines:
            reason, last = pass_errors_on(lines)
        status = process.wait()
        self._ended.put((name, status, reason or f"{where} {how_it_ended(status, last)}; run again with --resume"))

    def wait_for_workers(self) -> None:
        working = {name for name in self._processes if name.startswith("worker")}
        while working:
            name, status, reason = self._ended.get()
            if status:
                raise UsageError(reason)
            working.discard(name)
        for process in self._processes.values():  # servers exit after the last worker
            try:
                process.wait(_SECONDS_TO_LEAVE)
            except subprocess.TimeoutExpired:
                break

    def end(self) -> None:
        """Kill all processes that are still running; this is safe because files are written completely or not at
        all."""
        for process in self._processes.values():
            process.kill()
        for process in self._processes.values():
            process.wait()
            if process.stdin:
                process.stdin.close()
        for watcher in self._watchers:
            watcher.join()


@contextmanager
def as_member() -> Iterator[None]:
    """Exit immediately if this block fails in one of several workers. Otherwise MXNet would wait at the end of this
    process for all other workers, which wait for this one."""
    if not runtime.is_worker():
        yield
        return
    try:
        yield
    except (InputError, UsageError) as error:
        print_refusal(error)
        os._exit(2)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)


def _remote(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """The same command for a shell on another machine, in the folder with the same path."""
    passed = {name: value for name, value in os.environ.items() if name.startswith(_PASSED_ON)} | dict(environment)
    variables = shlex.join(f"{name}={value}" for name, value in passed.items())
    return f"cd {shlex.quote(os.getcwd())} && exec env {variables} {shlex.join(command)}"


def _port(wanted: int | None) -> int:
    """The wanted port, or any free port if None.

    Raises:
        UsageError: if the wanted port is not free.
    """
    with socket.socket() as probe:
        try:
            probe.bind(("", wanted or 0))
        except OSError as error:
            raise UsageError(f"port {wanted}: {error.strerror}; choose another --port, or none") from None
        return int(probe.getsockname()[1])


def _address_of(host: str, default: str) -> str:
    """The address of a host as this machine resolves it; all others use the same address."""
    if not host:
        return default
    try:
        return socket.gethostbyname(host.rpartition("@")[2])
    except (OSError, UnicodeError) as error:  # UnicodeError: a part between dots is empty or too long
        reason = error.strerror if isinstance(error, OSError) else "not the name of a host"
        raise UsageError(f"host {host!r}: {reason}; correct its name") from None


def _address_for(host: str) -> str:
    """The address of this machine on the network through which it reaches a host."""
    if not host:
        return "127.0.0.1"
    other = _address_of(host, "")
    if ipaddress.ip_address(other).is_loopback:
        return other
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as route:
        route.connect((other, 9))  # sends nothing
        return str(route.getsockname()[0])
