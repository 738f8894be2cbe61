"""Typed columns from clean and hostile frames; every refusal is one sentence with the place and a remedy."""

from __future__ import annotations

import datetime as dt
import decimal
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from gamcore import GAMClassifier, GAMRegressor, TableError, load_model, smallest_changes
from gamcore.data import table
from gamcore.data.columns import kind_of
from gamcore.data.table import Feature, Table, as_frame, learn_features, read_feature
from gamcore.data.targets import read_class_target, read_numeric_target

QUICK = {"max_rounds": 3, "outer_bags": 1, "random_state": 0}
N = 6
NAN = np.nan

KINDS = {
    "int": ([1, 2, 3], "number"),
    "int8 extremes": (np.array([-128, 127, 126], np.int8), "number"),
    "uint64": (np.array([0, 2**64 - 1], np.uint64), "number"),
    "float with NaN": ([1.5, NAN], "number"),
    "float32": (np.array([1.5, 2], np.float32), "number"),
    "bool": ([True, False], "boolean"),
    "nullable Int64": (pd.array([1, None], dtype="Int64"), "number"),
    "nullable Float64": (pd.array([1.5, None], dtype="Float64"), "number"),
    "nullable boolean": (pd.array([True, None], dtype="boolean"), "boolean"),
    "string": (pd.array(["a", None], dtype="string"), "category"),
    "text": (["a", "b"], "category"),
    "object text": (np.array(["a", None], object), "category"),
    "object numbers": (np.array([1, 2.5, None], object), "number"),
    "object booleans": (np.array([True, None, False], object), "boolean"),
    "object dates": (np.array([dt.date(2024, 1, 1), None], object), "date"),
    "decimals": (np.array([decimal.Decimal("1.5"), None], object), "number"),
    "category of text": (pd.Categorical(["x", None, "x"], categories=["x", "unused"]), "category"),
    "category of numbers": (pd.Categorical([3, 1]), "category"),
    "datetime": (pd.to_datetime(["2024-01-01", None]), "date"),
    "datetime with zone": (pd.to_datetime(["2024-01-01T12:00+02:00"]), "date"),
    "arrow int": (pd.array([1, None], dtype=pd.ArrowDtype(pa.int64())), "number"),
    "arrow text": (pd.array(["a", None], dtype=pd.ArrowDtype(pa.string())), "category"),
    "arrow bool": (pd.array([True, None], dtype=pd.ArrowDtype(pa.bool_())), "boolean"),
    "arrow dictionary": (
        pd.array(["a", None], dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))), "category",
    ),
    "arrow date": (pd.array([dt.date(2024, 1, 1), None], dtype=pd.ArrowDtype(pa.date32())), "date"),
    "arrow timestamp": (pd.array([dt.datetime(2024, 1, 1), None], dtype=pd.ArrowDtype(pa.timestamp("us"))), "date"),
    "arrow decimal": (
        pd.array([decimal.Decimal("1.50"), None], dtype=pd.ArrowDtype(pa.decimal128(9, 2))), "number",
    ),
    "sparse": (pd.arrays.SparseArray([0.0, 1.0, 0.0]), "number"),
    "all None": ([None, None], "category"),
}  # fmt: skip


@pytest.mark.parametrize("case", KINDS)
def test_a_column_is_what_its_type_says_and_can_be_read(case):
    values, kind = KINDS[case]
    frame = pd.DataFrame({"c": pd.Series(values)})
    assert kind_of(frame["c"]) == kind
    feature = learn_features(frame)[0]
    found = read_feature(frame, feature)
    assert found.shape == (len(frame),)
    missing = np.isnan(found) if found.dtype == np.float64 else found == -1
    assert missing.tolist() == frame["c"].isna().tolist()


@pytest.mark.parametrize("case", KINDS)
def test_every_kind_of_column_trains_and_predicts(case):
    values, _ = KINDS[case]
    column = pd.Series(values).take(np.arange(60) % len(values)).reset_index(drop=True)
    X = pd.DataFrame({"c": column, "x": np.arange(60.0)})
    model = GAMRegressor(max_rounds=3, random_state=0).fit(X, np.arange(60.0))
    assert np.isfinite(model.predict(X)).all()
    model.explain_shape("c").frame()


