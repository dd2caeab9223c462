"""A browser driven by the WebDriver protocol, with nothing but `http.client`.

Only what the test of the page needs: open a file, run a script, press keys, take
a screenshot. Debian's packages chromium and chromium-driver are looked for on the
path; `find_browser` says which is missing.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync")
NARROWEST = 500  # pixels of a window; a narrower screen is emulated as a telephone
PATIENCE = 20.0  # seconds for the driver to come up


def find_browser() -> tuple[str, str] | str:
    """(chromium, chromedriver), or the name of the program that is missing."""
    found = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    missing = [name for name, path in found.items() if not path]
    return missing[0] if missing else (str(found["chromium"]), str(found["chromedriver"]))


class Browser:
    """One window of a running session."""

    def __init__(self, port: int, binary: str, profile: str, size: tuple[int, int],
                 dark: bool) -> None:
        self._port = port
        arguments = [*FLAGS, f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}"]
        if dark:
            arguments += ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"]
        options: dict[str, Any] = {"binary": binary, "args": arguments}
        if size[0] < NARROWEST:
            options["mobileEmulation"] = {"deviceMetrics": {
                "width": size[0], "height": size[1], "pixelRatio": 1.0}}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options,
                  "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        made = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._session = f"/session/{made['sessionId']}"

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        link = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            link.request(method, path, None if body is None else json.dumps(body),
                         {"Content-Type": "application/json"})
            value = json.loads(link.getresponse().read())["value"]
        finally:
            link.close()
        if isinstance(value, dict) and "error" in value:
            raise RuntimeError(f"{path}: {value['error']}: {value['message'].splitlines()[0]}")
        return value

    def open(self, path: Path, fragment: str = "") -> None:
        """Load a file, and wait until it is loaded."""
        self._ask("POST", f"{self._session}/url", {"url": "about:blank"})
        self._ask("POST", f"{self._session}/url", {"url": path.resolve().as_uri() + fragment})

    def run(self, script: str, *arguments: Any) -> Any:
        """What a script returns."""
        return self._ask("POST", f"{self._session}/execute/sync",
                         {"script": script, "args": list(arguments)})

    def press(self, keys: str) -> None:
        """Type these characters, wherever the focus is."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._ask("POST", f"{self._session}/actions",
                  {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def on_paper(self) -> None:
        """Show the page as it would be printed."""
        self._ask("POST", f"{self._session}/goog/cdp/execute", {
            "cmd": "Emulation.setEmulatedMedia", "params": {"media": "print"}})

    def log(self, kind: str) -> list[dict[str, Any]]:
        """The entries of a log (browser, performance) since the last time."""
        return self._ask("POST", f"{self._session}/se/log", {"type": kind})

    def screenshot(self, path: Path) -> None:
        """A PNG of what is seen."""
        path.write_bytes(base64.b64decode(self._ask("GET", f"{self._session}/screenshot")))

    def close(self) -> None:
        """End the session."""
        self._ask("DELETE", self._session)


@contextlib.contextmanager
def browser(size: tuple[int, int] = (1280, 900), dark: bool = False) -> Iterator[Browser]:
    """A new browser with an empty profile; browser and driver are ended afterwards."""
    found = find_browser()
    if isinstance(found, str):
        raise FileNotFoundError(found)
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        port = place.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="mini-agent-browser-",
                                     ignore_cleanup_errors=True) as profile:
        driver = subprocess.Popen([found[1], f"--port={port}"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        try:
            _wait_for(port)
            window = Browser(port, found[0], profile, size, dark)
            try:
                yield window
            finally:
                window.close()
        finally:
            driver.terminate()
            driver.wait()


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(.05)
