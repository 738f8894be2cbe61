"""What a page computes for a person ends when they leave, and what they wrote after ten seconds, in words."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd
import pytest
from streamlit.runtime.scriptrunner import StopException
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequests

from shapewise import patience
from shapewise.columns.evaluate import evaluate
from shapewise.columns.formula import parse
from shapewise.store.batches import arrow_batches, beginning
from shapewise.ui.session import leaving


@pytest.fixture
def requests(monkeypatch):
    """What is asked of the page that this thread draws."""
    made = ScriptRequests()
    monkeypatch.setattr(leaving, "get_script_run_ctx", lambda **_: SimpleNamespace(script_requests=made))
    monkeypatch.setattr(patience, "_check_left", leaving.end_if_left)
    return made


FRAME = pd.DataFrame({"a": [1.0, 2.0], "t": ["x", "y"]})


def test_a_formula_ends_when_its_reader_leaves(requests):
    evaluate(parse("a + 1"), FRAME, {"a": "number"})
    requests.request_stop()  # as Streamlit does when a browser is gone
    with pytest.raises(StopException):
        evaluate(parse("a + 1"), FRAME, {"a": "number"})


def test_a_pass_over_a_table_ends_when_its_reader_leaves(requests, tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": range(1_000)}).to_parquet(path, row_group_size=100)
    passed = arrow_batches(path, beginning(path))
    next(passed)
    requests.request_stop()
    with pytest.raises(StopException):
        next(passed)


def test_who_is_no_page_cannot_leave(monkeypatch):
    monkeypatch.setattr(leaving, "get_script_run_ctx", lambda **_: None)
    leaving.end_if_left()


def test_what_was_written_ends_after_ten_seconds_of_its_own_thread(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(patience.time, "thread_time", lambda: clock[0])
    with patience.at_most():
        clock[0] += patience.SECONDS
        patience.look()
        with patience.at_most(100 * patience.SECONDS):  # an inner block grants no more
            clock[0] += 0.1
            with pytest.raises(patience.TooLongError, match="more than 10 seconds"):
                evaluate(parse("a + 1"), FRAME, {"a": "number"})
    patience.look()  # outside, nothing is counted
