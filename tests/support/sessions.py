"""A Streamlit session without a browser: its messages over the websocket.

A browser takes a few hundred MB, so a machine holds about five; it holds hundreds of these clients. A client keeps
what a user can act on: the widgets on the screen, the pages of the menu, the address and the fragments that tick.
It has no message cache, so the server sends every element each time, which it may skip for a browser.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from typing import Any, Literal

import websockets
from streamlit.proto.Alert_pb2 import Alert
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

WAIT = 60.0
"""Seconds after which a rerun counts as failed."""

WIDGETS = ("button", "button_group", "checkbox", "number_input", "radio", "selectbox", "slider")
ERROR_ICONS = ("", ":material/error:")
"""Of what a page refuses or fails at. A red box with another icon is a finding: of a test that must be stopped, say."""

Kind = Literal["open", "visit", "change", "tick"]
Place = tuple[int, ...]


@dataclass(frozen=True)
class Rerun:
    """A run of a page's script, from the request to the message that reports its end.

    what : label of the changed widget, for error messages. errors : error messages.
    """

    kind: Kind
    page: str
    what: str
    at: float
    seconds: float
    errors: tuple[str, ...] = ()


@dataclass
class Screen:
    """The part of a browser's screen that a user can act on, after the messages so far."""

    pages: dict[str, str] = field(default_factory=dict)  # the script's hash, by the path of the URL
    page_hash: str = ""
    query: str = ""
    session: str = ""
    drawn: dict[Place, tuple[str, str, Any]] = field(default_factory=dict)  # fragment, kind of widget, widget
    set_by_user: dict[str, WidgetState] = field(default_factory=dict)  # what the user has set, by widget
    timers: dict[str, float] = field(default_factory=dict)  # seconds between two ticks, by fragment
    errors: list[str] = field(default_factory=list)

    @property
    def page(self) -> str:
        """Path of the page that is shown."""
        return next((path for path, own in self.pages.items() if own == self.page_hash), "")

    def widgets(self) -> list[tuple[str, Any]]:
        """Return the kind and message of every enabled widget, from the top down."""
        listed = [(kind, widget) for _, (_, kind, widget) in sorted(self.drawn.items(), key=lambda pair: pair[0])]
        return [(kind, widget) for kind, widget in listed if not widget.disabled and not widget.form_id]

    def take(self, message: ForwardMsg) -> None:
        """Draw a message."""
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self._begin(message)
        elif kind == "navigation":
            self.page_hash = message.navigation.page_script_hash
            self.pages = {page.url_pathname: page.page_script_hash for page in message.navigation.app_pages}
        elif kind == "delta":
            self._draw(tuple(message.metadata.delta_path), message.delta)
        elif kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif kind == "auto_rerun":
            self.timers[message.auto_rerun.fragment_id] = message.auto_rerun.interval
        elif kind == "stop_auto_rerun":
            for fragment in message.stop_auto_rerun.fragment_ids:
                self.timers.pop(fragment, None)
        elif kind == "script_finished":
            self._end(message.script_finished)
        elif kind == "page_not_found":
            self.errors.append(f"There is no page {message.page_not_found.page_name!r}.")
        elif kind == "session_event" and message.session_event.HasField("script_compilation_exception"):
            self.errors.append(message.session_event.script_compilation_exception.message)

    def _begin(self, message: ForwardMsg) -> None:
        """Begin a run of the page, or of fragments, and forget the widgets that it redraws."""
        again = set(message.metadata.run.fragment_ids)
        self.session = message.new_session.initialize.session_id or self.session
        self.drawn = {place: one for place, one in self.drawn.items() if again and one[0] not in again}
        if not again:
            self.page_hash = message.new_session.page_script_hash
            self.timers.clear()

    def _draw(self, place: Place, delta: Any) -> None:
        self.drawn.pop(place, None)
        if delta.WhichOneof("type") != "new_element":
            return
        kind = delta.new_element.WhichOneof("type")
        self._note_error(kind, delta.new_element)
        if kind in WIDGETS:
            widget = getattr(delta.new_element, kind)
            if getattr(widget, "set_value", False):  # the script sets the value: forget the user's
                self.set_by_user.pop(widget.id, None)
            self.drawn[place] = (delta.fragment_id, kind, widget)

    def _note_error(self, kind: str, element: Element) -> None:
        if kind == "exception" and not element.exception.is_warning:
            self.errors.append(f"{element.exception.type}: {element.exception.message}")
        elif kind == "alert" and element.alert.format == Alert.ERROR and element.alert.icon in ERROR_ICONS:
            self.errors.append(element.alert.body)

    def _end(self, status: int) -> None:
        """End a run. As in a browser, forget the values of widgets that are gone."""
        if status == ForwardMsg.FINISHED_SUCCESSFULLY:
            there = {widget.id for _, _, widget in self.drawn.values()}
            self.set_by_user = {name: state for name, state in self.set_by_user.items() if name in there}


