"""A real headless Chromium, driven over its debugging pipe; needs nothing but the browser."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find_browser() -> str | None:
    """The browser of this machine: CHROMIUM, or one on the path."""
    given = os.environ.get("CHROMIUM")
    if given:
        return given if shutil.which(given) else None
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page in a headless browser. Collects console messages, errors and requests."""

    def __init__(self, executable: str, timeout: float = 60.0) -> None:
        self.timeout = timeout
        self.console: list[str] = []
        self.requests: list[str] = []
        self._profile = tempfile.mkdtemp(prefix="smdeclust-browser-")
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        self._buffer = b""
        self._number = 0
        self._events: list[dict[str, Any]] = []

        def connect() -> None:  # the browser reads commands from 3 and answers on 4
            os.dup2(to_browser, 100)
            os.dup2(from_browser, 101)
            os.dup2(100, 3)
            os.dup2(101, 4)

        self._process = subprocess.Popen(
            [
                executable, "--headless=new", "--no-sandbox", "--disable-gpu",
                "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe",
                f"--user-data-dir={self._profile}", "about:blank",
            ],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            close_fds=False, preexec_fn=connect,
        )  # fmt: skip
        os.close(to_browser)
        os.close(from_browser)
        target = self._send("Target.createTarget", {"url": "about:blank"})["targetId"]
        attached = self._send("Target.attachToTarget", {"targetId": target, "flatten": True})
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for end in (self._read, self._write):
            os.close(end)
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command to the page and return its answer."""
        return self._send(method, parameters, self._session)

    def open(self, path: Path) -> None:
        """Open a file and wait until it is loaded."""
        self.console.clear()
        self.requests.clear()
        self._events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        end = time.monotonic() + self.timeout
        while not any(e["method"] == "Page.loadEventFired" for e in self._events):
            if time.monotonic() > end:
                raise TimeoutError("the page did not load")
            self._receive(end)

    def run(self, expression: str) -> Any:
        """Evaluate JavaScript in the page and return its value."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def size(self, width: int, height: int) -> None:
        """Set the size of the window."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        """Save the page as PNG."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))

    def pdf(self) -> bytes:
        """Print the page."""
        answer = self.call(
            "Page.printToPDF", preferCSSPageSize=True, paperWidth=8.27, paperHeight=11.7
        )
        return base64.b64decode(answer["data"])

    def _send(
        self, method: str, parameters: dict[str, Any], session: str | None = None
    ) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + self.timeout
        while True:
            answer = self._receive(end)
            if answer is not None and answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _receive(self, end: float) -> dict[str, Any] | None:
        """Read one message; note events."""
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(end - time.monotonic(), 0))
            if not ready:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self._read, 1 << 16)
            if not piece:
                raise RuntimeError("the browser ended")
            self._buffer += piece
        raw, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(raw)
        if "method" in message:
            self._events.append(message)
            with contextlib.suppress(KeyError):
                self._note(message["method"], message["params"])
            return None
        return message

    def _note(self, method: str, event: dict[str, Any]) -> None:
        if method == "Runtime.consoleAPICalled":
            self.console.append(f"{event['type']}: {event['args']}")
        elif method == "Runtime.exceptionThrown":
            self.console.append(f"exception: {event['exceptionDetails']}")
        elif method == "Log.entryAdded":
            self.console.append(f"{event['entry']['level']}: {event['entry']['text']}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(event["request"]["url"][:200])
