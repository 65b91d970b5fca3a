"""Messages of commands, and those of commands that run as processes of another one."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterable
from typing import TextIO

_REFUSAL = "gluon-attn: "


def print_refusal(reason: object) -> None:
    """Print in one line why a command does not do what it is asked to."""
    print(f"{_REFUSAL}{reason}", file=sys.stderr, flush=True)


def pass_on(lines: Iterable[str], stream: TextIO) -> None:
    """Print lines as they arrive, above the progress bar if there is one."""
    from tqdm import tqdm  # not needed by commands that only print help

    for line in lines:
        tqdm.write(line, file=stream, end="")
        stream.flush()


def pass_errors_on(lines: Iterable[str]) -> tuple[str, str]:
    """Pass on what a process prints on standard error, except its refusal, which becomes that of this process.

    Returns:
        The reason of the refusal, and the last other line; each is empty if there is none.
    """
    reason = last = ""
    for line in lines:
        if line.startswith(_REFUSAL):
            reason = line.removeprefix(_REFUSAL).strip()
            continue
        pass_on([line], sys.stderr)
        last = line.strip() or last
    return reason, last


def how_it_ended(status: int, last: str) -> str:
    """How a process ended that failed without a refusal.

    Args:
        status: its exit status; negative for a signal, which a shell reports as 128 plus its number.
        last: the last line that it printed.
    """
    number = -status if status < 0 else status - 128
    if number in set(signal.Signals):
        return f"was ended by {signal.Signals(number).name}"
    return f"ended with status {status}: {last or 'without a message'}"
