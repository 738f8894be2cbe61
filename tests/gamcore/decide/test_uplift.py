"""What following an order of rows is worth, as the arms measured it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamcore.decide.uplift import read_uplift, signals


def experiment(n, rng, share=0.5):
    predicted = rng.normal(size=n)
    treated = (rng.random(n) < share).astype(float)
    y = rng.normal(size=n) + treated * (0.2 + 0.5 * predicted)
    return predicted, y, treated


def test_signals_average_to_the_effect_of_any_rows():
    rng = np.random.default_rng(0)
    for share in (0.5, 0.1):
        predicted, y, treated = experiment(400_000, rng, share)
        signal = signals(y, treated, np.full(y.size, share), np.zeros(y.size))
        assert signal.mean() == pytest.approx(0.2, abs=0.03)
        assert signal[predicted > 1].mean() == pytest.approx(0.2 + 0.5 * predicted[predicted > 1].mean(), abs=0.06)


def test_an_expected_outcome_lowers_the_variance():
    rng = np.random.default_rng(0)
    base, treated = 3 * rng.normal(size=20_000), (rng.random(20_000) < 0.3).astype(float)
    y, share = base + treated + rng.normal(size=20_000), np.full(20_000, 0.3)
    bare, helped = signals(y, treated, share, np.zeros(20_000)), signals(y, treated, share, base + 0.3)
    assert helped.mean() == pytest.approx(1.0, abs=0.05)
    assert helped.std() < 0.4 * bare.std()


@given(st.lists(st.tuples(st.integers(-3, 3), st.floats(-9, 9)), min_size=2, max_size=40))
def test_gains_and_qini_are_those_of_treating_row_by_row(rows):
    predicted, signal = np.array(rows, float).T
    made = read_uplift(predicted, signal)
    n = len(rows)
    groups = [signal[predicted == value] for value in np.unique(predicted)[::-1]]
    for share, gain, _ in made.gain:
        left, by_hand = share * n, 0.0
        for group in groups:  # rows of the same prediction are treated alike
            treated = min(max(left, 0.0), group.size)
            by_hand += treated / group.size * group.sum()
            left -= group.size
        assert gain == pytest.approx(by_hand / n, abs=1e-9)
    ties = {value: signal[predicted == value].mean() for value in predicted}
    fair = np.array([ties[value] for value in np.sort(predicted)[::-1]])  # equal predictions share their places
    curve = np.concatenate([[0.0], np.cumsum(fair)]) / n
    area = ((curve[1:] + curve[:-1]) / 2).mean()
    assert made.qini[0] == pytest.approx(area - signal.mean() / 2, abs=1e-9)


def test_an_order_that_says_nothing_is_worth_nothing():
    signal = np.random.default_rng(0).normal(size=500)
    made = read_uplift(np.full(500, 0.3), signal)
    assert made.qini == (0.0, (0.0, 0.0))
    assert [one.rows for one in made.tenths] == [500]


@pytest.mark.parametrize(("values", "called"), [(2, "part"), (3, "part"), (1000, "tenth")])
def test_parts_are_called_tenths_only_where_there_are_ten(values, called):
    """A model of one curve with two levels has two parts, and a plot said tenths of them."""
    rng = np.random.default_rng(0)
    plot = read_uplift(rng.integers(0, values, 2000) / values, rng.normal(size=2000)).describe("points")
    assert f"in the {called} predicted to move most" in plot.title
    assert plot.main.x.title.startswith(f"{called}s of the rows")
    said = " ".join([plot.title, plot.words, plot.detail, plot.main.x.title, *map(str, plot.numbers.columns)])
    assert ("tenth" in said) == (called == "tenth")


@pytest.mark.slow
def test_intervals_hold_what_they_promise():
    rng = np.random.default_rng(0)
    inside, of_tenths = [], []
    for _ in range(600):
        predicted, y, treated = experiment(1000, rng, 0.3)
        made = read_uplift(predicted, signals(y, treated, np.full(1000, 0.3), np.zeros(1000)))
        low, high = made.qini[1]
        inside.append(low <= 0.5 / (2 * np.sqrt(np.pi)) <= high)  # of a normal prediction, half its mean difference
        low, high = made.average[1]
        of_tenths.append(low <= 0.2 <= high)
    assert 0.93 < np.mean(inside) < 0.975
    assert 0.93 < np.mean(of_tenths) < 0.975


def test_the_frame_has_what_was_measured_and_predicted_of_each_tenth():
    rng = np.random.default_rng(0)
    predicted, y, treated = experiment(20_000, rng)
    frame = read_uplift(predicted, signals(y, treated, np.full(y.size, 0.5), np.zeros(y.size))).frame()
    measured, said = (frame[frame["number"] == name].set_index("part") for name in ("measured", "predicted"))
    assert measured["n"].tolist() == [2000] * 10
    assert measured["value"].is_monotonic_decreasing
    true = 0.2 + 0.5 * said["value"]
    assert ((measured["lower"] < true) & (true < measured["upper"])).mean() > 0.7


def test_intervals_go_by_clusters_whose_rows_are_alike():
    rng = np.random.default_rng(0)
    signal, who = rng.normal(size=500), np.arange(500)
    alone = read_uplift(rng.normal(size=500), signal, who)
    np.testing.assert_allclose(alone.average[1], read_uplift(rng.normal(size=500), signal).average[1])
    misses = 0
    for seed in range(200):
        draw = np.random.default_rng(seed)
        cluster = np.repeat(np.arange(60), 20)
        values = draw.normal(size=60)[cluster] + draw.normal(size=1200)
        order = draw.normal(size=60)[cluster]
        read = read_uplift(order, values, cluster)
        by_rows = read_uplift(order, values)
        assert read.average[1][1] - read.average[1][0] > 2 * (by_rows.average[1][1] - by_rows.average[1][0])
        misses += not read.average[1][0] < 0 < read.average[1][1]
    assert 2 <= misses <= 20  # 10 of 200


def test_rows_of_the_same_prediction_gain_alike():
    """A model that says nothing gains what any order does, in whatever order the rows stand."""
    signal = np.sort(np.random.default_rng(0).normal(size=1000))[::-1] + 0.3
    read = read_uplift(np.zeros(1000), signal)
    for share, gain, _ in read.gain:
        assert gain == pytest.approx(share * signal.mean())
    assert read.qini[0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("unit", [1e-300, 1e-170, 1e170, 1e300])
def test_what_is_gained_has_the_unit_of_the_outcome(unit):
    predicted, signal = np.random.default_rng(0).normal(size=(2, 200))
    made, scaled = read_uplift(predicted, signal), read_uplift(predicted, unit * signal)
    for own, other in ((made.average, scaled.average), (made.qini, scaled.qini)):
        assert np.array(other[1]) / unit == pytest.approx(own[1])
