"""Loading from the server's folder, and the turns that readings take, through streamlit's AppTest."""

from __future__ import annotations

import contextlib
import threading

import pandas as pd
import pytest

from shapewise.access.deployment import data_folder
from shapewise.ui.data import keeping
from shapewise.ui.session import deployment
from tests.support.pages import button, open_page


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An allowed folder of a file, of partitions, and of ways out of it."""
    allowed = tmp_path / "allowed"
    for month in (1, 2):
        (allowed / "sales" / f"month={month}").mkdir(parents=True)
        frame = pd.DataFrame({"amount": [month, 2.5, 7.0]})
        frame.to_parquet(allowed / "sales" / f"month={month}" / "part.parquet", index=False)
    (allowed / "notes.csv").write_text("a,b\n1,2\n3,4\n")
    (tmp_path / "secret.csv").write_text("a,b\n5,6\n7,8\n")
    (allowed / "way out.csv").symlink_to(tmp_path / "secret.csv")
    monkeypatch.setenv("GAMCORE_DATA_FOLDER", str(allowed))
    return allowed


def load(app, name):
    app.selectbox[0].set_value(name).run()
    button(app, "Load it").click().run()
    assert not app.exception
    return app


def test_files_and_folders_of_the_allowed_folder_are_loaded(space, folder):
    app = open_page("data")
    assert app.selectbox[0].options == ["notes.csv", "sales", "sales/month=1/part.parquet",
                                        "sales/month=2/part.parquet", "way out.csv"]  # fmt: skip
    load(app, "sales")
    (table,) = space.tables.listed()
    assert (table.name, table.rows) == ("sales", 6)
    assert sorted(space.tables.read(table.id)["month"]) == [1, 1, 1, 2, 2, 2]
    assert list(folder.rglob("*.parquet"))  # only read


def test_what_is_outside_the_allowed_folder_is_refused(space, folder):
    app = load(open_page("data"), "way out.csv")
    assert ["outside the allowed folder" in error.value for error in app.error] == [True]
    assert space.tables.listed() == []


@pytest.mark.slow
def test_a_link_out_of_a_folder_of_parts_is_refused(space, folder, tmp_path):
    pd.DataFrame({"amount": [9.0]}).to_parquet(tmp_path / "secret.parquet", index=False)
    (folder / "sales" / "month=3").mkdir()
    (folder / "sales" / "month=3" / "part.parquet").symlink_to(tmp_path / "secret.parquet")
    app = load(open_page("data"), "sales")
    assert ["outside the folder" in error.value for error in app.error] == [True]
    assert space.tables.listed() == []


@pytest.mark.parametrize("place", ["/", "//", "/.", "/tmp/..", "link", "workspace", "above", "below"])
def test_a_folder_from_where_all_could_be_read_stops_the_start(space, tmp_path, place, monkeypatch):
    """The root by any name; and what holds the workspace, or is in it, where the tables of others are."""
    (tmp_path / "link").symlink_to("/")
    (space.root / "below").mkdir()
    known = {"link": tmp_path / "link", "workspace": space.root, "above": space.root.parent,
             "below": space.root / "below"}  # fmt: skip
    monkeypatch.setenv("GAMCORE_DATA_FOLDER", str(known.get(place, place)))
    (said,) = deployment.lacks()
    assert said.startswith("GAMCORE_DATA_FOLDER ")
    assert data_folder(space.root) is None


def test_a_folder_beside_the_workspace_may_be_loaded_from(space, folder):
    assert deployment.lacks() == []
    assert data_folder(space.root) == folder


def test_without_an_allowed_folder_nothing_is_offered(space):
    assert not open_page("data").selectbox


def test_a_reading_waits_until_another_has_ended(space, monkeypatch):
    monkeypatch.setenv("GAMCORE_SLOTS", "1")
    monkeypatch.setattr(keeping, "WAIT_SECONDS", 0.01)
    order, waits = [], threading.Event()
    with contextlib.suppress(ValueError), keeping.turn(lambda: None):
        raise ValueError("broken")  # a turn ends however a reading does

    def other():
        with keeping.turn(waits.set):
            order.append("second")

    with keeping.turn(lambda: None):
        thread = threading.Thread(target=other)
        thread.start()
        assert waits.wait(30)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


@pytest.mark.slow
def test_the_page_says_that_it_waits(space, folder, monkeypatch):
    monkeypatch.setenv("GAMCORE_SLOTS", "1")
    monkeypatch.setattr(keeping, "WAIT_SECONDS", 0.01)
    said = []

    def progress(bar, share, words=""):
        said.append(words)
        if "Waiting" in words and len(said) > 2:
            keeping._turns(1).release()

    app = open_page("data")
    monkeypatch.setattr("streamlit.delta_generator.DeltaGenerator.progress", progress)
    keeping._turns(1).acquire()
    load(app, "sales/month=1/part.parquet")
    waits = [place for place, words in enumerate(said) if words.startswith("Waiting")]
    reading, *_, last = said[waits[-1] + 1 :]  # between them is what the child says, which is not all seen
    assert reading == "Reading part\\.parquet"
    assert last == "Storing the table"
    assert [table.name for table in space.tables.listed()] == ["part"]


@pytest.mark.slow
def test_small_text_does_not_wait_for_large_files(space, folder, monkeypatch):
    monkeypatch.setenv("GAMCORE_SLOTS", "1")
    with keeping.turn(lambda: None):
        load(open_page("data"), "notes.csv")
    assert [table.name for table in space.tables.listed()] == ["notes"]


@pytest.mark.slow
def test_a_file_is_read_up_to_what_one_may_keep(space, folder, monkeypatch):
    monkeypatch.setenv("GAMCORE_BYTES", "20")
    app = load(open_page("data"), "sales")
    assert ["that you may still keep" in error.value for error in app.error] == [True]
    assert space.tables.listed() == []
