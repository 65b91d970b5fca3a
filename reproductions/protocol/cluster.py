"""The machines of a training on several workers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gluon_attn.errors import UsageError
from preprocessing.errors import InputError


@dataclass(frozen=True)
class Cluster:
    """Where a training runs.

    Attributes:
        hosts: of each worker, by name; empty for this machine.
        servers: as many as add up gradients; they are on the first hosts.
        port: of the scheduler, which is on this machine; None for a free one.
    """

    hosts: tuple[str, ...]
    servers: int = 1
    port: int | None = None

    @classmethod
    def local(cls, workers: int, port: int | None = None) -> Cluster:
        """Processes on this machine."""
        return cls(("",) * workers, port=port)

    @classmethod
    def read(cls, path: Path, port: int | None = None) -> Cluster:
        """The machines that a file names, one worker for each line, and one server on each machine.

        Raises:
            InputError: the file is missing.
            UsageError: it names none.
        """
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise InputError(path, str(error.strerror), remedy="write the name of one host on each line") from None
        hosts = tuple(name for line in lines if (name := line.partition("#")[0].strip()))
        if not hosts:
            raise UsageError(f"{path}: no hosts; write the name of one on each line")
        return cls(hosts, servers=len(set(hosts)), port=port)
