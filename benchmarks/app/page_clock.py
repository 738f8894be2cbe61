"""A clock inside the browser's page: from a click, or from a navigation, to the page as its reader sees it.

A page is drawn once its heading is the one that was asked for, its script has ended, nothing of the page before is
left, and plotly holds every chart. The clock starts at the click's own time stamp and looks every 10 ms on the thread
that draws, so a browser that is still busy drawing counts as waiting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

WAIT_MS = 300_000
"""For a page that waits for compiled kernels on an empty cache."""

WATCH = """() => {
    const main = () => document.querySelector('[data-testid="stMain"]');
    window.isDrawn = title => {
        const app = document.querySelector('[data-testid="stApp"]');
        const heading = main() && main().querySelector('h1');
        return Boolean(app && app.dataset.testScriptState === 'notRunning' && heading
            && heading.textContent.trim() === title
            && !main().querySelector('[data-stale="true"], [data-testid="stSkeleton"]')
            && [...main().querySelectorAll('.stPlotlyChart')].every(one => one.querySelector('.main-svg')));
    };
    window.curve = () => {
        const plot = document.querySelector('.js-plotly-plot');
        return plot && plot.data ? JSON.stringify(plot.data.map(one => [one.name, one.y])) : '';
    };
    window.clock = (since, isOver) => {
        window.took = null;
        let first = null;  // once more at the next look: a page may ask for another run as it ends
        const timer = setInterval(() => {
            if (!isOver()) { first = null; return; }
            if (first === null) { first = performance.now(); return; }
            window.took = first - since;
            clearInterval(timer);
        }, 10);
    };
    const said = '[data-testid="stSpinner"], [data-testid="stProgress"], [data-testid="stToast"]';
    window.asked = '', window.began = 0, window.words = {}, window.useful = null;
    setInterval(() => {
        if (!main()) return;
        const now = performance.now() - window.began;
        const waits = [...document.querySelectorAll(said)].map(one => one.textContent.trim()).filter(Boolean);
        for (const one of waits) window.words[one] ??= now;
        const own = main().querySelector('h1');  // what the page before showed is no answer
        const begun = own && own.textContent.trim() === window.asked
            && main().innerText.length > window.asked.length + 60;
        if (window.useful === null && (waits.length || begun)) window.useful = now;
    }, 50);
}"""
"""Installed in each document. words : what the page says that it waits for, by the time it was first seen."""

ON_CLICK = """over => document.addEventListener('click', event => {
    window.began = event.timeStamp, window.words = {}, window.useful = null;
    window.clock(event.timeStamp, over());
}, {once: true, capture: true})"""


@dataclass(frozen=True)
class Look:
    """What a reader waits for. seconds : until the page is drawn. first : until it shows something beside its heading
    or says what it waits for. words : what it says meanwhile."""

    page: str
    seconds: float
    first: float
    words: tuple[str, ...] = ()


def arm(page: Any, over: str) -> None:
    """Start the clock at the next click, and stop it when the JavaScript function `over` returns true."""
    page.evaluate(ON_CLICK.replace("over()", over).replace("over =>", "() =>"))


def read(page: Any, name: str) -> Look:
    """Wait for the clock to stop, and return what it shows."""
    page.wait_for_function("() => window.took !== null", timeout=WAIT_MS)
    took, first, words = page.evaluate("() => [window.took, window.useful, Object.keys(window.words)]")
    return Look(name, took / 1e3, min(took if first is None else first, took) / 1e3, tuple(words))


def by_menu(page: Any, name: str, title: str) -> Look:
    """Go to a page by the menu."""
    page.evaluate(f"window.asked = {title!r}")
    arm(page, f"() => window.isDrawn({title!r})")
    page.get_by_test_id("stSidebar").get_by_role("link", name=title, exact=True).click()
    return read(page, name)


def by_address(page: Any, name: str, title: str, address: str) -> Look:
    """Open a page by its address, as a reader with a bookmark."""
    page.goto(address, wait_until="commit")
    page.evaluate(f"window.asked = {title!r}")
    page.evaluate(f"() => window.clock(0, () => window.isDrawn({title!r}))")
    return read(page, name)


def next_feature(page: Any, place: int, row_pixels: int) -> Look:
    """Choose a feature of the list on Shapes by its place, and wait for its curve."""
    box = page.locator(".st-key-feature-list canvas").first.bounding_box()
    arm(page, "(was => () => window.curve() && window.curve() !== was && window.isDrawn('Shapes'))(window.curve())")
    page.mouse.click(box["x"] + 50, box["y"] + row_pixels * (place + 1.5))
    return read(page, "next feature")
