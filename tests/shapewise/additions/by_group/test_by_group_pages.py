"""*Where is the model wrong?* on Overview: a column that the model does not read leads the ranking."""

from __future__ import annotations

import numpy as np
import pandas as pd

from shapewise.training.spec import Spec
from shapewise.training.train import train
from tests.support.hostile import EVIL
from tests.support.pages import headlines, open_page

TITLE = "Where is the model wrong?"


def test_a_column_that_was_left_out_is_named_first(space):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=1500), EVIL: rng.choice(["work", "off"], 1500),
                          "idle": rng.normal(size=1500)})  # fmt: skip
    frame["y"] = frame["x"] + 2.0 * (frame[EVIL] == "work") + rng.normal(size=1500)
    table = space.tables.add(frame, "days", [])
    model = train(space, Spec(table.id, target="y", features=["x"], name="a model", preset="fast"))
    app = open_page("overview", model=model.id)
    app.session_state[f"panel-{TITLE}"] = True
    app = app.run()
    assert not app.exception
    box = next(one for one in app.selectbox if one.key == f"by-group-{model.id}")
    assert len(box.options) == 3
    assert any("2 of 2 groups clearly off" in line for line in headlines(app))
    app = box.select("idle").run()
    assert not app.exception
    assert any("no group is clearly off" in line for line in headlines(app))
