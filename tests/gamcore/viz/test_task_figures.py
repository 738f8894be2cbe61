"""Figures of several tasks, in both themes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore.explain import plots
from gamcore.explain.curves import Breakdown
from gamcore.explain.tasks import TaskImportance
from gamcore.viz import plotly_figures as figures
from gamcore.viz.palette import PALETTES
from shapewise.training.cost import estimate_tasks
from tests.support.fits import QUICK, two_tasks
from tests.support.hostile import EVIL

MODES = ["light", "dark"]


@pytest.fixture(scope="module")
def fitted():
    from gamcore import MultiTaskTreesRegressor

    X, y, task = two_tasks()
    return MultiTaskTreesRegressor(**QUICK).fit(X, y, task=task)


def texts(figure):
    return figure.to_json()


@pytest.mark.parametrize("mode", MODES)
def test_importance_is_stacked_and_adds_up(mode):
    found = TaskImportance(("a", EVIL, "(task)"), ("s", "t"), np.array([3.0, 1, 0]), np.array([[0.0, 1, 0], [1, 0, 0]]))
    assert found.describe(most=1).title == found.describe().title  # it is of all features, whatever is drawn
    figure = figures.draw(found.describe(), mode)
    assert [bar.name for bar in figure.data] == ["in the trees that tasks share", "in trees of one task"]
    np.testing.assert_allclose(sum(np.asarray(bar.x) for bar in figure.data), [4 / 6, 2 / 6, 0])
    np.testing.assert_array_equal(figure.data[1].base, figure.data[0].x)  # one begins where the other ends
    assert "<img" not in texts(figure)
    assert figure.layout.paper_bgcolor is None
    assert figure.layout.template.layout.paper_bgcolor == PALETTES[mode].background


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("feature", ["shared", "level"])
def test_a_task_stands_beside_the_common_curve(fitted, mode, feature):
    mine, common = fitted.explain_shape(feature, "b"), fitted.explain_shape(feature)
    figure = figures.draw(plots.small(mine, (-2, 2), common, EVIL), mode)
    other = figure.data[-1]
    assert other.name == "common"
    assert set(np.asarray(other.y)) == set(common.scores)
    assert tuple(figure.layout.yaxis.range) == (-2, 2)
    assert "<img" not in figure.layout.title.text


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n", [3, 40, 41])
def test_likeness_is_a_matrix_with_zero_at_the_background(mode, n):
    names = [f"{EVIL}{k}" for k in range(n)]
    values = np.eye(n)
    values[0, 1] = np.nan
    figure = figures.draw(plots.similarity(pd.DataFrame(values, index=names, columns=names)), mode)
    axis = figure.layout.coloraxis
    assert dict(axis.colorscale)[0.5] == PALETTES[mode].background
    assert (axis.cmin, axis.cmax) == (-1, 1)
    assert figure.layout.xaxis.showticklabels is (n <= 40)
    assert "<img" not in texts(figure)


@pytest.mark.parametrize("mode", MODES)
def test_a_waterfall_adds_up_and_gathers_small_parts(mode):
    parts = np.array([[2.0, -1.0, 0.0, *[0.01] * 14]])
    names = ("a", EVIL, "none", *[f"s{k}" for k in range(14)])
    found = Breakdown(names, 0.5, parts, parts.sum(axis=1) + 0.5)
    bar = figures.draw(found.describe(0, "price"), mode).data[0]
    assert sum(bar.x[:-1]) == pytest.approx(found.scores[0]) == bar.x[-1]
    assert bar.base[0] == bar.base[-1] == 0.0
    low, high = figures.draw(found.describe(0, "price"), mode).layout.xaxis.range
    assert low < 0.0
    assert high > 2.5  # the average and the largest part
    assert len(bar.x) == 1 + 12 + 1 + 1  # the average, twelve parts, the others, the score
    assert "none" not in texts(figures.draw(found.describe(0, "price"), mode))
    assert "<img" not in texts(figures.draw(found.describe(0, "price"), mode))


def test_the_estimate_grows_with_the_work():
    def seconds(rows=10_000, features=10, n_tasks=2, n_jobs=1, compare=False, **parameters):
        return estimate_tasks(rows, features, n_tasks, parameters, n_jobs, compare).seconds

    assert seconds() < seconds(rows=20_000)
    assert seconds() < seconds(n_tasks=100)
    assert seconds() < seconds(compare=True)
    assert seconds(n_jobs=2) < seconds()
    assert seconds(max_rounds=5) < seconds()
