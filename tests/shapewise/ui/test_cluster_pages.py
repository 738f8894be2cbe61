"""What pages say of a cluster, and of tables whose rows stay with it."""

from __future__ import annotations

import pytest

from gamcore.decide.rules import EVERYBODY, Levels, Range
from gamcore.decide.strategies import Strategy, StrategySet
from shapewise.access import cluster
from shapewise.access.quotas import Limits
from shapewise.datasets.dataset import load_dataset
from shapewise.reports import card
from shapewise.scoring import all_rows, score_file
from shapewise.store.workspace import StoreError
from shapewise.training import runs
from shapewise.training import train as training
from shapewise.training.spec import Spec
from shapewise.ui.train import where
from tests.support.pages import button, open_page
from tests.support.pieces import files_of, mixed_table
from tests.support.spaces import wait

pytestmark = pytest.mark.slow


@pytest.fixture
def dataset(lake, space):
    """The table of a dataset, and its rows."""
    where._standing.clear()
    frame = mixed_table(3000)
    url, space.limits = files_of(lake / "mixed", frame), Limits(table_memory=400_000)
    with cluster.connected() as crew:
        table = load_dataset(space, url, crew, lambda share, words: None)
    space.limits = Limits()
    return table, frame


def spec_of(table):
    return Spec(table=table, target="good", name="good", features=["a", "b", "c"], positive=["good"], goal="binary",
                preset="fast", changes={"max_rounds": 20}, bands=0)  # fmt: skip


def texts(app):
    return " ".join(one.value for one in [*app.caption, *app.markdown, *app.error, *app.warning])


def test_a_dataset_is_loaded_by_its_address(lake, space):
    url = files_of(lake / "mixed", mixed_table(500))
    app = open_page("data")
    (field,) = (one for one in app.text_input if one.label.startswith("Path or URL"))
    field.input(f"{lake}/../elsewhere").run()
    button(app, "Load the dataset").click().run()
    assert "may not be loaded here" in app.error[0].value
    field.input(f"{lake}/nothing").run()
    button(app, "Load the dataset").click().run()
    assert "cannot be read as a Parquet dataset" in app.error[0].value
    assert not space.tables.listed()
    field.input(url).run()
    button(app, "Load the dataset").click().run()
    assert not app.error
    (table,) = space.tables.listed()
    assert (table.dataset, table.rows, table.name) == (url, 500, "mixed")
    assert f"The rows stay in {url}" in texts(app).replace("\\", "")


def test_a_server_without_a_cluster_offers_none(space):
    app = open_page("data")
    assert not [one for one in app.text_input if one.label.startswith("Path or URL")]
    table = space.tables.add(mixed_table(500), "mixed")
    app = open_page("train", table=table.id)
    assert not [one for one in app.get("button_group") if one.label == "Where"]


def test_a_stored_table_is_trained_where_the_analyst_says(lake, space):
    where._standing.clear()
    table = space.tables.add(mixed_table(2000), "mixed")
    app = open_page("train", table=table.id)
    (choice,) = (one for one in app.get("button_group") if one.label == "Where")
    assert choice.value == where.HERE
    choice.set_value(where.THERE).run()
    assert "2 workers, 2 threads" in texts(app)
    assert "The cluster trains on all 2,000 rows but those held out." in texts(app)
    button(app, "Train").click().run()
    (run,) = runs.listing(space)
    assert wait(space, run.id).state == "done"
    assert space.models.listed()[0].on_cluster


def test_counts_are_kept_on_this_machine(lake, space):
    where._standing.clear()
    table = space.tables.add(mixed_table(2000).drop(columns=["good", "yes", "kind"]), "mixed")
    app = open_page("train", table=table.id)
    next(one for one in app.selectbox if one.label == "Predict").set_value("number").run()
    next(one for one in app.toggle if one.label == "Keep counts, to add rows later").set_value(True).run()
    (choice,) = (one for one in app.get("button_group") if one.label == "Where")
    assert choice.disabled
    assert "Counts are kept of rows in the memory of this machine." in texts(app)


def test_a_dataset_is_trained_by_the_cluster_alone(dataset, space):
    table, _ = dataset
    app = open_page("train", table=table.id)
    assert not [one for one in app.get("button_group") if one.label == "Where"]
    assert "The cluster: 2 workers, 2 threads" in texts(app)


def test_a_cluster_that_does_not_answer_keeps_the_form(dataset, space, monkeypatch):
    table, _ = dataset
    monkeypatch.setattr(cluster, "WAIT_SECONDS", 0.5)
    monkeypatch.setenv("SHAPEWISE_CLUSTER", "tcp://127.0.0.1:1")
    app = open_page("train", table=table.id)
    assert "does not answer" in app.error[0].value
    assert button(app, "Train").disabled
    assert app.get("plotly_chart")  # the live preview learns from the sample


def test_pages_say_which_figures_are_of_all_rows(dataset, space):
    table, _ = dataset
    model = training.train(space, spec_of(table.id))
    held, sample = model.rows["held_out"], table.sampled
    app = open_page("data", table=table.id)
    assert f"held-out metrics and all else use a sample of {sample:,} rows" in texts(app)
    app = open_page("overview", model=model.id)
    (rows,) = (one for one in app.metric if one.label == "Training rows")
    assert rows.value == f"{3000 - held:,}"
    assert f"The metrics are of {held} held-out rows in a sample of {sample:,} rows." in rows.help
    said = dict(card.card(space, model.id).rows)
    assert said["Trained on"] == "the workers of a cluster"
    assert f"{held} held out (in a sample of {sample:,})" in said["Rows"]


def test_strategies_and_read_outs_count_all_rows(dataset, space):
    table, frame = dataset
    made = StrategySet("two", (Strategy("Low", Range("a", high=0)), Strategy("X", Levels("c", ("x",)))), EVERYBODY)
    counted = all_rows.matches(space, table.id, made).ledger([0, 1])
    expected = made.ledger(frame)
    assert counted.rows == 3000
    assert (list(counted.raw), list(counted.exclusive)) == (list(expected.raw), list(expected.exclusive))
    read = all_rows.read(space, table.id, ["a", "day", "not there"])
    assert read["a"].equals(frame["a"])
    assert (read["day"].dropna().to_numpy() == frame["day"].dropna().to_numpy()).all()


def test_what_needs_the_rows_here_is_refused_in_a_sentence(dataset, space):
    table, _ = dataset
    with pytest.raises(StoreError, match="only the workers of the cluster read them: do this where they are"):
        score_file.check(score_file.Wanted(space, table.id, "parquet"))
    with pytest.raises(StoreError, match="only the workers of the cluster read them"):
        space.tables.path(table.id)


def test_pages_do_not_offer_what_needs_the_rows_here(dataset, space):
    table, _ = dataset
    model = training.train(space, spec_of(table.id))
    app = open_page("data", table=table.id)
    assert "Computed columns and types" not in [one.value for one in app.subheader]
    app = open_page("models", model=model.id)
    assert "Score the table" not in [one.label for one in app.button]
