"""Speeds are only compared between networks of the same size."""

from __future__ import annotations

import pytest

from benchmarks.contest import check_size


@pytest.mark.parametrize(("theirs", "ours"), [({"parameters": 10}, {"parameters": 10}), ({"seconds": 1.0}, {})])
def test_networks_of_the_same_size_are_compared(theirs: dict[str, float], ours: dict[str, int]) -> None:
    check_size("PyTorch eager", theirs, ours)


@pytest.mark.parametrize("theirs", [{"parameters": 12}, {}])
def test_networks_of_another_size_are_refused(theirs: dict[str, int]) -> None:
    with pytest.raises(SystemExit, match=r"PyTorch eager: (12|None) parameters, ours has 10: another network"):
        check_size("PyTorch eager", theirs, {"parameters": 10})
