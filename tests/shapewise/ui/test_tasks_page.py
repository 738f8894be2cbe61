"""Training several tasks in the app, and reading them."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from gamcore import MultiTaskTreesRegressor
from gamcore.data.columns import TableError
from gamcore.estimators.base import to_saved
from gamcore.io.gamx import to_bytes
from shapewise.doctor.examine import examine, find_task
from shapewise.training import runs
from shapewise.training.dataset import read_data
from shapewise.training.spec import Outcome, Spec
from shapewise.training.task_dataset import read_rows
from shapewise.training.train import train
from shapewise.ui.explain import task_curves
from tests.support.hostile import EVIL
from tests.support.pages import button, open_page

pytestmark = pytest.mark.usefixtures("space")


def rows(space, spec):
    return read_rows(spec, space.tables.read, lambda table: space.tables.about(table).held_out_by)


def control(app, label):
    return next(found for found in app.get("button_group") if found.label == label)


def test_the_page_reads_a_model_of_tasks(tasked):
    app = open_page("tasks", model=tasked[2].id)
    assert not app.error
    assert "of the trees' gain is shared by the tasks" in app.markdown[0].value  # the answer comes first
    frame = next(one.value for one in app.dataframe if "rows" in one.value)
    assert frame["name"].tolist() == ["card", "boat"]
    charts = [json.loads(found.proto.spec) for found in app.get("plotly_chart")]
    assert len(charts) == 2  # importance, one row
    assert len(app.get("image")) == 2  # a picture per task
    feature = next(box for box in app.selectbox if box.label == "Feature")
    feature.set_value("boat_length_m").run()
    assert not app.exception
    assert ["boat" in str(picture.proto) for picture in app.get("image")] == [True]
    assert any("1 lacks the column" in found.value for found in app.caption)


def test_a_curve_names_the_rare_levels_of_its_task_alone(space):
    place = ["p0", "p1"] * 200 + ["r0", "r1", "r2", "r3"]
    frame = pd.DataFrame({"place": place * 2, "kind": np.repeat(["a", "b"], len(place))})
    frame = frame[(frame["kind"] == "a") | ~frame["place"].isin(["r0", "r3"])].reset_index(drop=True)
    frame["y"] = (frame["place"] == "p1") + 0.01 * (np.arange(len(frame)) % 7)
    table = space.tables.add(frame, "places", [])
    spec = Spec(table.id, "y", "places", ["place"], kind="tasks", task="kind", preset="fast", compare=False,
                changes={"max_rounds": 5, "outer_bags": 1})  # fmt: skip
    model = train(space, spec)
    learnt = frame[~rows(space, spec).held_out]
    for t, kind in enumerate(("a", "b")):
        own = sorted(set(learnt.loc[learnt["kind"] == kind, "place"]) - {"p0", "p1"})
        curve = task_curves.task_curve(model.id, "place", t, "whole")
        assert curve.counts[-1] == len(own) > 0
        assert list(curve.rare) == own
    assert set(task_curves.task_curve(model.id, "place", None, "common").rare) == set(learnt["place"]) - {"p0", "p1"}


@pytest.mark.slow
def test_the_row_shown_adds_up_to_its_prediction(tasked):
    space, _, model = tasked
    app = open_page("tasks", model=model.id)
    data = rows(space, Spec.from_dict(model.spec))
    next(box for box in app.selectbox if box.label == "Task").set_value("boat").run()
    number = next(n for n in app.number_input if n.label.startswith("Held-out row"))
    places = np.flatnonzero(data.held_out & (data.task == "boat"))
    assert number.max == places.size
    number.set_value(3).run()
    chart = json.loads(app.get("plotly_chart")[-1].proto.spec)["data"][0]
    assert chart["type"] == "bar"
    assert len(chart["text"]) > 3
    told = next(found.value for found in app.caption if found.value.startswith("Predicted"))
    from gamcore.estimators.saved import from_saved

    chance = from_saved(space.models.load(model.id)).predict_proba(data.X.iloc[[places[2]]], "boat")[0, 1]
    assert f"{chance:.1%}" in told


@pytest.mark.slow
def test_three_clicks_from_the_sample_to_its_tasks(space):
    app = open_page("data")
    button(app, "Load loans").click().run()
    assert [table.name for table in space.tables.listed()] == ["loans"]
    app = open_page("train")
    assert control(app, "Learn").value == "column"
    control(app, "Preset").set_value("fast").run()
    button(app, "Train").click().run()
    assert not app.exception
    spec = space.models.listed()[0].spec if space.models.listed() else runs.listing(space)[0].spec
    spec = spec if isinstance(spec, Spec) else Spec.from_dict(spec)
    assert (spec.kind, spec.task, spec.positive) == ("tasks", "product", ["yes"])
    assert "product" not in spec.features
    for run in runs.listing(space):
        runs.cancel(space, run.id)


@pytest.mark.slow
def test_outcomes_of_one_target_are_tasks(space):
    app = open_page("data")
    button(app, "Load renewal").click().run()
    app = open_page("train")
    control(app, "Learn").set_value("outcomes").run()
    assert not app.exception
    assert next(box for box in app.selectbox if box.label == "Each against").value == "drop"
    picked = next(box for box in app.multiselect if box.label == "Outcomes").value
    assert picked == ["lower risk", "not now", "other assets", "renew"]
    assert "Counts as positive" not in [box.label for box in app.multiselect]
    tasks = app.dataframe[0].value
    assert sorted(tasks["task"]) == picked


@pytest.mark.slow
def test_tables_are_tasks_on_the_train_page(space):
    rng = np.random.default_rng(0)
    frames = {
        "north": pd.DataFrame(
            {"age": rng.normal(size=300), "snow": rng.normal(size=300), "price": rng.normal(size=300)}
        ),
        "south": pd.DataFrame({"age": rng.normal(size=90), "beach": rng.choice(["a", "b"], 90)}),
    }
    frames["south"]["price"] = rng.normal(size=90)
    ids = {name: space.tables.add(frame, name).id for name, frame in frames.items()}
    app = open_page("train", table=ids["north"])
    control(app, "Learn").set_value("tables").run()
    assert not app.exception
    assert not app.error
    assert sorted(app.dataframe[0].value["task"]) == ["north", "south"]
    control(app, "Preset").set_value("fast").run()
    button(app, "Train").click().run()
    assert not app.exception
    spec = space.models.listed()[0].spec if space.models.listed() else None
    if spec is None:
        started = runs.listing(space)
        spec = vars(started[0].spec)
        runs.cancel(space, started[0].id)
    assert spec["tables"] == ids
    assert sorted(spec["features"]) == ["age", "beach", "snow"]


def test_other_pages_send_models_of_tasks_to_theirs(tasked):
    for page in ("overview", "shapes", "pairs"):
        app = open_page(page, model=tasked[2].id)
        assert "Open Tasks" in [found.label for found in app.button]
    app = open_page("models", model=tasked[2].id)
    assert "Yes or no, by task" in app.dataframe[0].value["Kind"].tolist()


def test_an_additive_model_is_not_replaced_by_another(full):
    app = open_page("tasks", model=full[2].id)
    assert any("models of several tasks; the model in view has one" in found.value for found in app.markdown)


def test_a_model_from_elsewhere_is_read_without_its_table(space):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=300), EVIL: rng.choice(["a", "b"], 300)})
    task = rng.integers(0, 3, 300)  # numbers as labels
    model = MultiTaskTreesRegressor(outer_bags=2, max_rounds=10, random_state=0).fit(X, X["x"] * (task + 1), task=task)
    about = space.models.bring_in(to_bytes(to_saved(model, target="y")), "from a notebook")
    app = open_page("tasks", model=about.id)
    assert not app.error
    assert any("no longer here" in found.value for found in app.caption)
    assert (len(app.get("plotly_chart")), len(app.get("image"))) == (3, 3)  # importance, outliers, likeness; tasks
    assert any(found.value.startswith("##### No task is an outlier") for found in app.markdown)


# Rows of tasks


def test_a_task_column_is_no_feature_and_rows_without_one_are_left_out(space):
    frame = pd.DataFrame({"x": range(60), "kind": ["a", "b", None] * 20, "y": [0.0, 1.0, 2.0] * 20})
    table = space.tables.add(frame, "t")
    data = rows(space, Spec(table.id, "y", "t", ["x", "kind"], kind="tasks", task="kind"))
    assert data.X.columns.tolist() == ["x"]
    assert len(data.X) == 40 == data.task.size == data.held_out.size
    assert data.dropped == 20


def test_outcomes_share_rows_that_stay_together(space):
    frame = pd.DataFrame({"x": range(90), "step": ["go", "stay", "drop"] * 30})
    table = space.tables.add(frame, "t")
    outcomes = [Outcome("go", ["go"], ["drop"]), Outcome("stay", ["stay"], ["drop"])]
    data = rows(space, Spec(table.id, "step", "t", ["x"], positive=["go"], kind="tasks", outcomes=outcomes))
    assert len(data.X) == 120
    assert data.dropped == 0
    dropped = data.X["x"] % 3 == 2
    assert dropped.sum() == 60
    assert all(len(set(part)) == 1 for _, part in pd.Series(data.groups).groupby(data.X["x"].to_numpy()))
    by_row = pd.Series(data.held_out).groupby(data.X["x"].to_numpy()).nunique()
    assert (by_row == 1).all()


def test_tables_are_tasks_with_columns_of_their_own(space):
    rng = np.random.default_rng(0)
    cars = pd.DataFrame({"age": rng.normal(size=80), "size": rng.normal(size=80), "price": rng.normal(size=80)})
    boats = pd.DataFrame({"age": rng.normal(size=50), "size": rng.choice(["s", "l"], 50), "price": rng.normal(size=50)})
    ids = {name: space.tables.add(frame, name).id for name, frame in (("cars", cars), ("boats", boats))}
    spec = Spec(ids["cars"], "price", "both", ["age", "size"], kind="tasks", tables=ids, compare=False,
                changes={"max_rounds": 5, "outer_bags": 2})  # fmt: skip
    data = rows(space, spec)
    assert data.X.columns.tolist() == ["age", "size (number)", "size (category)"]
    for name, frame in (("cars", cars), ("boats", boats)):
        alone = read_data(frame, replace(spec, table=ids[name], kind="additive", tables={}))
        np.testing.assert_array_equal(data.held_out[data.task == name], alone.held_out)
    model = train(space, spec)
    assert [task["name"] for task in model.tasks] == ["boats", "cars"]
    assert model.table_name == "cars + boats"
    from gamcore.estimators.saved import from_saved

    estimator = from_saved(space.models.load(model.id))
    assert np.isfinite(estimator.predict(boats.drop(columns="price"), "boats")).all()
    assert space.tables.about(ids["boats"]).held_out_by == {}


def test_what_cannot_be_tasks_is_said(space):
    frame = pd.DataFrame({"x": range(60), "one": "same", "y": [0.0, 1.0] * 30})
    table = space.tables.add(frame, "t")
    spec = Spec(table.id, "y", "t", ["x"], kind="tasks", task="one")
    with pytest.raises(TableError, match="only one task"):
        rows(space, spec)
    with pytest.raises(TableError, match="no column 'gone'"):
        rows(space, replace(spec, task="gone"))
    other = space.tables.add(frame.drop(columns="y"), "other")
    with pytest.raises(TableError, match="Table 'other': The table has no column 'y'"):
        rows(space, replace(spec, task=None, tables={"t": table.id, "other": other.id}))


def test_a_specification_of_tasks_survives_its_file():
    spec = Spec("a" * 16, "y", "t", ["x"], kind="tasks", outcomes=[Outcome("a", ["a"], ["b"])], tables={"t": "b" * 16})

    assert Spec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec


def test_the_doctor_finds_the_column_that_decides_what_is_filled(tasked):
    frame = tasked[0].tables.read(tasked[1].id)
    assert {r.name: r.role for r in examine(frame)}["product"] == "task"
    assert find_task(frame.drop(columns=["boat_length_m", "mooring", "card_use"]), ["product"]) is None
    twice = frame.assign(again=frame["product"])
    assert find_task(twice, ["product", "again"]) is None  # neither is better than the other


def test_each_task_is_compared_with_simpler_models(tasked):
    told = {task["name"]: task for task in tasked[2].tasks}
    assert told["card"]["rows"] + told["card"]["held_out"] == 9000
    for task in told.values():
        assert all(0 < task[name] < 1 for name in ("loss", "alone", "one_for_all", "auc", "auc_alone", "mean"))
    assert told["card"]["auc"] > 0.65


@pytest.mark.slow
def test_tasks_without_held_out_rows_or_weights_do_not_lose_the_training(space):
    rng = np.random.default_rng(0)
    n = 60
    frame = pd.DataFrame({"x": rng.normal(size=8 * n), "task": np.repeat([f"t{k:02d}" for k in range(n)], 8)})
    frame["y"] = np.where(rng.random(8 * n) < 0.4, "yes", "no")
    frame["w"] = np.where((frame["task"] == "t00") & (frame["y"] == "yes"), 0.0, 1.0)
    table = space.tables.add(frame, "t")
    changes = {"max_rounds": 5, "specific_rounds": 2, "outer_bags": 1}
    spec = Spec(table.id, "y", "t", ["x"], positive=["yes"], kind="tasks", task="task", weight="w", changes=changes)
    model = train(space, spec)
    assert len(model.tasks) == n
    assert any(task["held_out"] == 0 and task["loss"] is None for task in model.tasks)
    assert 0.3 < model.metrics["auc"] < 0.7  # a mean over tasks: knowing which is no skill


def test_groups_of_several_tables_are_the_same_groups(space):
    rng = np.random.default_rng(0)
    frames = {
        name: pd.DataFrame({"who": np.arange(100) % 50, "x": rng.normal(size=100), "y": rng.normal(size=100)})
        for name in ("a", "b")
    }
    ids = {name: space.tables.add(frame, name).id for name, frame in frames.items()}
    spec = Spec(ids["a"], "y", "both", ["x"], kind="tasks", tables=ids, group="who", compare=False,
                changes={"max_rounds": 3, "outer_bags": 1})  # fmt: skip
    data = rows(space, spec)
    assert not set(data.groups[data.held_out]) & set(data.groups[~data.held_out])
    space.tables.change_roles(ids["b"], {"x": "group"})
    train(space, spec)
    assert space.tables.about(ids["a"]).held_out_by == {"group": "who"}
    assert space.tables.about(ids["b"]).held_out_by == {"group": "x"}


def test_a_run_of_an_older_version_is_read(space, monkeypatch):
    from shapewise.training.runs import _read_progress

    line = {
        "part": 0,
        "stage": "main effects",
        "n_pairs": 0,
        "n_refits": 1,
        "most": 9,
        "seconds": 1,
        "points": [[0, 1, 1, 1]],
    }
    (space.root / "old.jsonl").write_text(json.dumps(line) + "\n")
    assert _read_progress(space.root / "old.jsonl").quits == []
