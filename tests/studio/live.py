"""A studio that really runs, and a browser in front of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FLAGS = [
    "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist",
]  # fmt: skip


def find_chromium() -> str | None:
    """Where Chromium is, if it is installed."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for path in map(shutil.which, names) if path), None)


def sheet_of(X: Any, names: tuple[str, ...], ids: Any = None) -> Any:
    """A table of numbers, and a column of ids where there are any."""
    from pandas import DataFrame

    from smdeclust.studio.sheet import Sheet

    frame, fixed = DataFrame(X, columns=list(names)), dict.fromkeys(names, "number")
    if ids is not None:
        frame.insert(0, "id", list(ids))
        fixed["id"] = "id"
    return Sheet(frame, fixed=fixed)


class Running:
    """A studio in a process of its own."""

    def __init__(self, arguments: list[str]) -> None:
        command = [sys.executable, "-m", "smdeclust", "studio", "--no-browser", *arguments]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self.process.stdout is not None
        self.said = ""
        while "http://" not in self.said:
            line = self.process.stdout.readline()
            assert line, f"the studio ended: {self.said}"
            self.said += line
        found = re.search(r"http://\S+/", self.said)
        assert found is not None
        self.url = found.group()

    def call(self, path: str, body: Any = None) -> Any:
        """A request of the JSON interface."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data)
        with urllib.request.urlopen(request, timeout=60) as answer:
            content = answer.read()
            kind = answer.headers.get_content_type()
            return json.loads(content) if kind == "application/json" else content

    def settle(self, timeout: float = 400.0) -> dict[str, Any]:
        """The state once the solver has finished."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            state = self.call("api/state")
            if not state["busy"] and state["solution"].get("final"):
                return dict(state)
            time.sleep(0.05)
        raise AssertionError("the solver did not finish")

    def kill(self) -> None:
        """As a power cut would."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """As Ctrl-C does."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


@contextmanager
def studio(*arguments: str | Path) -> Iterator[Running]:
    """A studio while it is needed."""
    running = Running([str(argument) for argument in arguments])
    try:
        yield running
    finally:
        running.stop()


@contextmanager
def chromium() -> Iterator[Any]:
    """Chromium, without a page."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def browser_page(url: str, browser: Any = None, **context: Any) -> Iterator[Any]:
    """A page that fails the test on any error, and on any request elsewhere.

    It is opened in `browser` as by a new visitor; without one, in a Chromium of its own.
    """
    if browser is None:
        with chromium() as own, browser_page(url, own, **context) as page:
            yield page
        return
    errors: list[str] = []
    # Waiting for a condition needs eval, which the page itself must not use.
    visit = browser.new_context(**{"accept_downloads": True, "bypass_csp": True} | context)
    page = visit.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: _check_local(request.url, url, errors))
    page.goto(url)
    try:
        yield page
    finally:
        visit.close()
    assert errors == []


def _check_local(address: str, url: str, errors: list[str]) -> None:
    if url != "about:blank" and not address.startswith((url, "data:", "blob:")):
        errors.append(f"a request left the studio: {address}")


def settled(page: Any) -> None:
    """Wait until the page shows the end of the search."""
    page.wait_for_function(
        "document.getElementById('status').dataset.busy === 'false' && "
        "window.studio.state.solution && window.studio.state.solution.final",
        timeout=240_000,
    )
