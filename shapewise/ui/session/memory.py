"""Memory and descriptors of a shared server: release what reruns have freed, and end disconnected sessions."""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from streamlit import runtime

from shapewise.memory import few_arenas, give_back, give_back_early, no_pool

SECONDS: Final = 20.0
IDLE_SECONDS: Final = 300.0
"""Seconds without any session after which what was computed is forgotten: caches are bounded by number, not by size."""

log = logging.getLogger(__name__)


def settle(forget: Callable[[], None]) -> None:
    """Run once per server: exclude the libraries' objects from collection, and return freed memory regularly.

    forget : drops what can be computed again; called once nobody has been there for a while.
    """
    gc.collect()
    gc.freeze()
    few_arenas()  # each rerun is a thread of its own
    give_back_early()  # otherwise concurrent reruns fragment the heap, and the server keeps what they freed
    no_pool()
    threading.Thread(target=_give_back, args=(Idle(forget),), daemon=True, name="memory").start()


def _end_sessions_soon() -> None:
    if runtime.exists():
        with suppress(AttributeError, RuntimeError):  # another version of Streamlit; a server that is just stopping
            runtime.get_instance()._get_async_objs().eventloop.call_soon_threadsafe(end_sessions)


def end_sessions() -> None:
    """End disconnected sessions past their time to return (server.disconnectedSessionTTL), on the server's event loop.

    Streamlit drops one only when another disconnects: until then each holds its state and three descriptors.
    """
    manager: Any = getattr(runtime.get_instance(), "_session_mgr", None)
    storage = getattr(manager, "_session_storage", None)
    lock, sessions = getattr(manager, "_storage_lock", None), getattr(storage, "_cache", None)
    if (
        lock is None or sessions is None or not hasattr(sessions, "expire")
    ):  # another version of Streamlit: it drops sessions by itself
        return
    with lock:
        gone = sessions.expire() or ()
    for _, about in gone:
        try:
            about.session.shutdown()
        except Exception:
            log.exception("A session that left could not be ended")


def sessions() -> int:
    """Return how many sessions the server holds, with those that may return; 1 where that is not known."""
    manager: Any = getattr(runtime.get_instance(), "_session_mgr", None) if runtime.exists() else None
    try:
        return int(manager.num_sessions())
    except (AttributeError, TypeError):  # no server, or another version of Streamlit: forget nothing
        return 1


class Idle:
    """Forgets what was computed once nobody has been there for IDLE_SECONDS, and not again until somebody was."""

    def __init__(self, forget: Callable[[], None]) -> None:
        self._forget, self._since = forget, float("inf")

    def look(self, held: int, now: float) -> None:
        """Take note of how many sessions are held at a time in seconds."""
        if held:
            self._since = now
        elif now - self._since >= IDLE_SECONDS:
            self._since = float("inf")
            self._forget()


def _give_back(idle: Idle) -> None:
    while True:
        time.sleep(SECONDS)
        _end_sessions_soon()
        try:
            idle.look(sessions(), time.monotonic())
        except Exception:  # this thread has to go on
            log.exception("What was computed could not be forgotten")
        gc.collect()  # figures are cycles, and hold arrays that Python's collector does not count
        give_back()
