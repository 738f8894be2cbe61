"""A disk that answers after five seconds: each page says so, and goes on."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from streamlit.testing.v1 import AppTest

from shapewise.store.database import Meta
from shapewise.ui.session import slow_disk
from tests.support.places import ROOT
from tests.support.spaces import frame


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still but where the disk is asked, which takes so many seconds."""
    told = {"now": 0.0, "each": 0.0}
    real = Meta.reading

    @contextmanager
    def reading(records):
        told["now"] += told["each"]
        with real(records) as connection:
            yield connection

    monkeypatch.setattr(Meta, "reading", reading)
    monkeypatch.setattr(slow_disk.time, "monotonic", lambda: told["now"])
    return told


def shown():
    """A page that waits for the disk as every page does."""
    import streamlit as st

    from shapewise.ui.session import slow_disk, state

    slow_disk.say(slow_disk.wait_for(state.workspace()))
    st.write(len(state.workspace().tables.listed()), "tables")


@pytest.mark.parametrize(("seconds", "is_said"), [(0.01, False), (1.9, False), (2.0, True), (5.0, True), (60.0, True)])
def test_a_slow_disk_is_told_and_the_page_goes_on(space, clock, seconds, is_said):
    space.tables.add(frame(), "rows")
    clock["each"] = seconds
    app = AppTest.from_function(shown, default_timeout=60).run()
    assert not app.exception
    assert [one.value.startswith(f"The disk of the workspace took {seconds:.1f} seconds") for one in app.warning] == (
        [True] if is_said else []
    )
    assert "1 tables" in app.markdown[0].value.replace("`", "")


def test_every_page_waits_for_the_disk_where_it_begins():
    text = (ROOT / "shapewise" / "ui" / "frame" / "page.py").read_text(encoding="utf-8")
    assert text.index("slow_disk.wait_for(space)") < text.index("sidebar.show(menu)") < text.index("slow_disk.say(")
