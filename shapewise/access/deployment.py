"""The settings that a shared deployment needs before it serves anybody."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

SECRET: Final = 32
OIDC: Final = ("client_id", "client_secret", "server_metadata_url", "redirect_uri")
LIBRARIES: Final = ("authlib", "httpx")
DATA_FOLDER: Final = "GAMCORE_DATA_FOLDER"
LOCALS: Final = ("localhost", "127.0.0.1", "::1")


def data_folder(workspace: Path) -> Path | None:
    """Return the folder of the server whose files may be loaded; None where none is set, or `wrong_folder` refuses
    it."""
    folder = os.environ.get(DATA_FOLDER, "").strip()
    return Path(folder).resolve() if folder and not wrong_folder(workspace) else None


def wrong_folder(workspace: Path) -> str:
    """Return why the folder that is set may not be loaded from, as a sentence; empty if it may, or none is set."""
    path, own = os.environ.get(DATA_FOLDER, "").strip(), workspace.resolve()
    folder = Path(path).resolve()
    if path and folder.parent == folder:
        return f"{DATA_FOLDER} is {path!r}, so that anything could be read: name a folder of data, such as /srv/data."
    if path and (own.is_relative_to(folder) or folder.is_relative_to(own)):
        return (
            f"{DATA_FOLDER} and the workspace are within each other, so that everybody could load what is private: "
            "name a folder of data beside it."
        )
    return ""


def missing(options: Mapping[str, Any], auth: Mapping[str, Any], secret_is_set: bool) -> list[str]:
    """Return what a shared deployment lacks, as sentences; an empty list if it may start.

    options : Streamlit options by name, and proxy_secret. auth : the section [auth] of secrets.toml. secret_is_set :
    whether server.cookieSecret was configured, not generated at startup.
    """
    lacking = []
    headers = options.get("server.trustedUserHeaders") or {}
    if not headers and not all(auth.get(name) for name in OIDC):
        lacking.append(
            "Nobody can sign in: set [auth] in .streamlit/secrets.toml (OIDC), or server.trustedUserHeaders to the "
            "header in which your proxy names the user."
        )
    if auth and not headers and not all(map(find_spec, LIBRARIES)):
        lacking.append('OIDC needs more libraries: pip install "shapewise[shared]".')
    if headers and "email" not in headers.values() and "name" not in headers.values():
        lacking.append("server.trustedUserHeaders names nobody: map a header to email or name.")
    if headers and options.get("server.address") not in LOCALS and len(options.get("proxy_secret") or "") < SECRET:
        lacking.append(
            "A header is trusted, but the server can be reached without the proxy that sets it: set server.address to "
            f"localhost, or GAMCORE_PROXY_SECRET to {SECRET} characters that the proxy sends as X-Proxy-Secret."
        )
    secret = str(auth.get("cookie_secret") or "")
    if not headers and len(secret) < SECRET:
        lacking.append(f"auth.cookie_secret has fewer than {SECRET} characters: make one with `openssl rand -hex 32`.")
    if not secret_is_set or len(str(options.get("server.cookieSecret") or "")) < SECRET:
        lacking.append(f"server.cookieSecret is not set to {SECRET} characters or more: make one as above.")
    hosts = options.get("server.allowedHosts") or []
    if not hosts or "*" in hosts:
        lacking.append("server.allowedHosts allows any host: set it to the host name that people use.")
    if not options.get("server.enableXsrfProtection", True) or not options.get("server.enableCORS", True):
        lacking.append("server.enableXsrfProtection or server.enableCORS is off: leave both on.")
    return lacking
