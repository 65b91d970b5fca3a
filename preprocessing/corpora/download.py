"""Download one file over HTTP: resumable, verified by SHA-256, and present under its name only when complete.

(pooch verifies and renames as well, but restarts every interrupted download from the beginning.)
"""

from __future__ import annotations

import fcntl
import os
import urllib.error
import urllib.request
from http.client import HTTPException, HTTPResponse
from io import FileIO
from pathlib import Path

from preprocessing.errors import InputError, MissingError
from preprocessing.files import sha256_of

ATTEMPTS = 3
_BLOCK = 1 << 16


def download(url: str, target: Path, *, sha256: str, how_to_get: str = "", timeout: float = 30.0) -> None:
    """Write the bytes of ``url`` to ``target``. A partial download stays next to it as ``.<name>.<hash>.part``, so that
    the next call, in this process or a later one, requests only the rest.

    Leaves no file under the final name and raises MissingError when the server cannot be reached or the transfer is
    interrupted ``ATTEMPTS`` times; InputError when the disk is full, or when the complete file has another SHA-256 (it
    is then deleted).
    """
    part = target.with_name(f".{target.name}.{sha256[:12]}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        opened = part.open("ab", buffering=0)
    except OSError as error:
        reason = f"cannot be downloaded: {target.parent} cannot be written ({error.strerror or error})"
        remedy = "set XDG_CACHE_HOME to a folder of yours" + (f", or {how_to_get}" if how_to_get else "")
        raise MissingError(url, reason, remedy=remedy) from None
    with opened as stream:
        # Two processes that download the same file must not write into the same part.
        fcntl.flock(stream, fcntl.LOCK_EX)
        if target.exists():
            if os.fstat(stream.fileno()).st_size == 0:  # opened after the other process had renamed its part
                part.unlink(missing_ok=True)
            return
        if os.fstat(stream.fileno()).st_nlink == 0:
            # The process that had the lock found the wrong SHA-256 and deleted the part: start again.
            return download(url, target, sha256=sha256, how_to_get=how_to_get, timeout=timeout)
        try:
            _fetch(url, target, stream, how_to_get, timeout)
        finally:
            if part.stat().st_size == 0:
                part.unlink()
        actual = sha256_of(part)
        if actual != sha256:
            part.unlink()
            reason = f"the download has SHA-256 {actual}, expected {sha256}"
            raise InputError(url, reason, remedy=how_to_get or "try again later, or fetch the file by hand")
        part.replace(target)


def _fetch(url: str, target: Path, stream: FileIO, how_to_get: str, timeout: float) -> None:
    """Append to ``stream`` until the file is complete; an interrupted transfer is resumed."""
    reason = ""
    for _ in range(ATTEMPTS):
        have = stream.seek(0, 2)
        request = urllib.request.Request(url, headers={"User-Agent": "gluon-attn", "Range": f"bytes={have}-"})
        try:
            with urllib.request.urlopen(request, timeout=timeout) as response:
                expected = _total(response, have)
                if response.status != 206:
                    # The server ignores the range and sends the whole file again.
                    stream.truncate(0)
                    have = 0
                while block := response.read(_BLOCK):
                    _append(block, stream, target)
                    have += len(block)
                if expected is None or have >= expected:
                    return
                reason = f"the transfer stopped at {have} of {expected} bytes"
        except urllib.error.HTTPError as error:
            if error.code == 416 and have:
                # Nothing is left to send: the part is complete, or too long, which the hash will show.
                return
            reason = f"the server answers {error.code} {error.reason}"
        except (OSError, HTTPException) as error:
            reason = str(getattr(error, "reason", error)) or type(error).__name__
    remedy = "run again to resume the download" + (f", or {how_to_get}" if how_to_get else "")
    raise MissingError(url, f"download failed: {reason}", remedy=remedy)


def _append(block: bytes, stream: FileIO, target: Path) -> None:
    """Write a block; an error of the disk is not taken for one of the network."""
    rest = memoryview(block)
    try:
        while rest:
            rest = rest[stream.write(rest) :]
    except OSError as error:
        reason = f"cannot be written ({error.strerror or error})"
        raise InputError(target, reason, remedy="free some space, then run again to resume the download") from None


def _total(response: HTTPResponse, have: int) -> int | None:
    """Size of the whole file according to the headers of the response; None when they do not state it."""
    length = response.headers.get("Content-Length")
    if length is None:
        return None
    return int(length) + (have if response.status == 206 else 0)
