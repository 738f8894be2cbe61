"""Fragments of a page that was left are not drawn any more.

A browser asks by a timer for a fragment again, also while the server answers a click. If that click opens another page
by `st.switch_page`, Streamlit (1.64 to 1.67) draws the fragment after the new page and says that it belongs to the page
before: the browser takes that for one more change of pages and empties the screen, or fails where the fragment stood.
"""

from __future__ import annotations

from functools import wraps

from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData


def drop() -> None:
    """Have requests for fragments of another page than the session's dropped, in this process; once is enough."""
    run = ScriptRunner._run_script
    if hasattr(run, "__wrapped__"):
        return

    @wraps(run)
    def run_unless_late(runner: ScriptRunner, asked: RerunData) -> None:
        shown = runner._pages_manager.current_page_script_hash
        if not asked.fragment_id_queue or asked.page_script_hash == shown:
            run(runner, asked)

    ScriptRunner._run_script = run_unless_late  # type: ignore[method-assign, assignment]
