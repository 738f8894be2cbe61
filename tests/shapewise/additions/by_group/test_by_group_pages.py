"""*Where is the model wrong?* on Overview and in reports: a column that the model does not read leads the ranking."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from gamcore.data.column_names import ColumnNames, Names
from gamcore.viz import files as export
from shapewise.reports.recipes import ReportItem, usual
from shapewise.reports.review import review_of
from shapewise.training.dataset import held_out_rows
from shapewise.training.spec import Spec
from shapewise.training.train import train
from tests.support.hostile import EVIL
from tests.support.pages import captions, choose, headlines, open_page

TITLE = "Where is the model wrong?"


@pytest.fixture
def days(space):
    """A model that does not read the column that matters, and its rows."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=1500), EVIL: rng.choice(["work", "off"], 1500),
                          "idle": rng.normal(size=1500)})  # fmt: skip
    frame["y"] = frame["x"] + 2.0 * (frame[EVIL] == "work") + rng.normal(size=1500)
    table = space.tables.add(frame, "days", [])
    space.tables.set_names(
        table.id, Names({"idle": ColumnNames(name="Pure noise"), EVIL: ColumnNames(name="Kind of day")})
    )
    return train(space, Spec(table.id, target="y", features=["x"], name="a model", preset="fast")), frame


@pytest.mark.slow
def test_a_column_that_was_left_out_is_named_first(days):
    model, _ = days
    app = open_page("overview", model=model.id)
    app.session_state[f"panel-{TITLE}"] = True
    app = app.run()
    assert not app.exception
    box = next(one for one in app.selectbox if one.key == f"by-group-{model.id}")
    assert len(box.options) == 3
    assert any("2 of 2 groups clearly off" in line for line in headlines(app))
    ranking = next(one.value for one in app.dataframe if "Clearest group" in one.value)
    assert ranking["Column"].tolist()[0] == "Kind of day"
    assert ranking["In the model"].tolist().count("yes") == 1
    app = choose(app, "Show", "metric")
    assert not app.exception
    assert "is explained over all rows" in captions(app)
    assert "It is no error if it differs" in captions(app)
    table = next(one.value for one in app.dataframe if "explained" in one.value)
    assert table["explained_lower"].lt(table["explained"]).all()
    app = choose(app, "Show", "means")
    box = next(one for one in app.selectbox if one.key == f"by-group-{model.id}")
    app = box.select("Pure noise").run()
    assert not app.exception
    assert any("no group is clearly off" in line for line in headlines(app))


@pytest.mark.slow
def test_a_report_has_its_plot_and_its_table(days, space):
    model, frame = days
    recipe = replace(usual(model, ["x"], None), items=(ReportItem("wrong"),))
    report = review_of(space, recipe, model.id)
    plot, listed = report.parts
    assert "Kind of day: 2 of 2 groups clearly off" in plot.plot.title
    assert plot.text[0].startswith("Of ")
    heads, first, *_ = listed.table
    line = dict(zip(heads, first, strict=True))
    assert (line["Column"], line["In the model"], line["Groups"]) == ("Kind of day", "no", "2")
    rows = frame[held_out_rows(frame, model.table)]
    means = rows.groupby(EVIL)["y"].mean()
    assert float(line["Observed"]) == pytest.approx(means[line["Clearest group"]], abs=0.06)
    for form in ("html", "pptx", "pdf", "zip"):
        assert len(export.to_report(report, form)) > 1000
    space.delete("tables", model.table)
    assert "Where is the model wrong?" in str(review_of(space, recipe, model.id).appendix)
