"""Which requests of a browser are dropped: those for fragments of a page that is no longer shown."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData

from shapewise.ui.session import late_fragments


@pytest.mark.parametrize(
    ("asked", "is_run"),
    [
        (RerunData(page_script_hash="shown"), True),
        (RerunData(page_script_hash="left"), True),  # a visit of another page
        (RerunData(page_script_hash="shown", fragment_id_queue=["a"]), True),
        (RerunData(page_script_hash="left", fragment_id_queue=["a"]), False),
    ],
)
def test_a_fragment_of_a_page_that_was_left_is_dropped(monkeypatch, asked, is_run):
    runs = []
    monkeypatch.setattr(ScriptRunner, "_run_script", lambda _, asked: runs.append(asked))
    late_fragments.drop()
    late_fragments.drop()  # each session asks for it
    runner = SimpleNamespace(_pages_manager=SimpleNamespace(current_page_script_hash="shown"))
    ScriptRunner._run_script(runner, asked)
    assert runs == [asked] * is_run
