"""*Which is better?* on Compare: over rows that neither model has learned from, of one table or of a newer version."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from gamcore.common.numbers import count, fixed
from gamcore.decide.rules import Range
from gamcore.estimators.saved import from_saved
from shapewise.decisions import boards, money
from shapewise.reports import recipes
from shapewise.reports.review import review_of
from shapewise.training import carry_over
from shapewise.training.dataset import held_out_rows
from shapewise.training.spec import Spec
from shapewise.training.train import train
from tests.support.hostile import EVIL
from tests.support.pages import captions, choose, headlines, open_page

TITLE = "Which is better?"


def visits(n, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.normal(40, 9, n), EVIL: rng.choice(["work", EVIL], n), "idle": rng.normal(size=n)})
    chance = 1 / (1 + np.exp(-0.1 * (frame["age"] - 40) - 2.0 * (frame[EVIL] == EVIL)))
    return frame.assign(buys=np.where(rng.random(n) < chance, "yes", "no"))


def trained(space, table, features, name):
    few = {"preset": "fast", "changes": {"max_rounds": 60, "interactions": 0}}
    return train(space, Spec(table, "buys", name, features, positive=["yes"], **few))


def opened(model):
    app = choose(open_page("compare", model=model.id), "Compare", TITLE)
    assert not app.exception
    return app


def plain(text):
    return text.replace("\\", "")


def areas(space, models, rows):
    """The AUC of models over some rows, by scikit-learn."""
    hit = rows["buys"] == "yes"
    fitted = [from_saved(space.models.load(model.id)) for model in models]
    return [roc_auc_score(hit, model.predict_proba(rows[list(model.feature_names_in_)])[:, 1]) for model in fitted]


def test_the_better_of_two_models_is_named_over_rows_that_both_have_held_out(space):
    frame = visits(1500, 0)
    table = space.tables.add(frame, "visits", [])
    money.keep(space, table.id, {"buys": 10.0})
    few, all_columns = trained(space, table.id, ["age"], "few"), trained(space, table.id, ["age", EVIL], "many")
    app = opened(few)
    held = frame[held_out_rows(frame, table.id)]
    one, other = areas(space, (few, all_columns), held)
    assert headlines(app)[0].startswith(
        f"Many ranks rows better than few: AUC {fixed(other, 3)} against {fixed(one, 3)}"
    )
    assert f"{count(len(held))} held-out rows of visits, from which neither model has learned." in plain(captions(app))
    assert "in money" in " ".join(line.value for line in app.markdown)
    by = next(box for box in app.selectbox if box.key == f"rival-by-{few.id}")
    assert by.options[0] == EVIL
    groups = next(line.value for line in app.dataframe if "money" in line.value)
    np.testing.assert_allclose(groups["money"], 10.0 * groups["change"] * groups["rows"])
    boards.add_segment(space, "Elders", Range("age", 50.0), table.id, (few.id, few.name), None)
    app = opened(few)
    app = next(box for box in app.selectbox if box.key == f"rival-by-{few.id}").select("segment Elders").run()
    groups = next(line.value for line in app.dataframe if "money" in line.value).set_index("group")
    assert groups.loc["yes", "rows"] == (held["age"] >= 50).sum()
    app = next(box for box in app.selectbox if box.key == f"rival-by-{few.id}").select("idle").run()
    assert not app.exception
    assert headlines(app)[1].startswith("idle: predictions differ most where it is")


@pytest.mark.slow
def test_of_a_newer_version_rows_count_that_the_older_model_does_not_know(space):
    old, new = visits(1200, 1), visits(900, 2)
    both = pd.concat([old, new], ignore_index=True).sample(frac=1, random_state=0, ignore_index=True)
    table = space.tables.add(old, "visits", [])
    first = trained(space, table.id, ["age"], "first")
    version, _ = carry_over.add_version(space, table, lambda: space.tables.add(both, "visits", []))
    second = trained(space, version.id, ["age", EVIL], "second")
    learned = old[~held_out_rows(old, table.id)]
    held = both[held_out_rows(both, version.id)]
    unseen = held[~held["age"].isin(learned["age"])]
    assert 0 < len(unseen) < len(held)
    for model in (first, second):
        app = opened(model)
        one, other = areas(space, (first, second), unseen)
        assert f"AUC {fixed(other, 3)} against {fixed(one, 3)}" in headlines(app)[0]
        assert f"{count(len(unseen))} held-out rows" in plain(captions(app))
        assert f"{count(len(held) - len(unseen))} more are left out" in plain(captions(app))


def test_a_report_says_which_model_is_better_as_the_page_does(space):
    frame = visits(1500, 0)
    table = space.tables.add(frame, "visits", [])
    few = trained(space, table.id, ["age"], "few")
    recipe = replace(recipes.usual(few, ["age"], None), items=(recipes.ReportItem("better"),))
    assert "No other model" in str(review_of(space, recipe, few.id))
    trained(space, table.id, ["age", EVIL], "many")
    (part,) = review_of(space, recipe, few.id).parts
    assert part.plot.title == headlines(opened(few))[0]
    assert "differ" in part.text[0] or "predicts" in part.text[0]
