"""A model that was edited by hand is trained again with its edits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore.additions.editing import edit, edits_of, with_edits
from gamcore.additions.editing.edits import Edit, Where
from gamcore.estimators.saved import from_saved
from gamcore.model.losses import LOSSES
from shapewise.additions.editing.again import edited_again
from shapewise.additions.editing.words import in_words
from shapewise.jobs import queue as jobs
from shapewise.reports.card import card
from shapewise.store.atomic_files import read_json
from shapewise.training import runs
from shapewise.training.editing import store_edited
from shapewise.training.spec import Spec
from shapewise.training.train import add_bands, read_all, train
from tests.support.pages import button, headlines, open_page

FAST = {"preset": "fast", "bands": 0}


@pytest.fixture
def edited(space):
    """An edited model: its curve of age only rises, and its level west is left out of the north."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"age": rng.integers(18, 80, 400), "region": rng.choice(["north", "west"], 400)})
    rows["paid"] = 0.1 * rows["age"] + (rows["region"] == "west") + rng.normal(size=400)
    table = space.tables.add(rows, "payments")
    spec = Spec(table.id, "paid", "paid", ["age", "region"], goal="number", **FAST)
    model = train(space, spec, 1)
    after = edit(edit(from_saved(space.models.load(model.id)), "age", "rising"), "region", "add", {"is": ["west"]}, 2.0)
    return store_edited(space, model, after, read_all(space, spec), "paid, checked")


def test_edits_are_made_again(space, edited):
    again = train(space, Spec.from_dict(edited.spec), 1)
    kept = edited_again(space, again.id, edited.id)
    assert (kept.name, kept.edited_from, kept.edits, kept.edits_left) == (edited.name, again.id, edited.edits, [])
    assert len(edits_of(from_saved(space.models.load(kept.id)))) == 2


def test_edits_that_do_not_fit_are_named(space, edited):
    spec = Spec.from_dict(edited.spec)
    without = train(space, Spec.from_dict({**spec.to_dict(), "features": ["region"]}), 1)
    kept = edited_again(space, without.id, edited.id)
    assert [one["on"] for one in kept.edits] == [["region"]]
    (left,) = kept.edits_left
    assert "age" in left
    assert "age" in " ".join(one.value for one in open_page("models", model=kept.id).caption)
    none = train(space, Spec.from_dict({**spec.to_dict(), "target": "age", "features": ["paid"]}), 1)
    assert edited_again(space, none.id, edited.id).id == none.id


def test_a_model_without_the_edits_of_its_parent_lists_none(space, edited):
    fitted = with_edits(from_saved(space.models.load(edited.id)), [])
    kept = store_edited(space, edited, fitted, read_all(space, Spec.from_dict(edited.spec)), "as it was")
    assert (kept.edits, kept.learnt_around, kept.edited_from) == ([], False, edited.id)


@pytest.mark.parametrize(("label", "wanted"), [("With its edits", True), ("Without edits", False)])
def test_the_page_asks_before_it_starts(space, edited, label, wanted, monkeypatch):
    begun = []
    monkeypatch.setattr(runs, "start", lambda *given, **named: begun.append(named) or "0" * 16)
    app = open_page("models", model=edited.id)
    button(app, label).click().run()
    assert begun == [{"edits": edited.id if wanted else ""}]


def test_a_run_knows_whose_edits_are_meant(space, edited):
    identifier = runs.start(space, Spec.from_dict(edited.spec), 1, edits=edited.id)
    assert read_json(jobs.folder(space, runs.KIND, identifier) / "about.json")["edits"] == edited.id
    runs.cancel(space, identifier)


@pytest.mark.parametrize(("loss", "scale", "typed", "written", "unit"), [
    ("poisson", "ratio", 1.6, "×1.6", "factor of the mean"), ("poisson", None, 1.6, "×1.6", "factor of the mean"),
    ("gamma", "units", 12.5, "12.5", "added at the mean"), ("logistic", "points", -3.0, "-3 points", "percentage "
    "points at the base rate"), ("logistic", None, 0.5, "×0.5", "odds ratio"), ("logistic", "link", 0.47, "0.47",
    "log-odds"), ("squared", None, 7.0, "7", "units of the target"),
])  # fmt: skip
def test_an_edit_is_told_as_it_was_typed(loss, scale, typed, written, unit):
    base = 4.0 if loss == "gamma" else -0.5
    value = LOSSES[loss].score_of(typed, scale or ("link" if loss == "squared" else "ratio"), base)
    edits = [Edit(("age",), "at_most", (Where(),), value), Edit(("age",), "rising", (Where(),))]
    words, said = in_words(edits, LOSSES[loss], scale=scale, base=base)
    assert (words, said) == ([f"age: at most {written}", "age: only rising"], unit)
    assert not in_words(edits[1:], LOSSES[loss])[1]


def test_a_card_and_the_page_of_models_tell_edits_in_factors(space):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"age": rng.integers(18, 80, 400)})
    rows["claims"] = rng.poisson(0.01 * rows["age"])
    table = space.tables.add(rows, "policies")
    spec = Spec(table.id, "claims", "claims", ["age"], goal="count", **FAST)
    model = train(space, spec, 1)
    after = edit(from_saved(space.models.load(model.id)), "age", "at_most", {"at_least": 60}, float(np.log(1.6)))
    kept = store_edited(space, model, after, read_all(space, spec), "claims, capped")
    lines = dict(card(space, kept.id).rows)
    assert lines["Edited by hand"].endswith("; unit of the values: factor of the mean")
    assert lines["Edit 1"] == "age from 60: at most ×1.6"
    (shown,) = [one.value for one in open_page("models", model=kept.id).dataframe if "Why" in one.value]
    assert shown["Edit (factor of the mean)"].tolist() == ["age from 60: at most ×1.6"]


@pytest.mark.slow
def test_a_comparison_with_a_curve_set_by_hand_is_one_sentence(space):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"age": rng.integers(18, 80, 400)})
    rows["claims"] = rng.poisson(0.01 * rows["age"])
    spec = Spec(space.tables.add(rows, "policies").id, "claims", "claims", ["age"], goal="count", **FAST)
    model = train(space, spec, 1)
    add_bands(space, model.id)
    after = edit(from_saved(space.models.load(model.id)), "age", "add", {"at_least": 60}, float(np.log(1.6)))
    kept = store_edited(space, model, after, read_all(space, spec), "claims, raised")
    app = open_page("compare", model=model.id, **{"with": kept.id})
    assert not app.exception
    title = headlines(app)[0].replace("\\", "")
    assert title == "age: “claims, raised” relative to “claims”: partly set by hand, so no band says what is clear"
