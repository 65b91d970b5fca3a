"""Code in a separate interpreter: however it ends, the caller continues."""

from __future__ import annotations

import pytest

from reproductions.cli.probe import Fault, run_code


def test_the_last_line_is_returned() -> None:
    assert run_code("print('noise'); print('\uac00')", {}) == "가"


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("raise ValueError('bad thing\\nand more of it')", "ValueError: bad thing"),
        ("import os; os.abort()", "killed by SIGABRT"),
        ("import sys; sys.exit(3)", "exit status 3"),
        ("import time; time.sleep(600)", "no answer within 2 s"),
    ],
)
def test_every_failure_is_a_fault(code: str, fault: str) -> None:
    with pytest.raises(Fault) as raised:
        run_code(code, {"": "wait"}, "note", timeout=2.0 if "sleep" in code else 120.0)
    assert (raised.value.observed, raised.value.remedy, raised.value.status) == (
        f"does not work: {fault}",
        "wait",
        "note",
    )


def test_the_first_remedy_that_fits_is_given() -> None:
    with pytest.raises(Fault) as raised:
        run_code("raise ValueError('bad thing')", {"good": "first", "bad": "second", "": "last"})
    assert raised.value.remedy == "second"
