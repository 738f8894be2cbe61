"""Figures that are drawn once: equal content is one figure, any other content another."""

from dataclasses import replace

import numpy as np
import pandas as pd
import plotly.io
import pytest

from gamcore.viz import plotly_figures as figures
from gamcore.viz.spec import Axis, Panel, Plot, Steps, single
from shapewise.ui.widgets import drawn
from tests.support import kinds


def plot(values=(1.0, 2.0), **changes):
    steps = Steps(np.arange(3.0), np.array(values), hover=("a", "b"))
    panel = Panel(Axis("x"), Axis("y"), (steps,))
    return replace(Plot("n", "t", "d", single(panel), "words", drawn.NO_NUMBERS), **changes)


def test_equal_plots_have_one_key_and_any_change_another():
    assert drawn.content(plot()) == drawn.content(plot())
    others = [plot((1.0, 3.0)), plot(title="u"), plot(height=9), plot(legend="list"), plot(small=True), plot(width=3)]
    assert len({drawn.content(one) for one in [plot(), *others]}) == len(others) + 1
    assert drawn.content(plot(), "light") != drawn.content(plot(), "dark")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("ab", "c"), ("a", "bc")), ((1, 2), ("1", "2")), (("a", ("b",)), (("a", "b"),)), ((None,), ("None",)),
        ((np.zeros((2, 3)),), (np.zeros((3, 2)),)), ((np.zeros(2),), (np.zeros(4, np.float32),)),
        ((np.array(["a", None], object),), (np.array(["a", "None"], object),)), (({"a": 1},), (("a", 1),)),
    ],
)  # fmt: skip
def test_what_differs_never_reads_the_same(one, other):
    assert drawn.content(*one) != drawn.content(*other)


def test_what_has_no_plain_value_is_refused():
    with pytest.raises(TypeError, match="DataFrame"):
        drawn.content(pd.DataFrame())


def test_a_kept_figure_is_sent_as_the_one_that_was_drawn(monkeypatch):
    monkeypatch.setattr(drawn.state, "mode", lambda: "dark")
    shown = plot(numbers=pd.DataFrame({"a": [1]}))
    whole = plotly.io.to_json(figures.draw(shown, "dark", titled=False), validate=False)
    for _ in range(2):
        assert plotly.io.to_json(drawn.figure(shown, titled=False).to_dict(), validate=False) == whole


def test_every_kind_of_plot_has_a_key_of_its_own():
    keys = [drawn.content(replace(one, numbers=drawn.NO_NUMBERS)) for one in kinds.every().values()]
    assert len(set(keys)) == len(keys)
