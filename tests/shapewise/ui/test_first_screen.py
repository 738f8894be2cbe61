"""The first screen, and the tour of the guided example."""

from __future__ import annotations

import numpy as np
import pytest

from gamcore.estimators.saved import from_saved
from gamcore.io import gamx
from shapewise.decisions import boards
from shapewise.decisions import guided_example as example
from shapewise.store.projects import projects
from shapewise.training.spec import Spec
from shapewise.training.train import add_bands, train
from shapewise.ui.data.first_screen import MODEL, PROMISE
from tests.support.pages import chart, choose, headlines, open_page
from tests.support.spaces import frame

pytestmark = pytest.mark.usefixtures("space")


def test_a_first_visitor_reads_a_promise_and_a_curve_and_can_begin():
    app = open_page("home")
    assert [title.value for title in app.title] == [PROMISE]
    assert headlines(app)[0].startswith("Age: rises")
    before = chart(app)
    assert len(app.get("file_uploader")) == 1
    choose(app, "A curve of", "balance")
    assert headlines(app)[0].startswith("Balance:")
    assert chart(app) != before
    labels = [button.label for button in app.button]
    assert labels.index("Take the three-minute tour") < labels.index("Load renewal")


def test_uploads_come_before_samples(space):
    for page in ("home", "data"):
        kinds = [element.value for element in open_page(page).subheader]
        assert kinds[-1] == "Or try a sample"
    space.tables.add(frame(), "mine")
    app = open_page("home")
    assert [title.value for title in app.title] == ["Home"]
    assert [element.value for element in app.subheader] == ["mine", "Start a new project", "Or try a sample"]


@pytest.mark.slow
def test_the_table_of_outcomes_of_the_example_is_no_project_in_a_list(space):
    mine = space.tables.add(frame(), "mine")
    helper = example.load(space, example.OUTCOME)
    app = open_page("home")
    assert app.query_params["table"] in (mine.id, [mine.id])  # not the newest one
    assert "renewal_experiment" not in " ".join(element.value.replace("\\", "") for element in app.markdown)
    assert "renewal_experiment" not in " ".join(button.label.replace("\\", "") for button in app.button)
    assert open_page("data", table=helper.id).query_params["table"] in (helper.id, [helper.id])  # it can be opened


@pytest.mark.slow
def test_the_first_curves_are_those_that_a_training_gives(space):
    """Write them anew with `python -m benchmarks.app.first_curves` if the engine has changed."""
    about = train(space, example.first_spec(example.load(space, example.FUNNEL)), 1)
    add_bands(space, about.id, 1)
    drawn, trained = from_saved(gamx.load(MODEL)), from_saved(space.models.load(about.id))
    for feature in example.FIRST_FEATURES:
        old, new = drawn.explain_shape(feature), trained.explain_shape(feature)
        np.testing.assert_allclose(old.scores, new.scores)


def _toured(space):
    table = example.load(space, example.FUNNEL)
    columns = [str(name) for name in space.tables.read(table.id).columns]
    while example.train_next(space, table, columns, 1):
        pass
    example.make_board(space, space.tables.about(table.id))
    example.load(space, example.OUTCOME)
    return table


@pytest.mark.slow
@pytest.mark.parametrize("own", [False, True])
def test_a_tour_that_is_removed_leaves_what_others_made(space, own):
    mine = space.tables.add(frame(), "mine")
    table = _toured(space)
    kept = (
        train(space, Spec(table.id, example.TARGET, "my own", ["age"], positive=["renew"], preset="fast"))
        if own
        else None
    )
    example.remove(space)
    left = projects(space.tables.listed(), space.models.listed())
    assert {one.id for one in left} == ({mine.id, table.id} if own else {mine.id})
    assert [model.id for model in space.models.listed()] == ([kept.id] if kept else [])
    assert boards.boards(space, table.id) == []
    assert boards.segments(space, table.id) == []
    example.remove(space)  # nothing is left to remove: nothing happens


def test_a_tour_stands_above_the_page_until_it_is_left(space):
    app = open_page("strategies")
    assert not [button for button in app.button if button.key == "tour-next"]
    app.session_state["on_tour"] = True
    app.run()
    assert [button.label for button in app.button if button.key == "tour-next"] == ["Load renewal"]
    assert not [button for button in app.button if button.key == "guide-next"]  # once, not twice
    next(button for button in app.button if button.key == "tour-keep").click().run()
    assert not app.exception
    assert not [button for button in app.button if button.key == "tour-next"]
