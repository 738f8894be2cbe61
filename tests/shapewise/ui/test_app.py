"""Every page with an empty and with a full workspace, through streamlit's AppTest."""

from __future__ import annotations

import re
from concurrent.futures import wait

import numpy as np
import pandas as pd
import pytest

from shapewise.ui.train import refits
from shapewise.ui.train.settings import INPUTS
from shapewise.ui.train.target import usual_sides
from tests.support.hostile import EVIL
from tests.support.pages import button, chart, headlines, open_page
from tests.support.spaces import frame

pytestmark = pytest.mark.usefixtures("space")

PAGES = [
    "data", "train", "models", "overview", "shapes", "pairs", "rows", "compare", "tasks", "strategies", "experiment",
]  # fmt: skip


@pytest.mark.parametrize("page", PAGES)
def test_every_page_works_with_nothing_loaded(page):
    app = open_page(page)
    labels = [b.label for b in app.button]
    expected = {"data": "Load renewal"}.get(page, "Load a table")
    assert expected in labels


@pytest.mark.parametrize("page", PAGES)
def test_every_page_works_with_a_full_workspace(page, full):
    for model in full[2:]:
        app = open_page(page, model=model.id, table=full[1].id)
        assert not app.error


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_names_from_data_are_not_markup(page, full):
    app = open_page(page, model=full[3].id)
    for element in [*app.markdown, *app.caption, *app.title, *app.subheader, *app.error]:
        assert EVIL not in element.value
        assert "](http" not in element.value.replace("\\", "") or "\\]" in element.value


@pytest.mark.parametrize("page", PAGES)
def test_unknown_ids_in_the_url_are_forgiven(page, full):
    app = open_page(page, model="0" * 16, table="../../etc", run="nonsense")
    assert not app.error


@pytest.mark.slow
def test_one_primary_button_a_page(full):
    for page in PAGES:
        primary = [b.label for b in open_page(page).button if b.proto.type == "primary"]
        assert len(primary) <= 1, (page, primary)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("sample", ["renewal", "housing", "loans", "claims", "spend", "choice"])
def test_one_click_loads_a_sample(sample, space):
    app = open_page("data")
    button(app, f"Load {sample}").click().run()
    assert not app.exception
    assert [t.name for t in space.tables.listed()] == [sample]
    assert "Train on this table" in [b.label for b in app.button]


def test_a_small_table_is_trained_at_once(full, monkeypatch):
    """Also by a press right after a change of the form, which the page has not been drawn with yet, and where the refit
    of that change is done just when the page has given up waiting for it."""
    space = full[0]
    app = open_page("train", table=full[1].id)
    predict = next(box for box in app.selectbox if box.label == "Predict")
    predict.set_value(next(name for name in predict.options if "price" in name)).run()
    next(control for control in app.get("button_group") if control.label == "Preset").set_value("fast").run()
    next(field for field in app.number_input if field.label == "Refits").set_value(1)
    waits = iter([lambda futures, seconds: (set(), wait(futures).done)])
    monkeypatch.setattr(refits, "wait", lambda *asked: next(waits, wait)(*asked))
    button(app, "Train").click().run()
    assert not app.exception
    assert len(space.models.listed()) == 3
    newest = space.models.listed()[0].spec
    assert (newest["preset"], newest["changes"]["outer_bags"]) == ("fast", 1)
    assert "Read the curves" in [b.label for b in app.button]
    assert headlines(app)[0].startswith("area_sqm: the curve is lowest from")


@pytest.mark.slow
def test_leaves_at_first_are_trained_as_the_form_says(full):
    space = full[0]
    app = open_page("train", table=full[1].id)
    next(control for control in app.get("button_group") if control.label == "Preset").set_value("paper").run()
    leaves, first, rounds = (
        next(n for n in app.number_input if n.label == INPUTS[name].label)
        for name in ("max_leaves", "coarse_leaves", "max_rounds")
    )
    assert (leaves.value, first.value) == (3, 3)
    rounds.set_value(3)
    leaves.set_value(2).run()
    button(app, "Train").click().run()
    assert not app.exception
    assert space.models.listed()[0].spec["changes"] == {"max_leaves": 2, "max_rounds": 3, "coarse_leaves": 3}


@pytest.mark.slow
def test_the_scenario_is_what_is_trained(space):
    app = open_page("data")
    button(app, "Load renewal").click().run()
    app = open_page("train")
    picks = {m.label: m for m in app.multiselect}
    assert picks["Positive"].value == ["renew"]
    assert picks["Against"].value == ["not now", "drop"]
    assert picks["Leave out"].value == ["customer_id", "confirm_page_seconds"]
    picks["Positive"].set_value(["other assets"]).run()
    picks = {m.label: m for m in app.multiselect}
    assert "other assets" not in picks["Against"].options
    assert not app.exception


