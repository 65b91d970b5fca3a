"""The model of the speed of several machines."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest

from benchmarks.workers_speed import EFFICIENCY, LATENCY, MACHINES, ROUND_TRIPS, modelled, needed, outputs_of


def started(code: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_outputs_are_in_the_order_of_the_processes() -> None:
    slow = started("import time; time.sleep(0.2); print('first')")
    assert outputs_of([slow, started("print('second')")]) == ["first\n", "second\n"]


def test_when_a_worker_fails_the_others_are_ended() -> None:
    waiting, failing = started("input()"), started("raise SystemExit(3)")
    with pytest.raises(SystemExit, match="ended with status 3"):
        outputs_of([waiting, failing])
    assert waiting.wait() < 0


def test_machines_are_as_many_times_as_fast_where_sending_takes_no_time() -> None:
    assert modelled(1e6, 0, 1, 1e9) == 1
    assert modelled(1e6, 0, 64, 1e9) == pytest.approx(64)


def test_an_update_waits_for_what_a_link_carries() -> None:
    """8 machines send 7 / 8 of the gradients to others and as much to them, in two parts: 3.5 GB at 1 GB/s."""
    waiting = ROUND_TRIPS * LATENCY
    assert modelled(3.5 + waiting, 1e9, 8, 1e9) == pytest.approx(8 * (3.5 + waiting) / (7 + 2 * waiting))


@pytest.mark.parametrize("machines", MACHINES[1:])
def test_the_network_that_is_needed_gives_the_efficiency_that_is_asked_for(machines: int) -> None:
    assert modelled(2.0, 1e8, machines, needed(2.0, 1e8, machines)) == pytest.approx(EFFICIENCY * machines)


def test_no_network_is_fast_enough_for_updates_as_short_as_a_round_trip() -> None:
    assert needed(LATENCY, 1.0, 4) == math.inf
