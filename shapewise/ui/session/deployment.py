"""The start of the app: `shapewise` and `python app.py` check the configuration before they serve; `streamlit run
app.py` checks it when the first visitor arrives."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

import streamlit as st
from streamlit import config
from streamlit.runtime.scriptrunner import get_script_run_ctx

from shapewise.access import cluster
from shapewise.access.deployment import missing, wrong_folder
from shapewise.access.quotas import is_shared
from shapewise.databases import connections
from shapewise.errors import StoreError
from shapewise.store.root import default_root

log = logging.getLogger(__name__)
OPTIONS = (
    "server.trustedUserHeaders", "server.address", "server.cookieSecret", "server.allowedHosts",
    "server.enableXsrfProtection", "server.enableCORS",
)  # fmt: skip
FRAME = "shapewise.ui.frame.page"
SWITCH = 5e-4
"""Seconds after which a thread that computes lets others on: a server answers browsers beside it, many times per page,
and each answer waits for this long. Python's own is ten times that."""
_loading: list[threading.Thread] = []
_looking: list[threading.Thread] = []


def is_launched_bare() -> bool:
    """Return whether app.py runs as a plain program, outside a session."""
    return get_script_run_ctx(suppress_warning=True) is None


def lacks() -> list[str]:
    """Return what the server lacks: of a cluster and databases that it is to use, and of what a shared deployment
    needs."""
    wrong = [*cluster.misconfigured(), *filter(None, [wrong_folder(default_root())])]
    wrong += connections.misconfigured(section(connections.SECTION))
    if not is_shared():
        return wrong
    options = {name: config.get_option(name) for name in OPTIONS}
    options["proxy_secret"] = os.environ.get("GAMCORE_PROXY_SECRET", "")
    return wrong + missing(options, auth(), config.is_manually_set("server.cookieSecret"))


def look_at_cluster() -> None:
    """Log, once per server, what the cluster has, or why it does not answer; the server goes on, as it may later."""
    if cluster.address() and not _looking:
        _looking.append(threading.Thread(target=_look, daemon=True, name="cluster"))
        _looking[0].start()


def _look() -> None:
    try:
        log.info("The cluster at %s has %s", cluster.address(), cluster.workers().words)
    except StoreError as error:
        log.error("%s", error)


def section(name: str) -> Mapping[str, Any]:
    """Return a section of secrets.toml; empty if there is none."""
    try:
        options: Mapping[str, Any] = st.secrets.get(name, {})
    except FileNotFoundError:
        return {}
    return options


def auth() -> Mapping[str, Any]:
    """Return the section of secrets.toml on signing in."""
    return section("auth")


def refuse() -> None:
    """Stop a server that lacks something."""
    lacking = lacks()
    if not lacking:
        return
    log.critical("The server is not ready: %s", " ".join(lacking))
    st.error("This server is not ready to serve, so it stops. The log says what is missing.", icon=":material/lock:")
    stop_server()
    st.stop()


def stop_server() -> None:
    """Stop this process, after the page that says why has been sent."""
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGTERM)).start()


def answer_soon() -> None:
    """Let the thread that answers browsers take its turn soon; called before libraries are loaded."""
    sys.setswitchinterval(SWITCH)


def load() -> None:
    """Load the libraries of the pages in the background, while the first visitor's browser is still on its way."""
    _loading.append(threading.Thread(target=_load, daemon=True, name="loading"))
    _loading[-1].start()


def _load() -> None:
    with suppress(Exception):  # what fails fails again where a page needs it, unless the server has been stopped
        import_module(FRAME)


def wait_until_loaded() -> None:
    """Wait for what `load` began, if it did: two threads should not load the same libraries at once."""
    for thread in _loading:
        thread.join()


def launch(script: str, options: Sequence[str]) -> None:
    """Serve the app as a standalone program, with Streamlit's options.

    Exit at once with code 2 if something is missing.
    """
    from streamlit.web import bootstrap, cli

    serve = bootstrap.run

    def checked(*args: Any, **settings: Any) -> None:
        lacking = lacks()  # all options are known by now, from every source
        if lacking:
            print("The server is not ready:", *lacking, sep="\n- ", file=sys.stderr)
            sys.exit(2)
        answer_soon()
        look_at_cluster()
        load()
        serve(*args, **settings)

    bootstrap.run = checked
    cli.main(["run", script, *options], prog_name="streamlit")
