"""Cuts as they are said: round, of the same training rows, and in words that read back as themselves."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gamcore.common.numbers import percent
from gamcore.data.binning import bin_table, encode_table
from gamcore.data.column_names import FORMS, ColumnNames, Measure, Names
from gamcore.data.cuts import cut_in_words, cut_of, is_two_valued, names_of_bins, values_in_words
from gamcore.data.dates import days_of
from gamcore.data.own_bins import OwnBins
from gamcore.data.table import Table, learn_features
from gamcore.decide.fairness import groups_of
from gamcore.decide.rules import Missing, Not, Range
from gamcore.decide.segments import range_of
from gamcore.explain.shown import shown
from gamcore.stats.histograms import overlay
from gamcore.stats.profiles import profile
from tests.support.read_rules import rows_of_name, rows_of_words

finite = st.floats(-1e307, 1e307)
UNITS = ["", "€", "%", "km", "CHF"]
few_tables = settings(max_examples=settings.default.max_examples // 5)
"""An example is a table of sixteen columns, each of up to 256 bins that are read back one by one."""


def columns(rng):
    """Return columns of all kinds of numbers, with ties, spikes, tails, moments, and values that are nearly equal."""
    n = int(rng.integers(20, 400))
    base = rng.normal(size=n)
    made = {
        "normal": base, "money": np.round(np.exp(3 + 2 * base), 2), "whole": np.round(50 * base),
        "count": rng.poisson(0.7, n).astype(float), "two": rng.choice([0.0, 1.0], n),
        "odd two": rng.choice([-3.25, 1e7], n), "tiny": 1e-9 * base, "large": np.round(1e14 * base),
        "seconds": 1.7e9 + rng.uniform(0, 3, n), "close": 1 + np.spacing(1.0) * rng.integers(0, 40, n),
        "tailed": rng.standard_cauchy(n) ** 3, "spike": np.where(base < 0.5, 0.0, np.exp(base)),
        "wide": rng.choice([-1e300, -2.0, 0.1, 0.30000000000000004, 5e-324, 1e300], n),
    }  # fmt: skip
    days = pd.Timestamp("2024-01-31") + pd.to_timedelta(rng.integers(0, 900, n), "D")
    frame = pd.DataFrame(made)
    frame["day"] = days.astype("datetime64[us]")
    frame["moment"] = (days + pd.to_timedelta(rng.integers(0, 86_400_000_000, n), "us")).astype("datetime64[us]")
    frame["minute"] = pd.Timestamp("2024-01-31 10:00") + pd.to_timedelta(rng.integers(0, 600, n), "min")
    return frame.mask(rng.random(frame.shape) < rng.choice([0.0, 0.1]))


@pytest.mark.slow
@given(seed=st.integers(0, 2**32 - 1), max_bins=st.sampled_from([4, 7, 20, 256]))
def test_a_rule_of_bins_has_their_training_rows_as_it_is_printed(seed, max_bins):
    rng = np.random.default_rng(seed)
    frame = columns(rng)
    binned = bin_table(frame, learn_features(frame), max_bins=max_bins)
    for codes, bins in zip(encode_table(frame, binned.bins), binned.bins, strict=True):
        if bins.feature.is_category or bins.n_values < 2:
            continue
        start, end = sorted(rng.choice(bins.n_values + 1, 2, replace=False).tolist())
        rule, wanted = range_of(bins, start, end), (codes > start) & (codes <= end)
        assert (rule.holds(frame) == wanted).all(), (bins.feature.name, rule)
        names = Names({bins.feature.name: ColumnNames(unit=str(rng.choice(UNITS)), form=str(rng.choice(FORMS)))})
        for called in (Names(), names):
            words = rule.words(called)
            printed = rows_of_words(words, frame[bins.feature.name], called.of(bins.feature.name).measure)
            assert (printed == wanted).all(), (words, rule)
        assert is_two_valued(bins) == (frame[bins.feature.name].nunique() == 2 and bins.feature.kind == "number")


@few_tables
@given(seed=st.integers(0, 2**32 - 1))
def test_a_group_of_rows_is_printed_as_a_range_that_has_them_alone(seed):
    frame = columns(np.random.default_rng(seed)).dropna(axis=1, how="all")
    for name in frame:
        labels = groups_of(Table(frame), name)
        for label in set(labels) - {"missing", "other values"}:
            low, _, high = label.partition(" to ")
            if pd.api.types.is_datetime64_any_dtype(frame[name].dtype):
                last = pd.Timestamp(high or low)
                last += pd.Timedelta(1, "D") - pd.Timedelta(1, "us") if len(high or low) == 10 else pd.Timedelta(0)
                printed = frame[name].between(pd.Timestamp(low), last)
            else:
                printed = frame[name].between(*(float(end.replace(",", "")) for end in (low, high or low)))
            assert (printed == (labels == label)).all(), (name, label)


@given(low=finite, high=finite, form=st.sampled_from(FORMS), unit=st.sampled_from(UNITS), seed=st.integers(0, 99))
def test_a_range_reads_back_as_itself(low, high, form, unit, seed):
    assume(low != high)
    low, high = sorted([low, high])
    near = [np.nextafter(end, side) for end in (low, high) for side in (-np.inf, np.inf)]
    cells = pd.DataFrame({"x": [value for value in (low, high, *near) if np.isfinite(value)]})
    rng, names = np.random.default_rng(seed), Names({"x": ColumnNames(unit=unit, form=form)})
    rule = Range("x", low, high, bool(rng.random() < 0.5), bool(rng.random() < 0.5))
    printed = rows_of_words(rule.words(names), cells["x"], Measure(unit, form))
    assert (printed == rule.holds(cells)).all(), rule.words(names)


def test_cuts_are_round_and_those_that_were_chosen_stay():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"pay": np.round(np.exp(rng.normal(10, 1, 3000)), 2), "clicks": rng.poisson(3, 3000)})
    pay, clicks = bin_table(frame, learn_features(frame), max_bins=20).bins
    said = [cut_in_words(cut_of(pay, k), Measure()) for k in range(1, pay.n_values)]
    assert max(sum(letter.isdigit() for letter in text.rstrip("0")) for text in said) <= 6, said
    assert [cut_of(clicks, k) for k in range(1, 4)] == [1, 2, 3]
    own = OwnBins(cuts=np.array([12_345.678, 20_000.001]))
    (chosen,) = bin_table(frame[["pay"]], learn_features(frame[["pay"]]), own=(own,)).bins
    assert [cut_of(chosen, k) for k in (1, 2)] == [12_345.678, 20_000.001]


@pytest.mark.parametrize(("low", "high", "cut"), [
    ("2024-01-10", "2024-02-20", "2024-01-30"), ("2024-01-10 23:00:00", "2024-01-11 02:00:00", "2024-01-11"),
    ("2024-01-10 09:00:00", "2024-01-10 15:00:00", "2024-01-10 12:00:00"),
    ("2024-01-10 09:10:00", "2024-01-10 09:30:00", "2024-01-10 09:20:00"),
])  # fmt: skip
def test_a_cut_of_dates_is_a_day_where_one_is_between(low, high, cut):
    frame = pd.DataFrame({"when": pd.to_datetime([low, high] * 30).astype("datetime64[us]")})
    (bins,) = bin_table(frame, learn_features(frame), max_bins=4).bins[:1]
    assert cut_of(bins, 1) == days_of(cut)


def test_a_column_of_two_values_is_said_by_them():
    frame = pd.DataFrame({"diabetes": [0, 1] * 50, "size": [1250.5, 1250.5, 7.0, 7.0] * 25})
    diabetes, size = bin_table(frame, learn_features(frame)).bins
    assert [range_of(diabetes, k, k + 1).words() for k in (0, 1)] == ["diabetes is 0", "diabetes is 1"]
    assert range_of(size, 1, 2).words() == "size is 1,250.5"
    named = Names({"diabetes": ColumnNames("Diabetes", levels={"0": "no", "1": "yes"})})
    assert range_of(diabetes, 1, 2).words(named) == "Diabetes is yes"
    assert range_of(size, 0, 2) == Not(Missing("size"))


@pytest.mark.slow
@few_tables
@given(seed=st.integers(0, 2**32 - 1), max_bins=st.sampled_from([4, 7, 20, 256]))
def test_a_bin_is_named_by_a_range_that_has_its_training_rows(seed, max_bins):
    rng = np.random.default_rng(seed)
    frame = columns(rng)
    for bins in bin_table(frame, learn_features(frame), max_bins=max_bins).bins:
        if bins.feature.is_category or not bins.n_values:
            continue
        column, measure = frame[bins.feature.name], Measure(form=str(rng.choice(FORMS)))
        edges = np.r_[bins.low, bins.cuts, bins.high]
        names = names_of_bins(edges, bins.beside, bins.display, bins.feature.kind, measure)
        codes = encode_table(frame, (bins,))[0]
        for k, name in enumerate(names):
            inside = rows_of_name(name, column, measure)
            assert (inside == (codes == k + 1)).all(), (name, bins.feature.name)


@pytest.mark.slow
@few_tables
@given(seed=st.integers(0, 2**32 - 1))
def test_a_bar_is_named_by_a_range_that_has_its_rows(seed):
    """Of profiles and of two versions, whatever the unit and form that the column is then shown in."""
    rng = np.random.default_rng(seed)
    frame, later = columns(rng), columns(rng)
    for name in frame:
        column, then = frame[name], later[name]
        kind = "date" if pd.api.types.is_datetime64_any_dtype(column.dtype) else "number"
        names = Names({name: ColumnNames(unit=str(rng.choice(UNITS)), form=str(rng.choice(FORMS)))})
        measure, made, drawn = names.of(name).measure, profile(column, kind), overlay(then, column, kind)
        for text, count in zip(shown(made, names).parts, made.counts, strict=True):
            assert rows_of_name(text, column, measure).sum() == count, (name, text)
        for text, *shares in shown(drawn, names).frame().to_numpy()[:-1]:
            inside = [rows_of_name(text, cells, measure).sum() / cells.notna().sum() for cells in (then, column)]
            np.testing.assert_allclose(inside, shares, atol=1e-12, err_msg=f"{name} {text}")
        share, where = re.fullmatch(
            r"(.+) of the rows with a value are (?:from )?(.+)", shown(made, names).words()
        ).groups()
        assert percent(rows_of_name(where, column, measure).sum() / column.notna().sum(), 0) == share


def test_bars_of_round_edges_are_said_by_these():
    rng = np.random.default_rng(0)
    year, price = pd.Series(rng.integers(1990, 2050, 4000)), pd.Series(rng.uniform(0, 300, 4000))
    assert [*profile(year, "number").parts[:2]] == ["1990 to 1991", "1992 to 1993"]
    assert max(map(len, profile(price, "number").parts)) <= len("189.62 to 199.62")
    mostly = pd.Series(np.where(rng.random(900) < 0.9, 0.0, 1 + rng.random(900)), name="late")
    assert profile(mostly, "number").words().endswith("% of the rows with a value are 0")


@pytest.mark.slow
@given(seed=st.integers(0, 2**32 - 1), max_bins=st.sampled_from([4, 7, 20, 256]))
def test_values_that_are_advised_are_in_their_bin_though_no_training_row_has_them(seed, max_bins):
    rng = np.random.default_rng(seed)
    frame = columns(rng)
    for bins in bin_table(frame, learn_features(frame), max_bins=max_bins).bins:
        if bins.feature.is_category or not bins.n_values:
            continue
        measure, is_date = Measure(form=str(rng.choice(FORMS))), bins.feature.kind == "date"
        k = int(rng.integers(bins.n_values))
        text = (
            values_in_words(bins, k, measure)
            .replace("%", "")
            .removeprefix("between ")
            .removeprefix("is ")
            .removeprefix("about ")
        )
        ends = re.sub(r" or (more|less|later|earlier)$", "", text).split(" and ")
        if is_date:
            first, last = days_of(ends[0]), days_of(ends[-1])
            whole_day = last + (1 - 1e-9) * (len(ends[-1]) == 10)  # or its first moment, in a column of days
            assert bins.encode(np.array([first]))[0] == k + 1 or text.endswith("earlier"), text
            assert (bins.encode(np.array([last, whole_day])) == k + 1).any() or text.endswith("later"), text
        else:
            values = [float(end.replace(",", "") + ("e-2" if measure.form == "percent" else "")) for end in ends]
            inside = [*values, np.mean(np.array(values) / len(values)) * len(values)]
            assert (bins.encode(np.array(inside)) == k + 1).all(), text


def test_advice_into_a_narrow_bin_is_about_a_number_in_it():
    frame = pd.DataFrame({"x": np.concatenate([np.linspace(0, 100, 300), 3.141 + np.linspace(0, 0.001, 300)])})
    bins = bin_table(frame, learn_features(frame), max_bins=20).bins[0]
    k = int(bins.encode(np.array([3.1415]))[0]) - 1
    text = values_in_words(bins, k, Measure())
    assert re.fullmatch(r"is about 3\.14\d*", text), text
    assert bins.encode(np.array([float(text.removeprefix("is about "))]))[0] == k + 1
    assert any(values_in_words(bins, j, Measure()).startswith("between ") for j in range(1, bins.n_values - 1))


def test_advice_of_a_value_with_many_digits_is_about_it():
    values = np.log(np.arange(20_000, 220_000, 1_000, dtype=np.float32)).astype(float)
    bins = bin_table(pd.DataFrame({"x": values}), learn_features(pd.DataFrame({"x": values})), max_bins=256).bins[0]
    for k in range(1, bins.n_values - 1):
        text = values_in_words(bins, k, Measure())
        assert re.fullmatch(r"is (about )?\d+(\.\d{1,4})?", text), text
        assert bins.encode(np.array([float(text.split()[-1])]))[0] == k + 1
