"""Settings that must precede the import of MXNet, and the seeds of all random draws."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import mxnet as mx
import numpy as np
import pytest
from hypothesis import given, strategies as st

from gluon_attn import runtime
from gluon_attn.errors import UsageError

ROOT = Path(__file__).parents[2]


def python(code: str, **environment: str) -> str:
    """What a new Python process prints."""
    finished = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


# --- profiles ---


def test_portable_is_one_thread_and_avx2() -> None:
    portable = runtime.environment("portable")
    assert portable["OMP_NUM_THREADS"] == "1"
    assert portable["DNNL_MAX_CPU_ISA"] == "AVX2"
    assert portable["OPENBLAS_CORETYPE"] == "Haswell"
    assert portable["MXNET_CPU_PARALLEL_RAND_COPY"] == "1"
    assert runtime.environment("portable", 1) == portable


def test_fast_uses_the_machine_as_it_is() -> None:
    assert runtime.environment("fast", 3)["OMP_NUM_THREADS"] == "3"
    assert runtime.environment("fast")["OMP_NUM_THREADS"] == str(len(os.sched_getaffinity(0)))
    assert "DNNL_MAX_CPU_ISA" not in runtime.environment("fast")
    assert runtime.environment("fast")["MXNET_CPU_PARALLEL_RAND_COPY"] == "1"


@pytest.mark.parametrize(
    ("profile", "threads", "reason"),
    [("quick", None, "'quick'"), ("fast", 0, "0 threads"), ("portable", -2, "-2 threads"), ("portable", 2, "not 2")],
)
def test_impossible_settings_are_refused_in_one_line(profile: str, threads: int | None, reason: str) -> None:
    with pytest.raises(UsageError) as raised:
        runtime.environment(profile, threads)
    assert reason in str(raised.value) and "\n" not in str(raised.value)


IMPORTED = ("mxnet", "numpy")


def test_configure_replaces_the_previous_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"OMP_NUM_THREADS": "7", "HOME": "kept"}
    monkeypatch.setattr(os, "environ", settings)
    monkeypatch.setattr(sys, "modules", {name: module for name, module in sys.modules.items() if name not in IMPORTED})
    runtime.configure("portable")
    assert settings == {**runtime.environment("portable"), "HOME": "kept"}
    runtime.configure("fast", 2)
    assert settings == {**runtime.environment("fast", 2), "HOME": "kept"}


def test_the_tests_run_in_the_portable_profile() -> None:
    runtime.configure("portable")  # The same again is no change.
    assert {name: os.environ[name] for name in runtime.environment("portable")} == runtime.environment("portable")


@pytest.mark.parametrize("threads", [1, 2])
def test_the_profile_cannot_change_once_mxnet_is_imported(threads: int) -> None:
    """Also with one thread: the limit to AVX2 kernels cannot be lifted in this process."""
    before = dict(os.environ)
    with pytest.raises(UsageError, match="fast") as raised:
        runtime.configure("fast", threads)
    assert "\n" not in str(raised.value)
    assert dict(os.environ) == before


def test_memory_is_reused_between_steps() -> None:
    """Arrays of 40 MB, more than glibc would retain by default: their pages are requested once, not at every step."""
    answer = python(
        "import resource\n"
        "from gluon_attn import runtime\n"
        "runtime.configure()\n"
        "import numpy as np\n"
        "faults = [resource.getrusage(resource.RUSAGE_SELF).ru_minflt]\n"
        "for step in range(3):\n"
        "    np.ones(10**7, np.float32)\n"
        "    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)\n"
        "print(*(after - before for before, after in zip(faults, faults[1:])))\n"
    )
    first, *later = map(int, answer.split())
    assert first > 15 and max(later) < first / 10  # 15: huge pages of 2 MiB.


@pytest.mark.parametrize("module", ["mxnet", "numpy"])
def test_configure_after_an_import_under_another_number_of_threads_is_refused(module: str) -> None:
    """Also after NumPy alone, whose products would have other bits."""
    answer = python(
        f"import {module}\n"
        "from gluon_attn import errors, runtime\n"
        "try:\n"
        "    runtime.configure('portable')\n"
        "except errors.UsageError as error:\n"
        "    print(error)\n",
        **{**runtime.environment("portable"), "OMP_NUM_THREADS": "2"},
    )
    reason = "was imported before the portable profile could set OMP_NUM_THREADS"
    assert answer == f"{module} {reason}; start a new process\n"


@pytest.mark.parametrize("name", ["OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS"])
def test_openblas_has_no_other_number_of_threads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {name: "2", "OMP_NUM_THREADS": "1"}
    monkeypatch.setattr(os, "environ", settings)
    with pytest.raises(UsageError, match=f"imported before the portable profile could set .*{name}"):
        runtime.configure("portable")  # NumPy is imported
    monkeypatch.setattr(sys, "modules", {name: module for name, module in sys.modules.items() if name not in IMPORTED})
    runtime.configure("portable")
    assert settings == runtime.environment("portable")
    settings[name] = "1"
    runtime.configure("portable")
    assert settings == {**runtime.environment("portable"), name: "1"}, "the same number does no harm"


OTHERS = ("MXNET_USE_MKLDNN_RNN", "MXNET_ENGINE_TYPE", "DNNL_VERBOSE", "MKLDNN_VERBOSE", "ONEDNN_MAX_CPU_ISA")


def test_the_portable_profile_removes_other_variables_of_mxnet_and_onednn(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {name: "0" for name in (*OTHERS, "DNNL_MAX_CPU_ISA", "MXNETLIKE")}
    monkeypatch.setattr(os, "environ", settings)
    monkeypatch.setattr(sys, "modules", {name: module for name, module in sys.modules.items() if name not in IMPORTED})
    runtime.configure("portable")
    assert settings == {**runtime.environment("portable"), "MXNETLIKE": "0"}
    settings["MXNET_USE_MKLDNN_RNN"] = "0"
    runtime.configure("fast", 1)
    assert settings["MXNET_USE_MKLDNN_RNN"] == "0", "the fast profile leaves them alone"


@pytest.mark.parametrize("name", OTHERS)
def test_such_variables_are_named_when_mxnet_is_already_imported(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "0")
    with pytest.raises(UsageError, match=name):
        runtime.configure("portable")


def test_modules_that_precede_mxnet_and_numpy_import_neither() -> None:
    answer = python(
        "import sys\n"
        "import gluon_attn, gluon_attn.errors, gluon_attn.training.recipe, gluon_attn.runtime\n"
        "gluon_attn.runtime.configure('portable')\n"
        "gluon_attn.runtime.derive(1, 'epoch', 1)\n"
        "print(sorted({'mxnet', 'numpy', 'gluonnlp'} & set(sys.modules)))\n"
    )
    assert answer == "[]\n"


# --- seeds ---


def test_derived_seeds_are_pinned() -> None:
    """Every committed result depends on these numbers."""
    assert runtime.derive(1, "epoch", 1) == 1842961161
    assert runtime.derive(1, "epoch", 2) == 905992541
    assert runtime.derive(2, "epoch", 1) == 2110742400
    assert runtime.derive(1, "batches", 1) == 905704442
    assert runtime.derive(20170925, "initial parameters") == 1946924035
    assert runtime.derive(1, "epoch", 1) == runtime.derive(1, "epoch", "1")


@given(st.integers(0, 2**63), st.lists(st.text(max_size=5), max_size=3))
def test_derived_seeds_are_valid_for_every_generator(seed: int, names: list[str]) -> None:
    derived = runtime.derive(seed, *names)
    assert 0 <= derived < 2**31
    np.random.RandomState(derived)


def test_names_do_not_share_a_seed() -> None:
    """Nor do concatenated names: ("ab", "c") is not ("a", "bc")."""
    purposes = [(name, number) for name in ("epoch", "batches") for number in range(50)]
    seeds = [runtime.derive(seed, *purpose) for seed in range(20) for purpose in purposes]
    assert len(set(seeds)) == len(seeds)
    assert runtime.derive(1, "ab", "c") != runtime.derive(1, "a", "bc") != runtime.derive(1, "abc")


def test_one_seed_seeds_all_generators() -> None:
    def draws() -> tuple[float, float, list[float], list[float]]:
        uniform = mx.nd.random.uniform(shape=(4,)).asnumpy().tolist()
        with mx.autograd.train_mode():
            dropped = mx.nd.Dropout(mx.nd.ones((64,)), p=0.5).asnumpy().tolist()
        return random.random(), float(np.random.uniform()), uniform, dropped

    runtime.seed_all(5)
    first = draws()
    other = draws()
    runtime.seed_all(5)
    assert draws() == first
    assert all(left != right for left, right in zip(first, other, strict=True))
    runtime.seed_all(6)
    assert all(left != right for left, right in zip(first, draws(), strict=True))


def test_hardware_names_the_cores_and_the_architecture() -> None:
    described = runtime.hardware()
    assert f"{len(os.sched_getaffinity(0))} cores" in described
    assert os.uname().machine in described and "\n" not in described


def test_more_threads_than_can_be_started_are_refused() -> None:
    with pytest.raises(UsageError, match="1000000 threads are more than can be started; choose at most 1024"):
        runtime.environment("fast", 1_000_000)
