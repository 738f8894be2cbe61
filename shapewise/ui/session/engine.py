"""The engine, which is the compiled kernels: made ready in the background, and waited for in words.

Only training, refits, the ranking of pairs and trees of several tasks need it; everything that reads a stored additive
model does not. On a machine where it was never compiled, a child process compiles it: in the server, the compiler would
hold the interpreter's lock, and every page with it.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import Final

import streamlit as st

from gamcore.kernels import warmup as kernels
from shapewise.ui.session import redraw

log = logging.getLogger(__name__)
LATER: Final = ("shapewise.ui.widgets.drawn", "shapewise.ui.explain.pair", "shapewise.ui.train.live")
"""What most pages import beyond their frame, plotly first of all."""
LOADING: Final = "Loading the engine: a few seconds after each start of the server."
COMPILING: Final = (
    "Preparing the engine: up to a minute, once after an installation. Pages that read a model work meanwhile."
)
MOST_LOADING: Final = 30.0
"""Seconds after which a page goes on without the engine being loaded."""
PATIENCE: Final = 4.0
"""Seconds for which the engine leaves the machine to the first page, unless that needs the engine."""


class Engine:
    """Whether the kernels are ready, and how far their compilation is (0 to 1)."""

    def __init__(self) -> None:
        self.ready, self.wanted = threading.Event(), threading.Event()
        self.compiles, self.share = False, 0.0

    def start(self) -> None:
        """Make the kernels ready in the background; with GAMCORE_WARM_UP=0 the first use of each compiles it."""
        if os.environ.get("GAMCORE_WARM_UP") == "0":
            self.ready.set()
            return
        self.compiles = not kernels.is_compiled()
        threading.Thread(target=self._run, daemon=True, name="warm-up").start()

    def _run(self) -> None:
        try:
            for name in LATER:
                import_module(name)
            if self.compiles:
                self._compile()
            else:
                self.wanted.wait(PATIENCE)
            kernels.warmup()
        except Exception:  # then the first use compiles, or says what is wrong
            log.exception("The kernels could not be compiled in advance")
        finally:
            self.ready.set()

    def _compile(self) -> None:
        """Compile into the cache, in a child process that prints how far it is."""
        paths = [str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
        command = [sys.executable, "-m", kernels.__name__]
        # Our own interpreter and module.
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:  # noqa: S603
            assert child.stdout is not None
            for line in child.stdout:
                self.share = float(line)


@st.cache_resource(show_spinner=False)
def _engine() -> Engine:
    return Engine()


def start() -> None:
    """Make the engine ready in the background; called once per server."""
    _engine().start()


def prepared() -> bool:
    """Return whether the engine is ready. If not, the page says so, and is drawn again when it is: leave out what needs
    it."""
    engine = _engine()
    engine.wanted.set()
    if not engine.compiles and not engine.ready.is_set():
        with st.spinner(LOADING):
            return engine.ready.wait(MOST_LOADING)
    if engine.ready.is_set():
        return True
    _progress()
    return False


@st.fragment(run_every=redraw.SECONDS)
def _progress() -> None:
    engine = _engine()
    if engine.ready.is_set():
        redraw.by_timer()
    st.progress(engine.share, COMPILING)
