"""The start of the app: `python app.py` looks at the configuration, then serves; `streamlit run app.py` looks when the
first visitor comes."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Mapping
from typing import Any

import streamlit as st
from streamlit import config
from streamlit.runtime.scriptrunner import get_script_run_ctx

from shapewise.access.deployment import missing
from shapewise.access.quotas import is_shared

log = logging.getLogger(__name__)
OPTIONS = (
    "server.trustedUserHeaders", "server.address", "server.cookieSecret", "server.allowedHosts",
    "server.enableXsrfProtection", "server.enableCORS",
)  # fmt: skip


def is_launched_bare() -> bool:
    """Return whether app.py runs as a plain program, not for a visitor."""
    return get_script_run_ctx(suppress_warning=True) is None


def lacks() -> list[str]:
    """Return what a shared deployment lacks; nothing for an app that is used alone."""
    if not is_shared():
        return []
    options = {name: config.get_option(name) for name in OPTIONS}
    options["proxy_secret"] = os.environ.get("GAMCORE_PROXY_SECRET", "")
    return missing(options, auth(), config.is_manually_set("server.cookieSecret"))


def auth() -> Mapping[str, Any]:
    """Return the section [auth] of secrets.toml, where there is one."""
    try:
        options: Mapping[str, Any] = st.secrets.get("auth", {})
    except FileNotFoundError:
        return {}
    return options


def refuse() -> None:
    """End a server that is told to be shared, and is not ready to be."""
    lacking = lacks()
    if not lacking:
        return
    log.critical("GAMCORE_MODE=shared is not ready: %s", " ".join(lacking))
    st.error(
        "This server is not configured for sharing, so it stops. The log says what is missing.", icon=":material/lock:"
    )
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGTERM)).start()  # after this page has been sent
    st.stop()


def launch(script: str) -> None:
    """Serve the app as a program of its own, with streamlit's options: refused at once, with exit code 2, where
    something is missing."""
    from streamlit.web import bootstrap, cli

    serve = bootstrap.run

    def checked(*of: Any, **options: Any) -> None:
        lacking = lacks()  # the options are known by now, wherever they were set
        if lacking:
            print("GAMCORE_MODE=shared is not ready:", *lacking, sep="\n- ", file=sys.stderr)
            sys.exit(2)
        serve(*of, **options)

    bootstrap.run = checked
    cli.main(["run", script, *sys.argv[1:]], prog_name="streamlit")