class Session:
    """One user's connection. It requests one rerun at a time; ticks that are due meanwhile are skipped."""

    def __init__(self, address: str) -> None:
        self.screen, self.reruns = Screen(), list[Rerun]()
        self._address = address.replace("http", "ws", 1) + "/_stcore/stream"
        self._turn = asyncio.Lock()
        self._finished: asyncio.Future[int] | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self, page: str, query: str = "") -> Rerun:
        """Connect and open a page by its URL; resume the earlier session if the server still keeps it."""
        tokens = ["streamlit", "none", self.screen.session] if self.screen.session else ["streamlit"]
        self._socket = await websockets.connect(
            self._address, subprotocols=tokens, max_size=None, max_queue=None, ping_interval=None, compression=None
        )
        self._tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._tick())]
        self.screen.query = query
        self.screen.timers.clear()
        return await self._ask("open", page, page_name=page)

    async def visit(self, page: str) -> Rerun:
        """Go to a page by the menu, which drops the query."""
        self.screen.query = ""
        self.screen.set_by_user.clear()
        return await self._ask("visit", page, page_script_hash=self.screen.pages[page])

    async def change(self, label: str, state: WidgetState) -> Rerun:
        """Set a widget, or press a button."""
        trigger = state.WhichOneof("value") == "trigger_value"
        if not trigger:
            self.screen.set_by_user[state.id] = state
        return await self._ask("change", label, [state] if trigger else [], page_script_hash=self.screen.page_hash)

    async def leave(self) -> None:
        """Close the connection."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._socket.close()

    async def _ask(self, kind: Kind, what: str, pressed: list[WidgetState] | None = None, **about: Any) -> Rerun:
        """Ask for a rerun and wait for its end."""
        async with self._turn:
            message = BackMsg()
            message.rerun_script.query_string = self.screen.query
            message.rerun_script.widget_states.widgets.extend([*self.screen.set_by_user.values(), *(pressed or [])])
            message.rerun_script.context_info.CopyFrom(_about_the_browser())
            for name, value in about.items():
                setattr(message.rerun_script, name, value)
            self._finished = asyncio.get_running_loop().create_future()
            self.screen.errors.clear()
            at = time.monotonic()
            status = await self._sent(message)
            took = time.monotonic() - at
            errors = [*self.screen.errors, *([status] if status else [])]
            page = self.screen.page or what
            self.reruns.append(Rerun(kind, page, what, at, took, tuple(errors)))
            return self.reruns[-1]

    async def _sent(self, message: BackMsg) -> str:
        """Send a message, wait for the end of the run, and return the error, or an empty string."""
        assert self._finished is not None
        try:
            await self._socket.send(message.SerializeToString())
            status = await asyncio.wait_for(self._finished, WAIT)
        except TimeoutError:
            return f"No answer in {WAIT:.0f} seconds."
        except (websockets.ConnectionClosed, ConnectionError) as error:
            return f"Disconnected: {error}"
        return "The script cannot be compiled." if status == ForwardMsg.FINISHED_WITH_COMPILE_ERROR else ""

    async def _read(self) -> None:
        """Take every message. A run that ends early for a rerun does not count as finished."""
        try:
            async for incoming in self._socket:
                message = ForwardMsg.FromString(incoming)
                self.screen.take(message)
                over = message.WhichOneof("type") == "script_finished"
                if over and message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                    self._settle(message.script_finished)
            raise ConnectionError("the server closed the connection")
        except (websockets.ConnectionClosed, ConnectionError) as error:
            self._settle(error)

    def _settle(self, outcome: int | Exception) -> None:
        if self._finished is None or self._finished.done():
            return
        if isinstance(outcome, Exception):
            self._finished.set_exception(outcome)
        else:
            self._finished.set_result(outcome)

    async def _tick(self) -> None:
        """Rerun fragments when they are due, as the browser's timers do."""
        due: dict[str, float] = {}
        while True:
            await asyncio.sleep(0.1)
            now = time.monotonic()
            due = {name: due.get(name, now + every) for name, every in self.screen.timers.items()}
            for name in [name for name, at in due.items() if at <= now]:
                due[name] = now + self.screen.timers.get(name, 0.0)
                with contextlib.suppress(KeyError):
                    await self._ask_tick(name)

    async def _ask_tick(self, fragment: str) -> None:
        if fragment in self.screen.timers and not self._turn.locked():
            page = self.screen.page_hash
            await self._ask("tick", "", page_script_hash=page, fragment_id=fragment, is_auto_rerun=True)


def _about_the_browser() -> Any:
    context = BackMsg().rerun_script.context_info
    context.timezone, context.locale, context.color_scheme = "UTC", "en-GB", "light"
    return context
