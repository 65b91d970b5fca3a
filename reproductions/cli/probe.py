"""Run code that may crash in a separate interpreter, and report its result in one line."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from typing import Literal

Status = Literal["ok", "note", "problem"]


class Fault(Exception):
    """A fault and its remedy. Status ``problem``: something will fail; ``note``: worth knowing, but nothing is
    broken."""

    def __init__(self, observed: str, remedy: str, status: Status = "problem") -> None:
        super().__init__(observed)
        self.observed, self.remedy, self.status = observed, remedy, status


def run_code(code: str, remedies: Mapping[str, str], status: Status = "problem", timeout: float = 120.0) -> str:
    """Return the last line that ``code`` prints in a new interpreter with the same import path as this one.

    Args:
        code: Python source.
        remedies: remedy by a part of the fault's message; the first one that matches is reported.
        status: status of the fault.
        timeout: time limit in seconds.

    Raises:
        Fault: if the code raised an exception, crashed, or did not end in time.
    """
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "PYTHONIOENCODING": "utf-8:backslashreplace",
    }
    try:
        ended = subprocess.run(
            [sys.executable, "-P", "-c", code],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
            env=variables,
            check=False,
        )
    except subprocess.TimeoutExpired:
        fault = f"no answer within {timeout:g} s"
    else:
        if ended.returncode == 0:
            return (ended.stdout.splitlines() or [""])[-1]
        lines = [line.strip() for line in ended.stderr.splitlines() if line.strip()]
        # The message of an exception may continue for several lines after its name.
        raised = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Warning|Exit|Interrupt)\b", line)]
        fault = (raised or lines or [f"exit status {ended.returncode}"])[-1]
        if ended.returncode < 0:
            fault = f"killed by {signal.Signals(-ended.returncode).name}"
    remedy = next(remedy for part, remedy in remedies.items() if part in fault)
    raise Fault(f"does not work: {fault}", remedy, status)
