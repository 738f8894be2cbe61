"""Memory and descriptors of a shared server: release what reruns have freed, and end disconnected sessions."""

from __future__ import annotations

import gc
import logging
import threading
import time
from contextlib import suppress
from typing import Any, Final

from streamlit import runtime

from shapewise.memory import few_arenas, give_back, give_back_early, no_pool

SECONDS: Final = 20.0
log = logging.getLogger(__name__)


def settle() -> None:
    """Run once per server: exclude the libraries' objects from collection, and return freed memory regularly."""
    gc.collect()
    gc.freeze()
    few_arenas()  # each rerun is a thread of its own
    give_back_early()  # otherwise concurrent reruns fragment the heap, and the server keeps what they freed
    no_pool()
    threading.Thread(target=_give_back, daemon=True, name="memory").start()


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


def _give_back() -> None:
    while True:
        time.sleep(SECONDS)
        _end_sessions_soon()
        gc.collect()  # figures are cycles, and hold arrays that Python's collector does not count
        give_back()
