"""The benchmarks of single steps run on the library as it is, on sizes too small to measure speed."""

from __future__ import annotations

import argparse

import pytest

from benchmarks.boosting import loss_steps, scale, steps

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_step_of_each_loss_is_timed(loss):
    assert loss_steps.step_nanoseconds(loss, n_rows=2000, seconds=0.001) > 0


def test_a_step_is_timed_where_no_time_is_left():
    assert loss_steps.step_nanoseconds("squared", n_rows=2000, seconds=0.0) > 0


def test_the_parts_of_a_step_are_timed():
    points = steps.points(argparse.Namespace(rows=[2000], repeats=1, seconds=0.0001), bandwidth=1e9)
    assert {point["part"] for point in points} > {steps.WHOLE, "histograms", "cutting"}
    assert all(point["microseconds"] > 0 for point in points)


def test_a_step_is_timed_at_every_kind_of_point():
    points = [point for point in scale.points([2000], [5], "squared") if point["rows"] == 2000]
    assert scale.measure(points[0], seconds=0.001)["step_seconds"] > 0
