"""Settings that must be made before MXNet is imported: threads, instruction set, engine, random resources.

There are two profiles. ``portable`` gives bitwise equal results on every x86-64 processor with AVX2: it uses one
thread, limits oneDNN and OpenBLAS to AVX2 kernels, and removes all other variables of MXNet and oneDNN. ``fast`` uses
all cores and instructions, and gives bitwise equal results only on the same machine with the same number of threads.
The sums of a matrix product are split by thread and by vector width, so a different thread count or instruction set
changes the last bits of a result and, after some hundred steps of training, all of them.
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
# MXNet's worker threads each start OpenMP threads, more in total than there are processors. libgomp then puts a waiting
# thread to sleep after 100 iterations instead of 1 000, and waking it takes longer than the small products in between.
# Two threads were slower than one; with ACTIVE waiting they are twice as fast. Without worker threads (NaiveEngine, in
# which each operator runs where it is called) training is another quarter faster, as no thread waits for another.
# MXNet's OpenBLAS is older than today's processors and selects its slowest kernels on those that it does not know:
# batch_dot is one and a half to two times as fast with the AVX2 kernels, and no faster with those for AVX-512.
_FAST = {"OMP_WAIT_POLICY": "ACTIVE", "MXNET_ENGINE_TYPE": "NaiveEngine", "OPENBLAS_CORETYPE": "Haswell"}
# One random generator for all operators: with several, the generator that an operator draws from depends on the order
# in which graphs were first built, which differs between a run and its resumption.
_ALWAYS = {
    "MXNET_CPU_PARALLEL_RAND_COPY": "1",
    "MXNET_SUBGRAPH_VERBOSE": "0",
    "DMLC_LOG_STACK_TRACE_DEPTH": "0",
}

_OMP = "OMP_NUM_THREADS"
_READ_BY_NUMPY = {_OMP, "OPENBLAS_CORETYPE"}  # by its OpenBLAS, when it is imported
_BEFORE_OMP = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS")  # OpenBLAS prefers them to OMP_NUM_THREADS

_MOST_THREADS = 1024

# Other variables with these prefixes change kernels and thus results, for instance MXNET_USE_MKLDNN_RNN=0.
_REMOVED = ("MXNET_", "DNNL_", "MKLDNN_", "ONEDNN_")


def environment(profile: str, threads: int | None = None) -> dict[str, str]:
    """Return the environment variables of a profile.

    Args:
        profile: ``portable`` or ``fast``.
        threads: OpenMP threads of the ``fast`` profile; all processors if None. ``portable`` always has one.

    Raises:
        UsageError: if the profile is unknown, or the number of threads is impossible in it.
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

    Variables that only the other profile sets are removed, and those that give OpenBLAS another number of threads;
    ``portable`` also removes all other variables of MXNet and oneDNN.

    Raises:
        UsageError: if MXNet or NumPy is already imported under other settings, which can no longer be changed.
    """
    variables = environment(profile, threads)
    own_threads = {name for name in _BEFORE_OMP if os.environ.get(name, variables[_OMP]) != variables[_OMP]}
    removed = {*_PORTABLE, *_FAST} - variables.keys() | own_threads
    if profile == "portable":
        removed |= {name for name in os.environ if name.startswith(_REMOVED)} - variables.keys()
    by_numpy = _READ_BY_NUMPY & variables.keys() | own_threads
    for module, read in {"mxnet": {*variables, *removed}, "numpy": by_numpy}.items():
        wrong = [name for name in sorted(read) if os.environ.get(name) != variables.get(name)]
        if wrong and module in sys.modules:
            raise UsageError(
                f"{module} was imported before the {profile} profile could set {', '.join(wrong)}; start a new process"
            )
    if "mxnet" in sys.modules:
        return
    for name in removed:
        os.environ.pop(name, None)
    os.environ.update(variables)
    keep_memory()


# Parameters of mallopt(3) in glibc.
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4


def keep_memory() -> None:
    """Make the C library keep freed memory, up to 2 GiB, for the next step.

    Every step allocates and frees the same memory. If it is returned to the system in between, each page is zeroed and
    mapped again, which takes a fifth of the time of a step of a language model. Has an effect only with glibc.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_MAX, 0)
        mallopt(_TRIM_THRESHOLD, 2**31 - 1)


def end_with_parent() -> None:
    """End this process when the process at the other end of its standard input ends, even if that was killed: an orphan
    would hold the lock of its run and block --resume."""

    def watch() -> None:
        while os.read(0, 1):
            pass
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def is_worker() -> bool:
    """Return whether the environment makes this process a worker of MXNet's parameter server."""
    return os.environ.get("DMLC_ROLE") == "worker"


def derive(seed: int, *names: object) -> int:
    """Derive a seed for one purpose from the seed of a run: 31 bits of the SHA-256 of seed and names.

    Seeds are derived rather than drawn, so that epoch 7 of a resumed run has the seed of epoch 7 of an uninterrupted
    run.
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
    """Return the instruction sets beyond the baseline that NumPy detects; some of its sums depend on them."""
    from numpy.core import _multiarray_umath

    return " ".join(name for name, supported in _multiarray_umath.__cpu_features__.items() if supported)


def c_library() -> str:
    """Return name and version of the C library, whose ``exp`` and ``log`` depend on the version."""
    return " ".join(part for part in platform.libc_ver() if part) or "unknown"


def hardware() -> str:
    """Return processor model, number of usable cores and architecture, for the manifest only."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    cores = len(os.sched_getaffinity(0))
    return f"{model}, {cores} core{'s' * (cores > 1)}, {platform.machine()}"