REFUSED = {
    "complex": ([1j, 2], "omplex"),
    "object complex": (np.array([1j, None], object), "omplex"),
    "nested": (pd.Series([[1], [2]]), "nests"),
    "dicts": (pd.Series([{"a": 1}, {"a": 2}]), "nests"),
    "bytes": (pd.Series([b"a", b"b"]), "nests"),
    "numbers and text": (pd.Series([1, "a"]), "see row 1"),
    "infinite": ([1.0, np.inf], "1 infinite"),
    "minus infinite": ([-np.inf, np.inf], "2 infinite"),
    "durations": (pd.to_timedelta([1, 2], unit="D"), "durations"),
    "periods": (pd.period_range("2024-01", periods=2, freq="M"), "periods"),
    "arrow list": (pd.array([[1], [2]], dtype=pd.ArrowDtype(pa.list_(pa.int64()))), "flatten"),
    "arrow struct": (pd.array([{"a": 1}], dtype=pd.ArrowDtype(pa.struct([("a", pa.int64())]))), "flatten"),
    "arrow time": (pd.array([dt.time(1)], dtype=pd.ArrowDtype(pa.time64("us"))), "flatten"),
    "half a letter": (pd.Series(["\ud800", "b"], dtype=object), "surrogate"),
    "categories of bytes": (pd.Categorical([b"a", b"b"]), "text"),
}


def read_all(frame):
    return [read_feature(frame, feature) for feature in learn_features(frame)]


@pytest.mark.parametrize("case", REFUSED)
def test_unusable_columns_are_refused_by_name(case):
    values, word = REFUSED[case]
    frame = pd.DataFrame({"culprit": pd.Series(values)})
    with pytest.raises(TableError) as caught:
        read_all(frame)
    message = str(caught.value)
    assert word in message
    assert "culprit" in message or "category" in message
    assert message.endswith(".")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("frame", "word"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "'a' is used 2 times, at positions [0, 1]"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), "used 2 times"),
        (pd.DataFrame(), "no rows"),
        (pd.DataFrame({"a": []}), "no rows"),
        (pd.DataFrame(index=[0, 1]), "no columns"),
        (pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])), "levels"),
        (np.zeros(3), "Reshape"),
        (np.zeros((2, 2, 2)), "Reshape"),
        ([[1, 2], [1]], "one cell per column"),
        (pd.DataFrame([[1]], columns=pd.Index(["\ud800"], dtype=object)), "unpaired surrogate"),
    ],
)
def test_unusable_tables_are_refused(frame, word):
    with pytest.raises(TableError, match=r".") as caught:
        as_frame(frame)
    assert word in str(caught.value)


def test_categories_by_choice():
    frame = pd.DataFrame({"code": [3, 1, 2, 3, None]})
    assert learn_features(frame)[0].kind == "number"
    feature = learn_features(frame, ["code"])[0]
    assert feature.levels == ("1", "2", "3")
    assert read_feature(frame, feature).tolist() == [2, 0, 1, 2, -1]
    with pytest.raises(TableError, match="no feature"):
        learn_features(frame, ["other"])


def test_levels_that_print_alike_are_one():
    frame = pd.DataFrame({"c": pd.Series(["1", "2"])})
    feature = learn_features(frame)[0]
    assert read_feature(pd.DataFrame({"c": pd.Series([1.0, 2.0, 9.0])}).astype("category"), feature).tolist() == [
        0,
        1,
        -2,
    ]


def test_dates_are_days_with_parts_on_request():
    frame = pd.DataFrame({"d": pd.to_datetime(["1970-01-02 12:00", None, "2024-03-04 00:00"])})
    features = learn_features(frame, date_parts=True)
    assert [f.name for f in features] == ["d", "d (month)", "d (weekday)"]
    days, month, weekday = (read_feature(frame, f) for f in features)
    assert days[0] == 1.5
    assert np.isnan(days[1])
    assert month.tolist() == [0, -1, 2]
    assert weekday.tolist() == [4, -1, 0]


def test_booleans_read_what_looks_like_them_later():
    feature = Feature("b", "b", "boolean", levels=("False", "True"))
    for values in ([True, False, None], [1, 0, None], ["True", "False", None]):
        assert read_feature(pd.DataFrame({"b": pd.Series(values, dtype=object)}), feature).tolist() == [1, 0, -1]
    assert read_feature(pd.DataFrame({"b": [2]}), feature).tolist() == [-2]


def test_a_column_that_changed_its_kind_is_refused_at_prediction():
    model = GAMRegressor(max_rounds=2).fit(pd.DataFrame({"a": np.arange(30.0)}), np.arange(30.0))
    with pytest.raises(TableError, match="was a number in training and is a category now"):
        model.predict(pd.DataFrame({"a": ["x"] * 3}))
    with pytest.raises(TableError, match="infinite"):
        model.predict(pd.DataFrame({"a": [np.inf]}))
    assert np.isfinite(model.predict(pd.DataFrame({"a": [None, None]}))).all()


