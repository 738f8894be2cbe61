"""A few sessions on a real server, by the code of `benchmarks.app.load`, and what its client makes of messages."""

from __future__ import annotations

import random

import pytest
from streamlit.proto.Alert_pb2 import Alert
from streamlit.proto.ButtonGroup_pb2 import ButtonGroup
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NumberInput_pb2 import NumberInput
from streamlit.proto.Selectbox_pb2 import Selectbox

from benchmarks.app import load, load_report, users
from shapewise.ui.decide.arms_result import ICONS
from tests.support.sessions import Rerun, Screen

pytestmark = pytest.mark.slow

HANG = 30.0
"""Seconds of a rerun that nobody waits for on purpose: a hang, whatever else the machine does."""


def drawn(name: str, place: int, fragment: str = "") -> ForwardMsg:
    """A checkbox at a place of the page."""
    message = ForwardMsg()
    message.metadata.delta_path.extend([0, place])
    message.delta.fragment_id = fragment
    message.delta.new_element.checkbox.id = name
    return message


def begun(page: str, *fragments: str) -> ForwardMsg:
    message = ForwardMsg()
    message.new_session.page_script_hash = page
    message.metadata.run.fragment_ids.extend(fragments)
    return message


def ids(screen: Screen) -> list[str]:
    return [widget.id for _, widget in screen.widgets()]


def test_a_screen_shows_what_the_last_run_drew():
    screen = Screen()
    for message in (begun("p"), drawn("a", 1), drawn("b", 0, "f"), drawn("c", 2, "f")):
        screen.take(message)
    assert ids(screen) == ["b", "a", "c"]
    for message in (begun("p", "f"), drawn("d", 0, "f")):  # the fragment alone, which has a widget less
        screen.take(message)
    assert ids(screen) == ["d", "a"]
    screen.take(begun("q"))
    assert ids(screen) == []


def test_timers_of_fragments_end_with_the_page_or_by_word():
    screen, timer, stop = Screen(), ForwardMsg(), ForwardMsg()
    timer.auto_rerun.fragment_id, timer.auto_rerun.interval = "f", 0.5
    stop.stop_auto_rerun.fragment_ids.append("f")
    for end in (stop, begun("p")):
        screen.take(timer)
        screen.take(begun("p", "f"))
        assert screen.timers == {"f": 0.5}
        screen.take(end)
        assert not screen.timers


def test_errors_are_seen_and_warnings_are_not():
    screen, error, warning, exception = Screen(), ForwardMsg(), ForwardMsg(), ForwardMsg()
    error.delta.new_element.alert.format, error.delta.new_element.alert.body = Alert.ERROR, "no"
    error.delta.new_element.alert.icon = ":material/error:"
    verdict = ForwardMsg()
    verdict.delta.new_element.alert.format, verdict.delta.new_element.alert.body = Alert.ERROR, "**Stopped.**"
    verdict.delta.new_element.alert.icon = ICONS["stop"]
    warning.delta.new_element.alert.format, warning.delta.new_element.alert.body = Alert.WARNING, "well"
    exception.delta.new_element.exception.type = "KeyError"
    for message in (error, warning, verdict, exception):
        screen.take(message)
    assert screen.errors == ["no", "KeyError: "]


def test_a_change_is_always_another_value():
    rng = random.Random(0)
    box = Selectbox(id="s", options=["a", "b", "c"], default=0)
    group = ButtonGroup(id="g", default=[0, 1, 2], click_mode=ButtonGroup.MULTI_SELECT)
    for name in "xyz":
        group.options.add(content=name)
    number = NumberInput(id="n", default=1.0, step=1.0, min=1.0, has_min=True)
    states = {"s": None, "g": None, "n": None}
    before = {"s": "a", "g": ["x", "y", "z"], "n": 1.0}
    for _ in range(50):
        for kind, widget in (("selectbox", box), ("button_group", group), ("number_input", number)):
            state = users.changed(kind, widget, states[widget.id], rng)
            if state is None:
                continue
            value = getattr(state, state.WhichOneof("value"))
            value = list(value.data) if kind == "button_group" else value
            assert value != before[widget.id]
            states[widget.id], before[widget.id] = state, value
            assert kind != "number_input" or value >= 1.0
            assert kind != "button_group" or len(value) >= 2  # a model keeps most of its features
    assert users.changed("selectbox", Selectbox(options=["a"], default=0), None, rng) is None
    assert users.changed("number_input", NumberInput(step=1.0), None, rng) is None  # an open end stays open


def test_every_kind_of_failure_is_an_error(tmp_path):
    log = tmp_path / "log"
    log.write_text(
        'hello\nTraceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\nKeyError: 1\nbye\n'
    )
    reruns = [Rerun("visit", "data", "data", 0.0, 1.0, ("one", "two")), Rerun("tick", "train", "", 0.0, 1.0)]
    errors = load_report.errors(reruns, [None, OSError("gone")], [], log)
    assert len(errors) == 4
    assert errors[-1].endswith('File "a.py", line 3, in f: KeyError: 1')
    log.write_text("hello\n")
    assert load_report.errors([reruns[1]], [None], [], log) == []


def test_growth_is_the_slope_after_the_warm_up():
    at = [load_report.Level(float(k), 500.0 if k < 15 else 500.0 + k / 60, 9, k / 10) for k in range(61)]
    growth = load_report.memory(at[0], at[0], at, at[-1], load_report.Load(2, 60.0, 1.0))
    assert growth["mib_a_minute"] == pytest.approx(1.0)
    assert growth["mib_a_session"] == pytest.approx(0.5)
    assert growth["server_seconds"] == pytest.approx(6.0)


def test_goals_are_missed_one_by_one_and_what_is_kept_only_after_a_soak():
    warm, left = {"threads": 9, "mib": 500.0}, {"threads": 9, "mib": 525.0}
    load_only = {"errors": [], "reruns": {"p95": 1.0}, "mib_a_session": 1.0, "warm": warm}
    load_only["load"] = {"forget": False, "sessions": 4}
    soak = {**load_only, "load": {"forget": True, "sessions": 4}, "mib_a_session": 5.0, "left": left}
    load_only["left"] = {**left, "mib": 900.0}
    assert load_report.missed(load_only) == load_report.missed(soak) == []
    for name, value in (("errors", ["e"]), ("reruns", {"p95": 2.0}), ("left", {**left, "threads": 12})):
        assert len(load_report.missed({**soak, name: value})) == 1, name
    assert len(load_report.missed({**load_only, "mib_a_session": 2.0})) == 1
    assert len(load_report.missed({**soak, "left": {**left, "mib": 526.0}})) == 1
    assert load_report.missed({**soak, "reruns": load_report.quantiles([])}) == ["p95 of nan s"]  # nobody was served


def test_a_few_sessions_on_a_real_server():
    few = load_report.Load(
        sessions=len(users.PAGES), seconds=12.0, every=4.0, stay=10.0, first=3
    )  # pools of threads have begun
    results = load.run(few, {"outer_bags": 8})
    assert results["errors"] == []
    assert set(results["pages"]) == set(users.PAGES)
    assert results["reruns"]["max"] < HANG
    assert "failed" not in results["fits"]
    assert results["mib_a_session"] < 60.0  # of a server whose caches are not full yet
    left = results["left"]["threads"] - results["warm"]["threads"]
    assert left < few.sessions / 2  # pools begin their threads when they need them; a leak is one for each session
