"""Headless Chromium, driven over the WebDriver protocol (W3C) by its own driver."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

DEADLINE = 60.0
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # how the protocol marks an element


class Browser:
    """One tab."""

    def __init__(self, wire: httpx.Client, width: int, dark: bool) -> None:
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        arguments += [f"--window-size={width},1000", *(["--force-dark-mode"] if dark else [])]
        chrome: dict[str, Any] = {"args": arguments}
        if dark:
            chrome["args"].append("--blink-settings=preferredColorScheme=0")
        wanted = {
            "capabilities": {"alwaysMatch": {"goog:chromeOptions": chrome, "goog:loggingPrefs": {"browser": "ALL"}}}
        }
        self._wire = wire
        self._base = f"/session/{self._value(wire.post('/session', json=wanted))['sessionId']}"
        # A window has a least width; the device that it pretends to be has none.
        device = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": width < 600}
        self._post("goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": device})

    def open(self, url: str) -> None:
        self._post("url", {"url": url})

    def run(self, script: str, *arguments: Any) -> Any:
        """The value of a script's return statement."""
        return self._post("execute/sync", {"script": script, "args": list(arguments)})

    def text(self, selector: str) -> str:
        return str(self.run("return document.querySelector(arguments[0]).innerText", selector))

    def type(self, selector: str, text: str) -> None:
        """Replace a field's text by typing."""
        found = self._post("element", {"using": "css selector", "value": selector})[ELEMENT]
        self._post(f"element/{found}/clear", {})
        self._post(f"element/{found}/value", {"text": text})

    def click(self, selector: str) -> None:
        found = self._post("element", {"using": "css selector", "value": selector})[ELEMENT]
        self._post(f"element/{found}/click", {})

    def until(self, condition: str) -> None:
        """Wait until a JavaScript expression is true."""
        deadline = time.monotonic() + DEADLINE
        while not self.run(f"return Boolean({condition})"):
            assert time.monotonic() < deadline, self.run("return document.body.innerText")
            time.sleep(0.05)

    def picture(self, name: str) -> None:
        """Keep a screenshot where TIEBREAK_SCREENSHOTS says."""
        if directory := os.environ.get("TIEBREAK_SCREENSHOTS"):
            import base64

            raw = base64.b64decode(self._value(self._wire.get(f"{self._base}/screenshot")))
            (Path(directory) / f"{name}.png").write_bytes(raw)

    def complaints(self) -> list[str]:
        """What the browser's console holds against the page."""
        entries = self._post("se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] in ("WARNING", "SEVERE")]

    def close(self) -> None:
        self._wire.delete(self._base)

    def _post(self, command: str, body: dict[str, Any]) -> Any:
        return self._value(self._wire.post(f"{self._base}/{command}", json=body))

    @staticmethod
    def _value(reply: httpx.Response) -> Any:
        value = reply.json()["value"]
        assert reply.status_code == 200, value
        return value


@contextlib.contextmanager
def driver() -> Iterator[httpx.Client]:
    """The driver of the browser, running."""
    program = shutil.which("chromedriver")
    assert program, "pages are tested in Chromium: install chromium and chromium-driver"
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    process = subprocess.Popen([program, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=DEADLINE, trust_env=False) as wire:
            deadline = time.monotonic() + DEADLINE
            while True:
                try:
                    wire.get("/status").raise_for_status()
                    break
                except httpx.HTTPError:
                    assert time.monotonic() < deadline
                    time.sleep(0.05)
            yield wire
    finally:
        process.terminate()
        process.wait()
