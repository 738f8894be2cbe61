"""People who leave: nothing more is computed for them."""

from __future__ import annotations

from streamlit.runtime.scriptrunner import StopException, get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType


def end_if_left() -> None:
    """End the page that this thread draws if its browser is gone, as each of Streamlit's own calls does; nothing in
    any other thread. Another click does not count: what it waits for may be what is being computed."""
    context = get_script_run_ctx(suppress_warning=True)
    requests = getattr(context, "script_requests", None)
    if getattr(requests, "_state", None) is ScriptRequestType.STOP:
        raise StopException
