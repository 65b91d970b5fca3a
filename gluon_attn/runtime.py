"""What must be fixed before MXNet is imported: threads, instruction set, engine, random resources.

Two profiles. ``portable`` gives the same bits on every x86-64 processor with AVX2: one thread, and oneDNN and OpenBLAS
limited to AVX2 kernels, and no other variable that MXNet or oneDNN reads. ``fast`` uses all cores and instructions and
gives the same bits on the same machine with the same number of threads. Measured: the sums of a matrix product are
split by thread and by vector width, so a different thread count or instruction set changes the last bits and, after
some hundred steps, every bit.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import random
import sys
import threading
from pathlib import Path

from gluon_attn.errors import UsageError

PROFILES = ("portable", "fast")

_PORTABLE = {
    "OMP_NUM_THREADS": "1",
    "DNNL_MAX_CPU_ISA": "AVX2",
    "OPENBLAS_CORETYPE": "Haswell",
}
# MXNet's worker threads each start OpenMP threads, more in total than there are processors; libgomp then puts a
# waiting thread to sleep after 100 turns instead of 1 000, and waking it costs more than the small products in between.
# Two threads were slower than one; with ACTIVE waiting they are twice as fast. Without worker threads (NaiveEngine:
# each operator runs where it is called) training is a quarter faster again: no thread waits for another's work.
# MXNet's OpenBLAS is older than today's processors and takes its slowest kernels on those that it does not know:
# batch_dot is one and a half to twice as fast with those for AVX2, and no faster with those for AVX-512.
_FAST = {"OMP_WAIT_POLICY": "ACTIVE", "MXNET_ENGINE_TYPE": "NaiveEngine", "OPENBLAS_CORETYPE": "Haswell"}
# One random generator for all operators: with several, which operator draws from which depends on the order in which
# graphs were first built, and that order differs between a run and its resumption.
_ALWAYS = {
    "MXNET_CPU_PARALLEL_RAND_COPY": "1",
    "MXNET_SUBGRAPH_VERBOSE": "0",
    "DMLC_LOG_STACK_TRACE_DEPTH": "0",
}

_MOST_THREADS = 1024

# Other variables with these prefixes change kernels and so bits, for instance MXNET_USE_MKLDNN_RNN=0.
_REMOVED = ("MXNET_", "DNNL_", "MKLDNN_", "ONEDNN_")


def environment(profile: str, threads: int | None = None) -> dict[str, str]:
    """The environment variables of a profile.

    Args:
        profile: ``portable`` or ``fast``.
        threads: OpenMP threads of the ``fast`` profile; all processors when None. ``portable`` always has one.

    Raises:
        UsageError: unknown profile, or a thread count that the profile cannot honour.
    """
    if profile not in PROFILES:
        raise UsageError(f"profile {profile!r} is unknown; choose one of {', '.join(PROFILES)}")
    if threads is not None and threads < 1:
        raise UsageError(f"{threads} threads cannot run; choose one or more")
    if threads is not None and threads > _MOST_THREADS:
        raise UsageError(f"{threads} threads are more than can be started; choose at most {_MOST_THREADS}")
    if profile == "portable":
        if threads not in (None, 1):
            raise UsageError(f"the portable profile runs on one thread, not {threads}; use --profile fast for more")
        return {**_ALWAYS, **_PORTABLE}
    return {**_ALWAYS, **_FAST, "OMP_NUM_THREADS": str(threads or len(os.sched_getaffinity(0)))}


def configure(profile: str = "portable", threads: int | None = None) -> None:
    """Set the profile's variables in this process; must run before MXNet and NumPy are first imported.

    What only the other profile sets is removed; ``portable`` also removes all other variables of MXNet and oneDNN.

    Raises:
        UsageError: MXNet is already imported under other settings, which can no longer be changed.
    """
    variables = environment(profile, threads)
    removed = {*_PORTABLE, *_FAST} - variables.keys()
    if profile == "portable":
        removed |= {name for name in os.environ if name.startswith(_REMOVED)} - variables.keys()
    if "mxnet" in sys.modules:
        wrong = [name for name in sorted({*variables, *removed}) if os.environ.get(name) != variables.get(name)]
        if wrong:
            raise UsageError(
                f"MXNet was imported before the {profile} profile could set {', '.join(wrong)}; start a new process"
            )
        return
    for name in removed:
        os.environ.pop(name, None)
    os.environ.update(variables)
    os.environ["GLUON_ATTN_PROFILE"] = profile
    keep_memory()


# Parameters of mallopt(3) in glibc.
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4


def keep_memory() -> None:
    """Have the C library retain freed memory, up to 2 GiB, for the next step.

    Every step allocates and frees the same megabytes. If they are returned to the system in between, each page is
    zeroed and mapped again: a fifth of the time of a step of a language model. No effect unless the C library is glibc.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_MAX, 0)
        mallopt(_TRIM_THRESHOLD, 2**31 - 1)


def end_with_parent() -> None:
    """End this process when the one that holds the other end of its standard input ends, even if that was killed: an
    orphan would hold the lock of its run and block --resume."""

    def watch() -> None:
        while os.read(0, 1):
            pass
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def is_worker() -> bool:
    """Whether the environment makes this process one of several workers of MXNet's parameter server."""
    return os.environ.get("DMLC_ROLE") == "worker"


def active_profile() -> str:
    """The profile that :func:`configure` set, or ``unset``."""
    return os.environ.get("GLUON_ATTN_PROFILE", "unset")


def derive(seed: int, *names: object) -> int:
    """A seed for one purpose, derived from the run's seed: SHA-256 of the names, 31 bits.

    Derived rather than drawn, so that epoch 7 of a resumed run is seeded as epoch 7 of an uninterrupted one.
    """
    digest = hashlib.sha256(repr((int(seed), *map(str, names))).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def seed_all(seed: int) -> None:
    """Seed ``random``, NumPy and MXNet."""
    import mxnet as mx
    import numpy as np

    random.seed(seed)
    np.random.seed(seed)
    mx.random.seed(seed)


def cpu_features() -> str:
    """The instruction sets beyond the baseline that NumPy found, some of whose sums depend on them."""
    from numpy.core import _multiarray_umath

    return " ".join(name for name, found in _multiarray_umath.__cpu_features__.items() if found)


def c_library() -> str:
    """Name and version of the C library, whose ``exp`` and ``log`` belong to a version."""
    return " ".join(part for part in platform.libc_ver() if part) or "unknown"


def hardware() -> str:
    """Processor model, number of usable cores and architecture: for the manifest, never for a decision."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    return f"{model}, {len(os.sched_getaffinity(0))} cores, {platform.machine()}"
