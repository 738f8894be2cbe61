"""Users of the load benchmark: they go from page to page and change widgets."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from typing import Any

from streamlit.proto.ButtonGroup_pb2 import ButtonGroup
from streamlit.proto.Slider_pb2 import Slider
from streamlit.proto.WidgetStates_pb2 import WidgetState

from tests.support.sessions import Session

PAGES = (
    "data", "train", "models", "overview", "shapes", "pairs", "rows", "compare", "tasks", "strategies",
    "experiment", "report",
)  # fmt: skip
PRESSED = ("Previous", "Next", "Open", "Explore")
ICONS = (":material/arrow_upward:", ":material/arrow_downward:")
WATCH = "Watch "
"""Buttons that are pressed. Some of the others delete, train or open a dialog."""

BACKGROUND = "background"
"""Name prefix of models trained meanwhile. No user opens them: they are deleted again."""

LEFT_ALONE = (
    "As", "Predict", "Learn", "Treat it as", "Per unit of", "Table of outcomes", "Arm", "Control", "Treated",
    "Who would get which strategy", "Planned share treated",
)  # fmt: skip
"""Inputs of trainings and experiments that are left alone: wrong values are rightly reported as errors."""

NEW_PAGE = 0.35
"""Share of actions that go to another page; the others change a widget."""


def _selectbox(widget: Any, state: WidgetState | None, rng: random.Random) -> dict[str, Any] | None:
    now = state.string_value if state else widget.options[widget.default] if widget.HasField("default") else None
    others = [option for option in widget.options if option != now and not option.startswith(BACKGROUND)]
    return {"string_value": rng.choice(others)} if others else None


def _slider(widget: Any, state: WidgetState | None, rng: random.Random) -> dict[str, Any] | None:
    if widget.type == Slider.SELECT_SLIDER:
        places = sorted(rng.sample(range(len(widget.options)), len(widget.default)))
        return {"string_array_value": [widget.options[place] for place in places]}
    if widget.data_type not in (Slider.INT, Slider.FLOAT) or widget.max <= widget.min:
        return None
    steps = round((widget.max - widget.min) / widget.step)
    ends = sorted(rng.randint(0, steps) for _ in widget.default)
    return {"double_array_value": [min(widget.max, widget.min + widget.step * end) for end in ends]}


def _number_input(widget: Any, state: WidgetState | None, rng: random.Random) -> dict[str, Any] | None:
    if not widget.HasField("default"):  # an open end of a range, which may leave no rows
        return None
    now = state.double_value if state else widget.default
    value = now + widget.step * rng.choice([-1, 1])
    inside = (not widget.has_min or value >= widget.min) and (not widget.has_max or value <= widget.max)
    return {"double_value": value} if inside else None


def _checkbox(widget: Any, state: WidgetState | None, rng: random.Random) -> dict[str, Any] | None:
    return {"bool_value": not (state.bool_value if state else widget.default)}


def _button_group(widget: Any, state: WidgetState | None, rng: random.Random) -> dict[str, Any] | None:
    names = [option.content for option in widget.options]
    now = list(state.string_array_value.data) if state else [names[place] for place in widget.default]
    if widget.click_mode == ButtonGroup.SINGLE_SELECT:
        others = [name for name in names if name not in now]
        return {"string_array_value": [rng.choice(others)]} if others else None
    choice = rng.choice(names)
    kept = [name for name in names if (name in now) != (name == choice)]
    return {"string_array_value": kept} if len(kept) >= len(names) / 2 else None


def _button(widget: Any, state: WidgetState | None, rng: random.Random) -> dict[str, Any] | None:
    wanted = widget.label in PRESSED or widget.label.startswith(WATCH) or widget.icon in ICONS
    return {"trigger_value": True} if wanted else None


CHANGES: dict[str, Callable[[Any, WidgetState | None, random.Random], dict[str, Any] | None]] = {
    "selectbox": _selectbox, "radio": _selectbox, "slider": _slider, "number_input": _number_input,
    "checkbox": _checkbox, "button_group": _button_group, "button": _button,
}  # fmt: skip


def changed(kind: str, widget: Any, before: WidgetState | None, rng: random.Random) -> WidgetState | None:
    """Return a new value for a widget, other than its present one (set by the user or by default), or None."""
    change = CHANGES[kind](widget, before, rng)
    if change is None:
        return None
    [(name, value)] = change.items()
    state = WidgetState(id=widget.id)
    if name.endswith("array_value"):
        getattr(state, name).data.extend(value)
    else:
        setattr(state, name, value)
    return state


async def act(session: Session, rng: random.Random) -> bool:
    """Change one widget on the page; return False if there is none to change."""
    widgets = session.screen.widgets()
    for kind, widget in rng.sample(widgets, len(widgets)):
        if widget.label in LEFT_ALONE:
            continue
        state = changed(kind, widget, session.screen.set_by_user.get(widget.id), rng)
        if state is not None:
            await session.change(widget.label or getattr(widget, "icon", kind), state)
            return True
    return False


async def look_around(session: Session, model: str, changes: int = 3) -> None:
    """Visit every page without a pause as the first user, to fill the server's caches."""
    rng = random.Random(0)
    await session.open(PAGES[0], f"model={model}")
    for page in PAGES:
        await session.visit(page)
        for _ in range(changes):
            await act(session, rng)
    await session.leave()


async def use(session: Session, number: int, model: str, seconds: float, every: float, stay: float) -> None:
    """Act as user `number` on a model: one action every `every` seconds, after a random delay of at most that.

    Each user goes through the pages in menu order from a different start, so that together they cover all. After
    about `stay` seconds the user leaves, and returns to the same session or, half of the time, to a new one.
    """
    rng = random.Random(number)
    end, page = time.monotonic() + seconds, number
    await asyncio.sleep(rng.uniform(0.0, every))
    while time.monotonic() < end:
        until = min(end, time.monotonic() + stay * rng.uniform(0.5, 1.5))
        await session.open(PAGES[page % len(PAGES)], f"model={model}")
        page = await _stay(session, rng, page, until, every)
        await session.leave()
        if rng.random() < 0.5:
            session.screen = type(session.screen)()
        await asyncio.sleep(min(every, max(0.0, end - time.monotonic())))


async def _stay(session: Session, rng: random.Random, page: int, until: float, every: float) -> int:
    """Act until it is time to leave, and return the place in the menu of the last page."""
    beat = time.monotonic()
    while (beat := max(beat + every, time.monotonic())) < until:
        await asyncio.sleep(beat - time.monotonic())
        if rng.random() < NEW_PAGE or not await act(session, rng):
            page += 1
            await session.visit(PAGES[page % len(PAGES)])
    await asyncio.sleep(max(0.0, until - time.monotonic()))
    return page
