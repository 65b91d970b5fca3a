"""The machines of a training on several workers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gluon_attn.errors import UsageError
from preprocessing.errors import InputError


@dataclass(frozen=True)
class Cluster:
    """The workers and servers of a training.

    Attributes:
        hosts: host name of each worker; empty for this machine.
        servers: number of servers, which sum the gradients; they run on the first hosts.
        port: port of the scheduler, which runs on this machine; None for any free port.
    """

    hosts: tuple[str, ...]
    servers: int = 1
    port: int | None = None

    @classmethod
    def local(cls, workers: int, port: int | None = None) -> Cluster:
        """A cluster of processes on this machine."""
        return cls(("",) * workers, port=port)

    @classmethod
    def read(cls, path: Path, port: int | None = None) -> Cluster:
        """Read the machines from a file: one worker per line, and one server on each machine.

        Raises:
            InputError: if the file cannot be read.
            UsageError: if it names no host.
        """
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeError) as error:
            reason = str(error.strerror) if isinstance(error, OSError) else "is not UTF-8 text"
            raise InputError(path, reason, remedy="write the name of one host on each line") from None
        hosts = tuple(name for line in lines if (name := line.partition("#")[0].strip()))
        if not hosts:
            raise UsageError(f"{path}: no hosts; write the name of one on each line")
        return cls(hosts, servers=len(set(hosts)), port=port)
