"""The page in a real browser."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Any

import pytest

Serving = Callable[..., tuple["subprocess.Popen[str]", str]]
Browser = Any
"""`Browser` of `stubs/browser.py`: one tab."""

pytestmark = pytest.mark.browser


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
