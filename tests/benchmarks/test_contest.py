"""Speeds are only compared between networks of the same size; records name the vector instructions."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import contest
from benchmarks.contest import check_size, circumstances


@pytest.mark.parametrize(("theirs", "ours"), [({"parameters": 10}, {"parameters": 10}), ({"seconds": 1.0}, {})])
def test_networks_of_the_same_size_are_compared(theirs: dict[str, float], ours: dict[str, int]) -> None:
    check_size("PyTorch eager", theirs, ours)


@pytest.mark.parametrize("theirs", [{"parameters": 12}, {}])
def test_networks_of_another_size_are_refused(theirs: dict[str, int]) -> None:
    with pytest.raises(SystemExit, match=r"PyTorch eager: (12|None) parameters, ours has 10: another network"):
        check_size("PyTorch eager", theirs, {"parameters": 10})


@pytest.mark.parametrize(
    ("flags", "name"), [("fpu avx avx2 avx512f avx512bw", "AVX-512"), ("fpu avx avx2 fma", "AVX2"), ("fpu sse2", "")]
)
def test_the_widest_vector_instructions_are_recorded(
    flags: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contest, "CPUINFO", tmp_path / "cpuinfo")
    assert circumstances()["vectors"] == "", "without the file"
    (tmp_path / "cpuinfo").write_text(f"model name\t: A processor\nflags\t\t: {flags}\n", encoding="utf-8")
    assert circumstances()["vectors"] == name
