"""A headless Chromium for tests, driven through its debugging pipe: no driver and no package is needed."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MISSING = "no Chromium: apt-get install chromium, or name one by CHROMIUM"
WAIT = 60.0  # seconds for anything to become true, on a machine that has other work


def chromium() -> str | None:
    """The program, named by CHROMIUM or on the path."""
    named = os.environ.get("CHROMIUM")
    return shutil.which(named) if named else next(filter(None, map(shutil.which, NAMES)), None)


class Navigated(Exception):
    """The page was left before it answered."""


class Tab:
    """One page of the browser."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers, self._number, self._rest = commands, answers, 0, b""
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command of the protocol and its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if answer.get("error", {}).get("message") == "Inspected target navigated or closed":
                    raise Navigated(method)
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            chunk = os.read(self._answers, 1 << 16)
            assert chunk, "the browser ended"
            self._rest += chunk
        message, self._rest = self._rest.split(b"\0", 1)
        answer: dict[str, Any] = json.loads(message)
        return answer

    def evaluate(self, expression: str) -> Any:
        """The value of an expression on the page; of a promise that which it resolves to."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def _evaluated_unless_leaving(self, expression: str) -> Any:
        """The value of an expression; None if the page is being left."""
        try:
            return self.evaluate(expression)
        except Navigated:
            return None

    def until(self, expression: str) -> Any:
        """Wait until an expression is true."""
        end = time.monotonic() + WAIT
        while not (value := self._evaluated_unless_leaving(expression)):
            assert time.monotonic() < end, f"never true: {expression}; {self.evaluate('document.body.innerText')}"
            time.sleep(0.05)
        return value

    def open(self, address: str) -> None:
        """Load a page again, also where only the fragment differs."""
        self.send("Page.navigate", url="about:blank")
        self.events.clear()
        self.send("Page.navigate", url=address)
        self.until(
            f"location.href !== 'about:blank' && document.readyState === 'complete' && {json.dumps(address)} !== ''"
        )

    def key(self, key: str, code: int, text: str = "") -> None:
        """Press and release a key."""
        values = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.send("Input.dispatchKeyEvent", type="keyDown", **values, **({"text": text} if text else {}))
        self.send("Input.dispatchKeyEvent", type="keyUp", **values)

    def size(self, width: int, height: int, *, dark: bool = False, mobile: bool = False) -> None:
        """The size of the page, and its colours."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        motion = {"name": "prefers-reduced-motion", "value": "reduce"}
        self.send("Emulation.setEmulatedMedia", features=[scheme, motion])

    def screenshot(self, path: Path) -> None:
        """A picture of the whole page."""
        picture = self.send("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(picture["data"]))

    def complaints(self) -> list[str]:
        """What the browser logged as an error, such as a violation of the policy or an exception."""
        self.evaluate("1")
        texts = [event["params"] for event in self.events if event.get("method") == "Runtime.exceptionThrown"]
        entries = [event["params"]["entry"] for event in self.events if event.get("method") == "Log.entryAdded"]
        return [json.dumps(text) for text in texts] + [each["text"] for each in entries if each["level"] == "error"]


@contextmanager
def browser() -> Iterator[Tab]:
    """A browser with one page; it ends with the block."""
    program = chromium()
    assert program, MISSING
    (ours_read, theirs_write), (theirs_read, ours_write) = os.pipe(), os.pipe()

    def take_pipes() -> None:
        # The protocol reads descriptor 3 and writes descriptor 4.
        high_read, high_write = os.dup2(theirs_read, 100), os.dup2(theirs_write, 101)
        os.dup2(high_read, 3)
        os.dup2(high_write, 4)

    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    flags += ["--disable-background-networking", "--disable-component-update", "--hide-scrollbars", "--lang=en"]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [program, *flags, "--remote-debugging-pipe", f"--user-data-dir={profile}"],
            preexec_fn=take_pipes,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_read)
        os.close(theirs_write)
        try:
            yield Tab(ours_write, ours_read)
        finally:
            os.close(ours_write)
            os.close(ours_read)
            process.terminate()
            process.wait(timeout=30)
