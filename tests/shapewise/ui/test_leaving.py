"""What a page computes for a person ends when they leave, and each computation after ten seconds, in words."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd
import pytest
from streamlit.runtime.scriptrunner import StopException
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequests

from gamcore.data.table import as_table
from shapewise import patience
from shapewise.columns.evaluate import evaluate
from shapewise.columns.formula import parse
from shapewise.store.batches import arrow_batches, beginning
from shapewise.ui.session import leaving, memory, state


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


@pytest.fixture
def clock(monkeypatch):
    """The processor time of this thread, as the tests say."""
    made = [100.0]
    monkeypatch.setattr(patience.time, "thread_time", lambda: made[0])
    return made


def test_what_the_library_computes_ends_when_its_reader_leaves(requests):
    table = as_table(FRAME)
    table.kind("a")
    requests.request_stop()
    with pytest.raises(StopException):
        table.kind("t")


def test_what_was_written_ends_after_ten_seconds_of_its_own_thread(clock):
    with patience.at_most():
        clock[0] += patience.SECONDS
        patience.look()
        with patience.at_most(seconds=100 * patience.SECONDS):  # an inner block grants no more
            clock[0] += 0.1
            with pytest.raises(patience.TooLongError, match="more than 10 seconds"):
                evaluate(parse("a + 1"), FRAME, {"a": "number"})
    patience.look()  # outside, nothing is counted


def counted(clock, seconds):
    """A function that takes so many seconds for each column."""

    def work():
        for column in FRAME:
            clock[0] += seconds
            as_table(FRAME).kind(column)
        return "done"

    return work


def test_each_computation_of_a_page_ends_after_ten_seconds_in_words(clock, space):
    slow = state.kept(show_spinner="Ranking all pairs")(counted(clock, 6.0))
    with pytest.raises(patience.TooLongError) as ended:
        slow()
    said = "Ranking all pairs takes more than 10 seconds to compute, so it was ended: "
    assert str(ended.value) == said + patience.SMALLER
    with pytest.raises(patience.TooLongError, match=r"^This takes .* press less\.$"):
        state.kept(show_spinner=False, instead="press less.")(counted(clock, 6.0))()
    assert state.kept(show_spinner="Reading")(counted(clock, 4.0))() == "done"  # each has ten seconds of its own
    assert counted(clock, 100.0)() == "done"  # no page


def test_what_was_computed_is_forgotten_once_nobody_has_been_there_for_five_minutes():
    forgotten = []
    idle = memory.Idle(lambda: forgotten.append(now))
    for now, held in ((0, 0), (1_000, 0), (1_020, 2), (1_040, 0), (1_300, 1), (1_599, 0), (1_600, 0), (2_000, 0)):
        idle.look(held, now)
    assert forgotten == [1_600]  # nothing was computed before somebody came; once is enough
    idle.look(1, 3_000)
    for now in (3_299, 3_300, 3_320):
        idle.look(0, now)
    assert forgotten == [1_600, 3_300]


def test_all_that_can_be_computed_again_is_forgotten(space):
    made = []
    own, common = (cache()(lambda key: made.append(key)) for cache in (state.kept, state.shared))
    for _ in range(2):
        own("own"), common("common")
    state.forget()
    own("own"), common("common")
    assert made == ["own", "common", "own"]
    state.forget_all()
    own("own"), common("common")
    assert made == ["own", "common", "own", "own", "common"]


def test_where_sessions_cannot_be_counted_nothing_is_forgotten(monkeypatch):
    monkeypatch.setattr(memory.runtime, "exists", lambda: False)
    assert memory.sessions() == 1
