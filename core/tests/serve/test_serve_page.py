"""The page in a real browser: headless Chromium, driven over the WebDriver protocol (W3C) by its own driver."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

Serving = Callable[..., tuple["subprocess.Popen[str]", str]]
DEADLINE = 60.0
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # how the protocol marks an element

pytestmark = pytest.mark.browser


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


@pytest.fixture(scope="module")
def driver() -> Iterator[httpx.Client]:
    """The driver of the browser."""
    program = shutil.which("chromedriver")
    assert program, "the page is tested in Chromium: install chromium and chromium-driver"
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    process = subprocess.Popen([program, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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
    process.terminate()
    process.wait()


@pytest.fixture
def browser(driver: httpx.Client) -> Iterator[Callable[..., Browser]]:
    opened: list[Browser] = []

    def start(width: int = 1280, dark: bool = False) -> Browser:
        opened.append(Browser(driver, width, dark))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


def test_answers_follow_what_is_typed(serving: Serving, browser: Callable[..., Browser]) -> None:
    _, url = serving({})
    page = browser()
    page.open(url)
    page.until("document.querySelectorAll('.answer').length == 2")
    assert page.text("#served") == "stub on stub: ok"
    assert "cache" in page.text("#figures")
    assert "hit, 7 of" in page.text("#figures")
    assert "prefill" in page.text("#figures")
    page.picture("wide")
    before = page.text("#answers")
    page.type("#state", '{"subject": "Größe falsch"}')
    page.run("window.before = arguments[0]", before)
    page.until("document.querySelector('#answers').innerText != window.before")
    page.type(".question .lines", "2: second\n1: first\nRückgabe")
    page.until("document.querySelector('.answer .bar:last-of-type').innerText.includes('Rückgabe')")
    names = page.run(
        "return [...document.querySelectorAll('.answer:first-child .bar span:nth-child(2)')].map(x => x.innerText)"
    )
    assert names == ["2", "1", "Rückgabe"]
    shares = page.run(
        "return [...document.querySelectorAll('.answer:first-child .bar i')].map(x => parseFloat(x.style.width))"
    )
    assert sum(shares) == pytest.approx(100, abs=0.01)
    assert page.complaints() == []


def test_questions_are_added_changed_and_removed(serving: Serving, browser: Callable[..., Browser]) -> None:
    _, url = serving({})
    page = browser()
    page.open(url)
    page.until("document.querySelectorAll('.answer').length == 2")
    page.click("#add")
    page.type(".question:last-child .text", "How bad is it?")
    page.run("const k = arguments[0]; k.value = 'score'; k.dispatchEvent(new Event('change'))", _last_kind(page))
    page.type(".question:last-child .lines", "harmless\nbad\nterrible")
    page.until("document.querySelectorAll('.answer').length == 3 && document.body.innerText.includes('of 0 to 2')")
    page.click(".question .remove")
    page.until("document.querySelectorAll('.answer').length == 2")
    page.type(".question .text", " ")
    page.until("!document.querySelector('#problem').hidden")
    assert "Nothing is asked" in page.text("#problem")


def test_a_key_is_asked_for(serving: Serving, browser: Callable[..., Browser]) -> None:
    _, url = serving({}, api_key="open-sesame")
    page = browser()
    page.open(url)
    page.until("!document.querySelector('#access').hidden")
    page.click("#ask")
    page.until("!document.querySelector('#problem').hidden")
    page.type("#key", "open-sesame")
    page.until("document.querySelectorAll('.answer').length == 2")
    assert page.run("return document.querySelector('#problem').hidden") is True


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_a_phone_and_the_dark(
    serving: Serving, browser: Callable[..., Browser], width: int, dark: bool
) -> None:
    _, url = serving({})
    page = browser(width, dark)
    page.open(url)
    page.until("document.querySelectorAll('.answer').length == 2")
    assert page.run("return document.documentElement.scrollWidth <= window.innerWidth") is True
    assert page.run("return matchMedia('(prefers-color-scheme: dark)').matches") is dark
    dark_paper = page.run("return getComputedStyle(document.body).backgroundColor") == "rgb(21, 23, 26)"
    assert dark_paper is dark
    page.picture(f"{width}-{'dark' if dark else 'light'}")


def _last_kind(page: Browser) -> Any:
    return page.run("return document.querySelector('.question:last-child .kind')")
