"""A file that is dropped on a model is scored, and makes no project."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore.estimators.gam import GAMClassifier
from shapewise.reports import file_jobs as packs
from shapewise.scoring import score_file
from shapewise.scoring.summary import summary
from shapewise.training.train import train
from tests.support.pages import button, open_page
from tests.support.spaces import frame, spec_of, until


@pytest.fixture
def model(space):
    return train(space, spec_of(space.tables.add(frame(), "customers").id, bands=0))


def rows(n=60):
    return frame(1000).iloc[800 : 800 + n][["a", "b", "c"]].reset_index(drop=True)


def dropped(app, table, name="new ones.csv"):
    app.session_state["score"] = True
    app.run()
    uploader = next(one for one in app.file_uploader if one.label == "Drop a file to score it")
    uploader.set_value((name, table.to_csv(index=False).encode(), "text/csv")).run()
    assert not app.exception
    return app


def said(app):
    return " ".join(one.value for one in [*app.markdown, *app.caption]).replace("\\", "")


@pytest.mark.slow
def test_a_dropped_file_is_scored_without_a_project(space, model):
    app = dropped(open_page("models", model=model.id), rows())
    (table,) = space.tables.dropped(model.id)
    assert [one.name for one in space.tables.listed()] == ["customers"]
    choice = next(one for one in app.selectbox if one.label == "Table")
    assert choice.value == table.id
    assert "new ones, dropped here (60 rows)" in choice.options
    estimator = score_file.scoring_estimator(space, model.id)
    assert isinstance(estimator, GAMClassifier)
    assert f"The mean prediction of 60 rows is {100 * estimator.predict_proba(rows())[:, 1].mean():.1f}" in said(app)
    button(app, "Score the table").click().run()
    (made,) = packs.packs(space, "scores")
    until(lambda: not packs.pack(space, made.id).goes_on, 90)
    written = pd.read_parquet(packs.pack(space, made.id).path)
    assert np.allclose(written["prediction"], estimator.predict_proba(rows())[:, 1])


@pytest.mark.slow
def test_a_column_that_is_lacking_is_said_in_a_sentence(space, model):
    app = dropped(open_page("models", model=model.id), rows().drop(columns="b"))
    assert [one.value for one in app.warning] == [
        "new ones has no column *b*, so every row counts as missing there: if it is there under another name, name it "
        "so, and load it again."
    ]
    assert any(one.label == "Score the table" for one in app.button)
    app = dropped(app, rows().add_prefix("x_"))
    assert "none of the columns that the model reads (*a*, *b*, *c*)" in app.error[0].value
    assert not any(one.label == "Score the table" for one in app.button)


@pytest.mark.slow
def test_a_file_that_cannot_be_read_is_said_and_another_takes_the_place_of_the_first(space, model):
    app = dropped(open_page("models", model=model.id), rows())
    (first,) = space.tables.dropped(model.id)
    app = dropped(app, pd.DataFrame({"a": []}))
    assert "no rows" in app.error[0].value
    assert space.tables.dropped(model.id) == [first]
    dropped(app, rows(30))
    (second,) = space.tables.dropped(model.id)
    assert second.rows == 30


@pytest.mark.slow
def test_the_same_file_may_also_be_a_table_and_what_was_dropped_goes_with_the_model(space, model):
    dropped(open_page("models", model=model.id), rows())
    (first,) = space.tables.dropped(model.id)
    own = space.tables.add(rows(), "of its own")
    assert own.id != first.id
    assert {one.name for one in space.tables.listed()} == {"customers", "of its own"}
    space.models.delete(model.id)
    assert space.tables.dropped(model.id) == []
    assert len(space.tables.listed()) == 2


@pytest.mark.slow
def test_a_summary_is_of_what_the_model_predicts(space):
    several = frame(600).assign(
        y=lambda table: np.select([table["a"] > 0.5, table["b"] > table["b"].median()], ["x", "y"], "z")
    )
    kept = train(
        space,
        spec_of(space.tables.add(several, "three").id, positive=None, goal="classes", features=["a", "b"], bands=0),
    )
    estimator = score_file.scoring_estimator(space, kept.id)
    said = summary(estimator, several)
    shares = pd.Series(estimator.predict(several[["a", "b"]])).value_counts(normalize=True)
    assert said.startswith("The likeliest class of 600 rows: ")
    assert f"{shares.index[0]} in {100 * shares.iloc[0]:.1f}" in said
    amounts = frame(600, binary=False)
    kept = train(space, spec_of(space.tables.add(amounts, "amounts").id, positive=None, bands=0))
    estimator = score_file.scoring_estimator(space, kept.id)
    assert f"is {estimator.predict(amounts[['a', 'b', 'c']]).mean():.3g};" in summary(estimator, amounts)
