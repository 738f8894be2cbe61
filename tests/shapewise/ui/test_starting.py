"""The start of a server: what is loaded ahead, in the background."""

from __future__ import annotations

import threading

from shapewise.ui.session import deployment


def test_a_server_that_is_stopped_while_it_loads_logs_no_traceback(monkeypatch):
    """A module that is loaded while Python ends may not register what it does at the end."""
    asked, logged = [], []

    def ending(name):
        asked.append(name)
        raise RuntimeError("can't register atexit after shutdown")

    monkeypatch.setattr(deployment, "import_module", ending)
    monkeypatch.setattr(deployment, "_loading", [])
    monkeypatch.setattr(threading, "excepthook", logged.append)
    deployment.load()
    deployment.wait_until_loaded()
    assert asked == [deployment.FRAME]
    assert logged == []
