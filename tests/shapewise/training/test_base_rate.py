"""The base rate of a model's record is the one that its curves are measured from."""

from __future__ import annotations

import pytest

from shapewise.training.train import train
from tests.support.spaces import frame, spec_of


@pytest.mark.parametrize("binary", [True, False])
def test_the_recorded_base_is_that_of_the_curves(space, binary):
    table = space.tables.add(frame(binary=binary), "rows")
    made = train(space, spec_of(table.id, positive=["yes"] if binary else None))
    of = space.models.load(made.id).model
    base = float(of.loss.inverse_link(of.base_score))
    assert made.metrics["base_rate" if binary else "mean"] == pytest.approx(base)
