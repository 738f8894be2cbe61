"""Figures that are drawn once: equal content is one figure, any other content another."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import plotly.io
import pytest
from plotly.utils import PlotlyJSONEncoder

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


def leaves(part, path=()):
    """The values inside a part of a figure, by where they are."""
    if not isinstance(part, dict) or not part:
        return {path: part}
    return {place: value for name, inner in part.items() for place, value in leaves(inner, (*path, name)).items()}


def plainly(part):
    return json.loads(PlotlyJSONEncoder().encode(part))


@pytest.mark.slow
def test_a_figure_is_sent_as_it_was_drawn_with_the_house_template_written_out(monkeypatch):
    monkeypatch.setattr(drawn.state, "mode", lambda: "dark")
    for kind, plot in kinds.every().items():
        whole = figures.draw(plot, "dark", titled=False)
        layout = plainly(whole.layout.to_plotly_json())
        house = layout.pop("template")["layout"]
        axes = {name: house[name[:5]] for name in layout if name[:5] in ("xaxis", "yaxis")}
        for _ in range(2):
            sent = json.loads(plotly.io.to_json(drawn.figure(plot, titled=False), validate=False))
            assert sent["data"] == plainly([trace.to_plotly_json() for trace in whole.data]), kind
            added = {("autosize",): True, ("datarevision",): sent["layout"]["datarevision"]}
            assert leaves(sent["layout"]) == leaves(house) | leaves(axes) | leaves(layout) | added, kind


def test_a_browser_can_tell_whether_data_are_the_same():
    revisions = [drawn.figure(one).to_dict()["layout"]["datarevision"] for one in (plot(), plot(), plot((1.0, 3.0)))]
    assert revisions[0] == revisions[1] != revisions[2]


@pytest.mark.slow
def test_every_kind_of_plot_has_a_key_of_its_own():
    keys = [drawn.content(replace(one, numbers=drawn.NO_NUMBERS)) for one in kinds.every().values()]
    assert len(set(keys)) == len(keys)
