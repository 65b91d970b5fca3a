"""Options that divide the work of a training among workers."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from reproductions.protocol.cluster import Cluster


@dataclass(frozen=True)
class Division:
    """The workers, the micro-batches and the device of a training; the attributes are options of the same names.

    Raises:
        UsageError: if two options exclude each other, if the threshold is not finite, or if an option for several
            workers is given without them.
    """

    local_workers: int | None
    hosts: Path | None
    port: int | None
    micro_batches: int
    device: str
    compression: float | None
    asynchronous: bool

    def __post_init__(self) -> None:
        if self.local_workers is not None and self.hosts is not None:
            raise UsageError("--local-workers are processes here, --workers are other machines; choose one of them")
        if self.compression is not None and not math.isfinite(self.compression):
            raise UsageError(f"--compression must be a finite number, not {self.compression}; choose one such as 0.001")
        if self.compression is not None and self.asynchronous:
            raise UsageError("--compression is for workers that wait for each other; leave out --asynchronous")
        given = {"--compression": self.compression is not None, "--asynchronous": self.asynchronous}
        options = [name for name, is_given in given.items() if is_given and not runtime.is_worker()]
        options += ["--port"] if self.port is not None else []
        if options and self.local_workers is None and self.hosts is None:
            raise UsageError(f"{options[0]} is for several workers; add --local-workers or --workers, or leave it out")

    @property
    def of_worker(self) -> list[str]:
        """Command line options for one of the workers."""
        words = ["--micro-batches", str(self.micro_batches)] if self.micro_batches > 1 else []
        words += ["--device", self.device] if self.device != "cpu" else []
        words += ["--compression", str(self.compression)] if self.compression is not None else []
        return words + (["--asynchronous"] if self.asynchronous else [])

    @property
    def words(self) -> list[str]:
        """Command line options for the command that trains one run."""
        options = {"--local-workers": self.local_workers, "--workers": self.hosts, "--port": self.port}
        words = [word for name, value in options.items() if value is not None for word in (name, str(value))]
        return words + self.of_worker

    @property
    def cluster(self) -> Cluster | None:
        """The workers; None if a single process trains."""
        if self.hosts is not None:
            return Cluster.read(self.hosts, self.port)
        return Cluster.local(self.local_workers, self.port) if self.local_workers is not None else None

    def jobs(self, cores: int) -> int:
        """Default number of parallel trainings; each local worker takes one core. Only one can use a given port."""
        return 1 if self.hosts is not None or self.port is not None else max(1, cores // (self.local_workers or 1))

    def threads(self, profile: str, threads: int | None) -> int | None:
        """OpenMP threads of each process; in the fast profile, local workers share the processors."""
        if threads is None and profile == "fast" and self.local_workers:
            return max(1, len(os.sched_getaffinity(0)) // self.local_workers)
        return threads
