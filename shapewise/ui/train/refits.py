"""Refits for a page: one per specification, fitted beside the page, so that a slow one keeps nobody waiting.

A page asks for the refits that it compares. Those that are quick are there at once; while others are fitted, the page
says so and is drawn again when they are done. Nothing is drawn from only some of them.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any, Final, TypeVar

import streamlit as st

from gamcore.data.columns import TableError
from shapewise.training import live
from shapewise.training.dataset import Data, read_data
from shapewise.training.effects import as_trained
from shapewise.training.live import Draft, Packed
from shapewise.training.spec import Spec
from shapewise.training.train import with_present_codes
from shapewise.ui.session import engine, redraw, state
from shapewise.ui.session.words import md

PATIENCE: Final = 0.6
"""Seconds that a page waits for its refits before it says that they are on their way."""

MOST_KEPT: Final = 64
Key = tuple[str, str, str]
Made = TypeVar("Made")


class Refits:
    """Refits of this server, by person and specification; those asked for least recently are forgotten."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "refits")
        self._futures: OrderedDict[Key, Future[Any]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, spec: Spec) -> Future[Packed]:
        """Return the refit of a specification, begun now if it is not there; TableError where it cannot be fitted."""
        about = state.workspace().tables.about(spec.table)
        spec = spec if spec.codes is not None else with_present_codes(state.workspace(), spec)
        key = state.workspace().person.id, as_key(spec), json.dumps(about.held_out_by)
        with self._lock:
            if key in self._futures:
                self._futures.move_to_end(key)
                return self._futures[key]
        data = data_of(spec)
        return self.ask(key, lambda: live.draft(data, spec).packed())

    def ask(self, key: Key, task: Callable[[], Made]) -> Future[Made]:
        """Return the result of a task by a key that begins with a person, begun now if it is not there."""
        with self._lock:
            if key not in self._futures:
                self._futures[key] = self._pool.submit(task)
            self._futures.move_to_end(key)
            while len(self._futures) > MOST_KEPT:
                _, oldest = self._futures.popitem(last=False)
                oldest.cancel()
            return self._futures[key]


def data_of(spec: Spec) -> Data:
    """Return the rows of a specification; TableError where they cannot be had."""
    about = state.workspace().tables.about(spec.table)
    data = read_data(state.table(spec.table, spec.codes_of(spec.table)), spec, about.held_out_by)
    return as_trained(state.workspace(), spec, data)


@st.cache_resource(show_spinner=False)
def all_refits() -> Refits:
    return Refits()


def as_key(spec: Spec) -> str:
    """Return what a refit depends on."""
    return json.dumps(replace(spec, name="", bands=0).to_dict(), sort_keys=True)


def drafts(specs: Sequence[Spec]) -> list[Draft] | None:
    """Return the refits of some specifications; None where they are on their way or cannot be fitted, which is said."""
    if not engine.prepared():
        return None
    try:
        refitted: list[Packed] | None = wait_for([all_refits().get(spec) for spec in specs])
    except TableError as error:
        st.error(md(error), icon=":material/error:")
        return None
    return None if refitted is None else [packed.draft() for packed in refitted]


REDRAWN: Final = "Refitting: the curve is redrawn as soon as it is done."


def wait_for(futures: Sequence[Future[Made]], words: str = REDRAWN) -> list[Made] | None:
    """Return the results of refits; None (with a message) while one is on its way, after which the page is drawn
    again; TableError where one cannot be fitted."""
    _, open_ones = wait(futures, PATIENCE)
    if not open_ones:
        return [future.result() for future in futures]
    _until(futures, words)
    return None


def _until(futures: Sequence[Future[Any]], words: str) -> None:
    """Say that refits are on their way, and draw the page again when they are done."""

    @st.fragment(run_every=0.5)
    def look() -> None:
        if all(future.done() for future in futures):
            redraw.by_timer()
        st.caption(f":material/progress_activity: {words}")

    look()
