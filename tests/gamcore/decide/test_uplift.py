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
    n, order = len(rows), np.argsort(-predicted, kind="stable")
    for share, gain, _ in made.gain:
        whole = int(share * n + 1e-9)
        part = share * n - whole
        by_hand = signal[order[:whole]].sum() + (part * signal[order[whole]] if whole < n else 0.0)
        assert gain == pytest.approx(by_hand / n, abs=1e-9)
    ties = {value: signal[predicted == value].mean() for value in predicted}
    fair = np.array([ties[value] for value in predicted[order]])  # equal predictions share their places
    curve = np.concatenate([[0.0], np.cumsum(fair)]) / n
    area = ((curve[1:] + curve[:-1]) / 2).mean()
    assert made.qini[0] == pytest.approx(area - signal.mean() / 2, abs=1e-9)


def test_an_order_that_says_nothing_is_worth_nothing():
    signal = np.random.default_rng(0).normal(size=500)
    made = read_uplift(np.full(500, 0.3), signal)
    assert made.qini == (0.0, (0.0, 0.0))
    assert [one.rows for one in made.tenths] == [500]


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


def test_the_frame_has_a_row_per_tenth():
    rng = np.random.default_rng(0)
    predicted, y, treated = experiment(20_000, rng)
    frame = read_uplift(predicted, signals(y, treated, np.full(y.size, 0.5), np.zeros(y.size))).frame()
    assert frame["rows"].tolist() == [2000] * 10
    assert frame["measured"].is_monotonic_decreasing
    true = 0.2 + 0.5 * frame["predicted"]
    assert ((frame["lower"] < true) & (true < frame["upper"])).mean() > 0.7
