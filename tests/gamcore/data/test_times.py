"""Dates from the first to the last of the calendar, and times of a zone: every reader agrees, or refuses in words."""

from __future__ import annotations

import datetime as dt
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamcore import GAMRegressor, TableError
from gamcore.data.columns import read_dates
from gamcore.data.dates import as_date, days_of, stamp
from gamcore.decide.rules import Range
from gamcore.io import gamx
from gamcore.io.score_json import from_json, to_json
from tests.support.elsewhere import run_python, run_sql
from tests.support.gears import mostly_slow

FIRST, LAST = dt.datetime(1, 1, 1), dt.datetime.max
EDGES = [FIRST, dt.datetime(1, 1, 1, 12), dt.datetime(9999, 12, 31), dt.datetime(9999, 12, 31, 23, 59), LAST]


@given(st.lists(st.datetimes(min_value=FIRST, max_value=LAST) | st.sampled_from(EDGES), min_size=1))
def test_every_moment_of_the_calendar_is_read_and_can_be_written(moments):
    for series in (pd.Series(moments, dtype="datetime64[us]"), pd.Series(moments, dtype=object)):
        days = read_dates(series.rename("d"))
        assert (np.diff(days[np.argsort(moments)]) >= 0).all()
        for moment, day in zip(moments, days, strict=True):
            for back in (as_date(day), as_date(days_of(stamp(day)))):
                assert abs(back.replace(tzinfo=None) - moment) < dt.timedelta(milliseconds=1)


@pytest.mark.parametrize("year", [-1, 0, 10_000, 20_000, 290_000])
@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_dates_beyond_the_calendar_are_refused_in_any_unit(year, unit):
    far = pd.Series(np.array([f"{year:05d}-06-01" if year >= 0 else f"{year:06d}-06-01"], f"datetime64[{unit}]"))
    with pytest.raises(TableError, match="years 1 to 9999"):
        read_dates(far.rename("d"))


def open_ends(rng, n=300):
    """Days of which a third each is the first, the last and one of this century."""
    days = pd.date_range("2001-01-01", periods=n).to_numpy().astype("datetime64[us]")
    kinds = rng.integers(0, 3, n)
    days[kinds == 0], days[kinds == 1] = np.datetime64("0001-01-01"), np.datetime64("9999-12-31T23:59:59")
    return pd.DataFrame({"d": days}), kinds.astype(float)


def test_open_ends_train_and_are_scored_alike_everywhere(tmp_path):
    X, y = open_ends(np.random.default_rng(0))
    model = GAMRegressor(random_state=0, max_rounds=60, outer_bags=2, date_parts=True).fit(X, y)
    expected = model.predict(X)
    assert model.score(X, y) > 0.9
    model.save(tmp_path / "m.gamx")
    np.testing.assert_array_equal(gamx.load(tmp_path / "m.gamx").model.predict(model._encode(X)), expected)
    np.testing.assert_allclose(from_json(to_json(model)).predict(X), expected)
    cells = [{"d": str(moment)} for moment in X["d"]]
    np.testing.assert_allclose(run_python(model, cells), expected)
    np.testing.assert_allclose(run_sql(model, X), expected)
    model.explain_shape("d").frame()
    assert model.explain_shape("d").plot().to_json()


# Times of a zone

ZONES = ("America/New_York", "Asia/Tokyo", "Australia/Lord_Howe", "UTC", "Asia/Kathmandu")


def zoned(zone, n=500):
    hours = pd.date_range("2024-02-20", periods=n, freq="h", tz=zone)
    return pd.DataFrame({"d": hours}), (hours.day_of_week >= 5).astype(float) + 0.1 * hours.month


def writings(X):
    """The same moments in every way in which a column can hold them."""
    for zone in ZONES:
        moved = X["d"].dt.tz_convert(zone)
        yield moved
        yield moved.astype(object)
        yield moved.astype(pd.ArrowDtype(pa.timestamp("us", zone)))
    mixed = [moment.tz_convert(ZONES[k % len(ZONES)]) for k, moment in enumerate(X["d"])]
    yield pd.Series(mixed, dtype=object)


@pytest.mark.parametrize("zone", mostly_slow(ZONES, 1))
def test_the_same_moments_have_the_same_prediction_in_any_zone(zone, tmp_path):
    X, y = zoned(zone)
    model = GAMRegressor(random_state=0, max_rounds=40, outer_bags=2, date_parts=True).fit(X, y)
    expected = model.predict(X)
    for written in writings(X):
        np.testing.assert_array_equal(model.predict(written.to_frame("d")), expected)
    model.save(tmp_path / "m.gamx")
    again = gamx.load(tmp_path / "m.gamx").model
    assert [of.feature for of in again.bins] == [of.feature for of in model.model_.bins]
    formula = from_json(to_json(model))
    for there in ZONES:
        moved = X.assign(d=X["d"].dt.tz_convert(there))
        np.testing.assert_allclose(formula.predict(moved), expected)
        np.testing.assert_allclose(run_python(model, [{"d": moment.isoformat()} for moment in moved["d"]]), expected)
        np.testing.assert_allclose(run_sql(model, moved, zone=there), expected)


@pytest.mark.parametrize("has_zone", [True, False])
def test_times_with_and_without_a_zone_do_not_mix(has_zone):
    X, y = zoned("Asia/Tokyo")
    bare = X.assign(d=X["d"].dt.tz_localize(None))
    given_, other = (X, bare) if has_zone else (bare, X)
    model = GAMRegressor(random_state=0, max_rounds=5, outer_bags=2).fit(given_, y)
    for frame in (other, other.astype(object)):
        for read in (model, from_json(to_json(model))):
            with pytest.raises(TableError, match="time zone"):
                read.predict(frame)
    with pytest.raises(ValueError, match="time zone"):
        run_python(model, [{"d": other["d"].iloc[0].isoformat()}])
    with pytest.raises(TableError, match="mixes times"):
        model.predict(pd.DataFrame({"d": pd.Series([X["d"].iloc[0], bare["d"].iloc[0]], dtype=object)}))
    assert model.predict(pd.DataFrame({"d": pd.Series([pd.NaT], dtype="datetime64[us]")})).size == 1


def test_a_file_says_that_times_have_a_zone():
    X, y = zoned("Asia/Tokyo", 60)
    model = GAMRegressor(random_state=0, max_rounds=5, outer_bags=2).fit(X, y)
    plain = json.loads(to_json(model))
    assert plain["version"] == 7
    assert plain["features"][0]["zoned"] is True
    X["d"] = X["d"].dt.tz_localize(None)
    assert json.loads(to_json(GAMRegressor(max_rounds=5, outer_bags=2).fit(X, y)))["version"] == 1


def test_rules_read_moments_in_utc():
    X, _ = zoned("Asia/Tokyo")
    rule = Range("d", 19_780.0, 19_781.0, date=True)
    want = rule.holds(X.assign(d=X["d"].dt.tz_convert("UTC").dt.tz_localize(None)))
    assert 0 < want.sum() < len(X)
    for written in writings(X):
        np.testing.assert_array_equal(rule.holds(written.to_frame("d")), want)
