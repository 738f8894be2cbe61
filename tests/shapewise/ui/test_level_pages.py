"""A category of many levels on Shapes: a page at a time, found by name, in an order of choice."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shapewise.store.workspace import Workspace
from shapewise.training.spec import Spec
from shapewise.training.train import add_bands, train
from shapewise.ui.explain import brush
from shapewise.ui.explain.level_pages import PER_PAGE
from tests.support.hostile import EVIL
from tests.support.pages import captions, chart, open_page

LEVELS = 600


@pytest.fixture(scope="module")
def shops(tmp_path_factory):
    """A workspace with a model of 600 shops, the later of which have more rows, and higher effects but for one."""
    space, rng = Workspace(tmp_path_factory.mktemp("shops") / "space"), np.random.default_rng(0)
    shop = np.minimum(rng.integers(0, LEVELS, 15_000), rng.integers(0, LEVELS, 15_000))
    names = np.array([EVIL, *(f"Shop {k:03d}" for k in range(1, LEVELS))])
    frame = pd.DataFrame({"shop": names[shop], "age": rng.normal(size=shop.size).round(2)})
    frame["spend"] = (shop / 100 + 9.0 * (shop == 0) + rng.normal(size=shop.size)).round(3)
    table = space.tables.add(frame, "Shops", [])
    spec = Spec(table.id, "spend", "spend", ["shop", "age"], changes={"outer_bags": 2, "max_rounds": 30}, bands=10)
    return space, add_bands(space, train(space, spec).id)


@pytest.fixture
def page(shops, space, monkeypatch):
    monkeypatch.setenv("GAMCORE_WORKSPACE", str(shops[0].root))
    return open_page("shapes", model=shops[1].id, feature="shop")


def names(app):
    return list(chart(app)["layout"]["xaxis"].get("ticktext") or chart(app)["layout"]["xaxis2"]["ticktext"])


def test_the_levels_with_most_rows_come_first(page):
    assert f"1 to {PER_PAGE} of 571" in captions(page)
    assert len(names(page)) == PER_PAGE
    assert "img sr" in " ".join(names(page))
    assert not any(f"Shop {k}" in name for name in names(page) for k in range(300, LEVELS))


@pytest.mark.slow
def test_the_highest_effects_come_first_where_they_are_asked_for(page):
    page.selectbox(key=next(one.key for one in page.selectbox if one.label == "First")).set_value("high").run()
    shown = names(page)
    assert any("img sr" in name for name in shown)
    assert all("Shop 0" not in name for name in shown)


@pytest.mark.slow
def test_pages_follow_each_other_without_a_gap(page):
    by = next(one for one in page.selectbox if one.label == "First")
    by.set_value("name").run()
    field = next(one for one in page.number_input if one.label.startswith("Page of"))
    first = names(page)
    field.set_value(2).run()
    assert not set(first) & set(names(page))
    assert f"{PER_PAGE + 1} to {2 * PER_PAGE} of" in captions(page)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("sought", "said"), [("shop 01", "1 to 10 of 10 levels"), ("zzz", "No level has")])
def test_levels_are_found_by_a_part_of_their_name(page, sought, said):
    next(one for one in page.text_input if one.label == "Find levels").set_value(sought).run()
    assert not page.exception
    assert said in captions(page)


@pytest.mark.slow
def test_observed_means_and_marks_are_those_of_the_page(page):
    next(one for one in page.toggle if one.label == "Observed").set_value(True).run()
    assert not page.exception
    assert any("observed" in str(trace.get("name")) for trace in chart(page)["data"])


def test_a_drag_marks_the_levels_it_covers(page, shops, monkeypatch):
    marked = {}
    monkeypatch.setattr(brush.st, "session_state", marked)
    model = shops[1]
    from shapewise.ui.session import state

    estimator = state.additive(model.id)
    own, places = estimator.explain_shape("shop"), np.array([5, 100, 300])
    curve, bins = own.of_levels(places), estimator.model_.bins[0]
    marked["chart"] = {"selection": {"box": [{"xref": "x", "x": [-0.4, 0.9]}]}}
    brush.take(model, curve, bins, "chart", places)
    lowest = places[np.argsort(curve.scores)[0]]
    assert marked[brush._key("levels", model, curve)][0] == bins.levels[lowest]
