"""More bins while they pay, from the form to the model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore.estimators.saved import from_saved
from shapewise.training import runs
from shapewise.training.cost import estimate
from shapewise.training.dataset import read_data
from shapewise.training.live import draft
from shapewise.training.spec import Spec
from tests.support.pages import button, open_page
from tests.support.spaces import wait

FEW = {"max_rounds": 60, "outer_bags": 2}


@pytest.fixture
def jumps(space):
    rng = np.random.default_rng(0)
    stamp = rng.permutation(np.arange(9000) // 3)
    y = 1.0 * (stamp % 40 < 3) + 0.1 * rng.normal(size=stamp.size)
    return space.tables.add(pd.DataFrame({"stamp": stamp, "b": rng.integers(0, 5, stamp.size), "y": y}), "jumps", [])


@pytest.mark.slow
def test_the_switch_makes_a_model_with_finer_bins(space, jumps):
    app = open_page("train", table=jumps.id)
    next(one for one in app.toggle if one.label == "More bins while they pay").set_value(True).run()
    next(one for one in app.number_input if one.label == "Most rounds").set_value(60).run()
    button(app, "Train").click().run()
    assert not app.exception
    (run,) = runs.active(space) or runs.listing(space)
    model = space.models.about(wait(space, run.id).model)
    assert model.spec["changes"] == {"max_bins": "auto", "max_rounds": 60}
    assert max(bins.size for bins in from_saved(space.models.load(model.id)).model_.bins) > 256


def test_a_draft_has_the_usual_bins(space, jumps):
    spec = Spec(jumps.id, "y", "jumps", ["stamp", "b"], changes=FEW | {"max_bins": "auto"})
    made = draft(read_data(space.tables.read(jumps.id), spec, {}), spec)
    assert max(bins.size for bins in made.estimator.model_.bins) == 256


def test_the_estimate_knows_of_finer_bins():
    usual, fine, search = (estimate(20_000, 10, {"max_bins": bins}, 2) for bins in (256, 1024, "auto"))
    assert usual.seconds < fine.seconds
    assert usual.seconds < search.seconds
    assert usual.disk < fine.disk