@pytest.mark.parametrize(
    ("y", "word"),
    [
        ([1, None, 2], "missing"),
        ([1, np.inf, 2], "infinite"),
        (["a", "b", "c"], "not a number"),
        ([1j, 2, 3], "omplex"),
        (None, "requires y"),
    ],
)
def test_unusable_regression_targets(y, word):
    with pytest.raises(TableError, match=word):
        read_numeric_target(y)


@pytest.mark.parametrize(
    ("y", "word"),
    [
        (["a", "a"], "one class"),
        (list("abcdefghijklmnopqrstu"), "21 classes, and at most 20"),
        ([0.5, 1.5], "continuous"),
        (["a", None], "missing"),
        (None, "requires y"),
    ],
)
def test_unusable_class_targets(y, word):
    with pytest.raises(TableError, match=word):
        read_class_target(y)


@pytest.mark.parametrize(
    "y",
    [[0, 1, 1], ["no", "yes", "yes"], [False, True, True], [-1.0, 1.0, 1.0], [Decimal(3), Decimal("7.0"), Decimal(7)]],
)
def test_two_classes_of_any_type(y, tmp_path):
    codes, classes = read_class_target(y)
    assert codes.tolist() == [0, 1, 1]
    assert classes.tolist() == sorted(set(y))
    model = GAMClassifier(**QUICK).fit(NUMBERS, y * 20)
    model.save(tmp_path / "m.gamx")
    assert load_model(tmp_path / "m.gamx").score(NUMBERS, y * 20) == model.score(NUMBERS, y * 20) > 0.5


def test_classes_keep_their_type():
    X = pd.DataFrame({"a": np.arange(40.0)})
    model = GAMClassifier(max_rounds=3, outer_bags=1).fit(X, np.where(X["a"] > 20, "late", "early"))
    assert set(model.predict(X)) <= {"early", "late"}


def test_the_caller_s_data_is_never_written_to():
    X = pd.DataFrame({"a": np.arange(50.0), "c": list("ab") * 25})
    y = np.arange(50.0)
    before = X.copy()
    for array in (X["a"].to_numpy(), y):
        array.flags.writeable = False
    GAMRegressor(max_rounds=3).fit(X, y).predict(X)
    pd.testing.assert_frame_equal(X, before)


def test_times_of_a_zone_are_moments_in_utc():
    frame = pd.DataFrame({"d": pd.date_range("2020-01-01", periods=3, tz="Asia/Tokyo")})
    value, month, weekday = (read_feature(frame, f) for f in learn_features(frame, date_parts=True))
    assert value.tolist() == [18261.625, 18262.625, 18263.625]
    assert month.tolist() == [11, 0, 0]
    assert weekday.tolist() == [1, 2, 3]


def test_dates_beyond_the_calendar_are_refused():
    far = pd.DataFrame({"d": np.array(["20000-01-01"], "datetime64[s]")})
    with pytest.raises(TableError, match="years 1 to 9999"):
        read_feature(far, learn_features(far)[0])


def test_classes_that_no_file_can_hold_are_refused():
    with pytest.raises(TableError, match="dates"):
        read_class_target(pd.to_datetime(["2024-01-01", "2024-01-02"]))
    with pytest.raises(TableError, match="1e150"):
        read_numeric_target([1e200, 0.0])


def masked(values, *gone):
    mask = np.zeros(np.shape(values), bool)
    for place in gone:
        mask[place] = True
    return np.ma.masked_array(values, mask=mask)


def test_a_masked_cell_is_missing_whatever_is_below_the_mask():
    values = np.arange(120.0).reshape(60, 2)
    values[5, 0] = 1e6
    for X in (masked(values, (5, 0)), masked(values.astype(int), (5, 0))):
        model = GAMRegressor(**QUICK).fit(X, np.arange(60.0))
        assert model.model_.bins[0].high == 118
        assert model.model_.terms[0].counts[0] == 1


NUMBERS = pd.DataFrame({"a": np.arange(60.0)})
ODD_ROWS = {
    "masked target": (np.arange(60.0), {"y": masked(np.arange(60.0), 0)}, "target is missing"),
    "masked weights": (np.arange(60.0), {"sample_weight": masked(np.ones(60), 0)}, "sample_weight has 1 masked rows"),
    "masked groups": (np.arange(60.0), {"groups": masked(np.arange(60), 0)}, "groups has 1 masked rows"),
    "groups of two dimensions": (np.arange(60.0), {"groups": np.zeros((60, 2))}, "2 dimensions"),
    "weights beyond a number": (
        np.arange(60.0),
        {"sample_weight": np.full(60, 1e308)},
        "overflow when they are summed",
    ),
    "durations": (pd.to_timedelta(np.arange(60), unit="D"), {}, "^The target holds durations"),
    "a signalling NaN": ([Decimal("sNaN"), Decimal(1)] * 30, {}, "^The target should hold numbers"),
    "mixed": (np.array([1, "a"] * 30, object), {}, "^The target mixes"),
}