@pytest.mark.slow
def test_a_target_that_cannot_be_used_is_refused_in_words(space):
    app = open_page("data")
    button(app, "Load renewal").click().run()
    app = open_page("train")
    next(s for s in app.selectbox if s.label == "Predict").set_value("customer_id").run()
    assert any("30,000 different values" in e.value for e in app.error)
    assert not app.exception


@pytest.mark.slow
def test_the_row_filter_narrows_the_training_rows(full):
    app = open_page("train", table=full[1].id)

    def rows():
        return next(int(re.search(r"([0-9,]+) rows to learn from", c.value)[1].replace(",", "")) for c in app.caption
                    if "rows to learn from" in c.value)  # fmt: skip

    before = rows()
    next(m for m in app.multiselect if m.label == "Filter on").set_value(["area_sqm"]).run()
    next(n for n in app.number_input if n.label.endswith("at least")).set_value(80.0).run()
    assert 0 < rows() < before


def test_shapes_step_through_the_features(full):
    app = open_page("shapes", model=full[2].id)
    listed = app.dataframe[0].value["feature"].tolist()
    assert headlines(app)[0].startswith(f"{listed[0]}: the curve is lowest ")
    key = app.dataframe[0].proto.id.split("-", 2)[2]
    app.session_state[key] = {"selection": {"rows": [], "columns": [], "cells": [(1, "feature")]}}
    app.run()
    assert headlines(app)[0].startswith(f"{listed[1]}: ")
    assert app.query_params["feature"] in (listed[1], [listed[1]])
    asked = open_page("shapes", model=full[2].id, feature="district")
    assert headlines(asked)[0].startswith("district: ")


@pytest.mark.slow
def test_overview_finds_features_by_name(full):
    app = open_page("overview", model=full[2].id)
    app.text_input[0].set_value("area").run()
    assert chart(app)["layout"]["yaxis"]["ticktext"] == ["area_sqm"]
    app.text_input[0].set_value("nothing like it").run()
    assert not app.exception


def test_nothing_is_deleted_before_asking(full):
    """The dialogs themselves are fragments, which AppTest does not run again: the browser tests press their buttons."""
    space, table, number = full[:3]
    app = open_page("models", model=number.id)
    button(app, "Delete").click().run()
    assert "Delete model" in [b.label for b in app.button]
    app = open_page("data", table=table.id)
    button(app, "Delete").click().run()
    assert "Delete table" in [b.label for b in app.button]
    assert (len(space.models.listed()), len(space.tables.listed())) == (2, 1)


def test_without_its_table_a_model_stays_but_is_not_retrained(full):
    full[0].delete("tables", full[1].id)
    app = open_page("models", model=full[2].id)
    assert button(app, "Retrain").disabled
    assert not button(app, "Explore").disabled


def test_csv_downloads_hold_no_formula():
    import pandas as pd

    from gamcore.viz.files import safe_csv

    evil = ["=1+1", "+x", "-x", "@x", "\tx", "\uff1d1", " =x"]
    text = safe_csv(pd.DataFrame({"=head": [*evil, "fine"], "n": range(8)})).decode("utf-8-sig")
    for line in text.splitlines()[:-1]:
        assert line.lstrip('"').startswith("'"), line
    assert "fine,7" in text


def test_markdown_is_escaped():
    from shapewise.ui.session.words import md

    assert md("a*b_[c](d) $x$ :red[e] <f>") == r"a\*b\_\[c\]\(d\) \$x\$ \:red\[e\] \<f\>"


def test_markdown_makes_no_link_of_an_address():
    from shapewise.ui.session.words import md

    for address in ("https://evil.example/x", "www.evil.example", "a@b.com", "mailto:a@b.com"):
        assert address not in md(address).replace("\\", "")
    assert "\n" not in md("a\n    b")


def test_the_data_page_says_that_files_have_no_record(space):
    from tests.support.spaces import frame

    space.tables.add(frame(), "mine")
    lost = space.root / "objects" / "aa" / ("aa" * 32)
    lost.parent.mkdir(exist_ok=True)
    lost.write_bytes(b"nobody's")
    assert [
        "Files without a record: 1 of 2" in warning.value.replace("\\", "") for warning in open_page("data").warning
    ] == [True]
    assert lost.exists()


def test_the_rarest_of_numbers_that_are_levels_is_named_as_the_levels_are(space):
    table = space.tables.add(frame(), "numbers")
    assert usual_sides(table, pd.Series([6.0, 5.0, 5.0, np.nan]), ["5", "6"]) == (["6"], [])