@pytest.mark.parametrize("case", ODD_ROWS)
def test_odd_targets_and_weights_are_refused_in_words(case):
    y, options, words = ODD_ROWS[case]
    with pytest.raises(TableError, match=words):
        GAMRegressor(**QUICK).fit(NUMBERS, **{"y": y, **options})


def test_odd_classes_are_refused_in_words():
    for y, words in (
        (["\ud800", "a"] * 30, "unpaired surrogate"),
        (np.array(["\ud800", "a"] * 30, object), "unpaired surrogate"),
        (np.array([b"a", b"b"] * 30), "label them with strings"),
        ([10**30, 1] * 30, "a class that is int '1000"),
        (pd.Series(pd.cut(np.arange(60), 2)), "a class that is Interval '\\(.*: label them with strings"),
        (masked(np.arange(60) % 2, 0), "target is missing"),
        (pd.to_timedelta(np.arange(60) % 2, unit="D"), "^The target holds durations"),
        (np.array([1, "a"] * 30, object), "^The target mixes"),
    ):
        with pytest.raises(TableError, match=words):
            GAMClassifier(**QUICK).fit(NUMBERS, y)


def test_columns_of_odd_cells_are_refused_by_name():
    for cells in (
        [Decimal("sNaN"), Decimal(1)] * 30,
        pd.arrays.ArrowExtensionArray(pa.array([1, 2] * 30).dictionary_encode()),
    ):
        with pytest.raises(TableError, match="Column 'odd'"):
            GAMRegressor(**QUICK).fit(NUMBERS.assign(odd=cells), np.arange(60.0))
    with pytest.raises(TableError, match="unpaired surrogate"):
        GAMRegressor(**QUICK).fit(np.array([["\ud800"], ["a"]] * 30, object), np.arange(60.0))


def test_scales_lines_and_rows_that_are_none_are_refused():
    regressor = GAMRegressor(**QUICK).fit(NUMBERS, np.arange(60.0))
    classifier = GAMClassifier(**QUICK).fit(NUMBERS, np.arange(60) > 30)
    for model in (regressor, classifier):
        with pytest.raises(ValueError, match="scale is 'bogus'"):
            model.explain_shape("a").on("bogus")
        with pytest.raises(ValueError, match="scale is 'bogus'"):
            model.importance("bogus")
    for rows, line, words in ((2, 0.0, "2 rows"), (1, np.nan, "line is nan"), (1, np.inf, "line is inf")):
        with pytest.raises(TableError, match=words):
            smallest_changes(regressor, NUMBERS.head(rows), line)


def test_a_table_is_made_once_and_knows_its_kinds(monkeypatch):
    made = Table.of(pd.DataFrame({"a": [1.0, np.nan], "b": ["x", None], "c": pd.to_datetime(["2024-01-01", None])}))
    assert Table.of(made) is made
    assert [made.kind(name) for name in made.names] == ["number", "category", "date"]

    def infer(series):
        raise AssertionError(f"{series.name} is inferred again")

    monkeypatch.setattr("gamcore.data.table.kind_of", infer)
    part = made.take(np.array([False, True]), ["b"])
    assert (len(part), part.names, part.kind("b")) == (1, ["b"], "category")
    assert part.renamed(["z"]).kind("z") == "category"
    assert "z" not in part
    with pytest.raises(AssertionError, match="again"):
        Table(made.frame).kind("a")


def test_what_is_learnt_of_some_rows_does_not_change_the_table():
    made = Table.of(pd.DataFrame({"a": np.array([None, 1, 2], object)}))
    assert made.take(np.array([True, False, False])).kind("a") == "category"  # a column without any value
    assert made.kind("a") == "number"


def test_a_fit_infers_each_column_once(monkeypatch):
    seen = []
    real = table.kind_of
    monkeypatch.setattr("gamcore.data.table.kind_of", lambda series: (seen.append(series.name), real(series))[1])
    X = pd.DataFrame({"a": np.arange(200.0), "b": ["x", "y"] * 100})
    GAMRegressor(outer_bags=2, max_rounds=5).fit(X, np.arange(200.0))
    assert sorted(name for name in seen if name in X) == ["a", "b"]
