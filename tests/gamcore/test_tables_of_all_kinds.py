"""Whatever holds a table is read alike by everything public that takes one: a new callable has to be named here."""

from __future__ import annotations

import importlib
import inspect
import re
from dataclasses import fields, is_dataclass

import numpy as np
import pandas as pd
import pytest

from gamcore import (
    EffectGAM,
    GAMClassifier,
    GAMRegressor,
    MultiTaskTreesClassifier,
    MultiTaskTreesRegressor,
    Sample,
    TableError,
    add_bands,
    calibration_by_group,
    compare_models,
    count_rows,
    edge_outcomes,
    fewer_curves,
    fit_intervals,
    merge_counts,
    pair_ranking,
    pair_worth,
    predict_interval,
    price_of_readability,
    rank_pairs,
    read_flow,
    report,
    rows_inside,
    scorecard,
    smallest_changes,
    suggest_segments,
    triple_worth,
    update,
)
from gamcore.additions.editing import edit, edit_price, refit_others, room_to_move
from gamcore.data.table import Table
from gamcore.decide.arms import ArmsTest, by_segment, read_arms
from gamcore.decide.by_day import by_day
from gamcore.decide.rules import EVERYBODY, All, AnyOf, Levels, Missing, Not, Range
from gamcore.decide.rules_code import kinds_of
from gamcore.decide.strategies import Strategy, StrategySet
from gamcore.distributed.mapping import predict_pieces
from gamcore.estimators.effect import arms_apart, expected_outcomes
from gamcore.estimators.recourse import recourse
from gamcore.estimators.relativities import relativities
from gamcore.estimators.scorecard import monitor, total_points
from gamcore.explain.surfaces import Rectangle
from gamcore.io.reasons import tell, with_reasons
from gamcore.io.score_json import from_json, to_json
from gamcore.stats.column_drift import what_moved
from tests.support.gears import mostly_slow
from tests.support.places import ROOT

pytestmark = pytest.mark.filterwarnings("ignore:X .* feature names")  # scikit-learn's word on arrays after frames

N = 240
NAMES = ("x0", "x1", "x2", "x3")


def numbers():
    rng = np.random.default_rng(0)
    cells = rng.normal(size=(N, 4)).round(2)
    cells[:, 3] = rng.integers(0, 2, N)
    cells[::17, 0] = np.nan
    return pd.DataFrame(cells, columns=list(NAMES))


class Stream:
    """A table of a library that is known only by Arrow's interface."""

    def __init__(self, frame):
        self.frame = frame

    def __arrow_c_stream__(self, requested_schema=None):
        import pyarrow as pa

        return pa.Table.from_pandas(self.frame, preserve_index=False).__arrow_c_stream__(requested_schema)


def of_polars(frame):
    pl = pytest.importorskip("polars")
    return pl.DataFrame({name: frame[name].to_numpy() for name in frame}, nan_to_null=True)


def of_arrow(frame):
    pa = pytest.importorskip("pyarrow")
    return pa.Table.from_pandas(frame, preserve_index=False)


def of_duckdb(frame):
    duckdb = pytest.importorskip("duckdb")
    return duckdb.connect().from_arrow(of_arrow(frame))


KINDS = {
    "an array": lambda frame: frame.to_numpy(),
    "a masked array": lambda frame: np.ma.masked_invalid(frame.to_numpy()),
    "lists of rows": lambda frame: frame.to_numpy().tolist(),
    "a dict of arrays": lambda frame: {name: frame[name].to_numpy() for name in frame},
    "a dict of lists": lambda frame: frame.to_dict("list"),
    "a polars frame": of_polars,
    "a lazy polars frame": lambda frame: of_polars(frame).lazy(),
    "an Arrow table": of_arrow,
    "a stream of Arrow batches": lambda frame: of_arrow(frame).to_reader(),
    "a DuckDB relation": of_duckdb,
    "any Arrow stream": Stream,
    "a Table": Table.of,
}
"""Writings of a table of numbers. A dict has a table per task where tasks are learnt, so it is refused there."""

FRAME = numbers()
Y = (FRAME["x1"] + 0.3 * FRAME["x2"] + np.random.default_rng(1).normal(size=N) * 0.1).to_numpy()
YES = (Y > 0).astype(int)
COUNTS = np.random.default_rng(2).poisson(np.exp(0.5 * FRAME["x1"]))
FEW = {"random_state": 0, "max_rounds": 8, "outer_bags": 3}
PAIRS = [("x0", "x1")]
LINE = Range("x1", 0.0)
TEST = ArmsTest(arm="x3", control="0", metrics={"x2": "primary"})


def fitted(kind, y, **more):
    return kind(**FEW, **more).fit(FRAME, y)


@pytest.fixture(scope="module")
def models():
    made = {
        "regressor": fitted(GAMRegressor, Y, interactions=PAIRS),
        "counts": fitted(GAMRegressor, COUNTS, objective="poisson"),
        "classifier": fitted(GAMClassifier, YES, interactions=PAIRS),
        "tasks": fitted(MultiTaskTreesRegressor, Y),
        "task classes": fitted(MultiTaskTreesClassifier, YES),
        "effects": EffectGAM(**FEW).fit(FRAME[["x0", "x1", "x2", "x3"]], Y, treatment=np.arange(N) % 2),
    }
    made["counted"] = GAMRegressor(**FEW, keep_tables=True).fit(FRAME, Y)
    made["intervals"] = fit_intervals(fitted(GAMRegressor, Y), FRAME, Y)
    made["card"] = scorecard(made["classifier"])
    made["reasons"] = with_reasons(made["classifier"], FRAME, 0.5)
    made["formula"] = from_json(to_json(made["regressor"]))
    return made


def learnt(model):
    """What a fitted model predicts, to compare two."""
    return model.predict(FRAME)


def again(kind, y, **more):
    return lambda m, X: learnt(kind(**FEW, **more).fit(X, y))


def copied(model):
    from copy import deepcopy

    return deepcopy(model)


STRATEGIES = StrategySet("s", (Strategy("a", LINE),))
of_model = {
    "predict": lambda name: lambda m, X: m[name].predict(X),
    "predict_proba": lambda name: lambda m, X: m[name].predict_proba(X),
    "decision_function": lambda name: lambda m, X: m[name].decision_function(X),
    "explain_rows": lambda name: lambda m, X: m[name].explain_rows(X),
}
CALLS = {
    "GAMRegressor.fit": again(GAMRegressor, Y),
    "GAMClassifier.fit": again(GAMClassifier, YES),
    "MultiTaskTreesRegressor.fit": again(MultiTaskTreesRegressor, Y),
    "MultiTaskTreesClassifier.fit": again(MultiTaskTreesClassifier, YES),
    "EffectGAM.fit": lambda m, X: learnt(EffectGAM(**FEW).fit(X, Y, treatment=np.arange(N) % 2)),
    "GAMRegressor.predict": of_model["predict"]("regressor"),
    "GAMClassifier.predict": of_model["predict"]("classifier"),
    "GAMClassifier.predict_proba": of_model["predict_proba"]("classifier"),
    "GAMClassifier.decision_function": of_model["decision_function"]("classifier"),
    "MultiTaskTreesRegressor.predict": of_model["predict"]("tasks"),
    "MultiTaskTreesClassifier.predict": of_model["predict"]("task classes"),
    "MultiTaskTreesClassifier.predict_proba": of_model["predict_proba"]("task classes"),
    "MultiTaskTreesClassifier.decision_function": of_model["decision_function"]("task classes"),
    "GAMRegressor.explain_rows": of_model["explain_rows"]("regressor"),
    "MultiTaskTreesRegressor.explain_rows": of_model["explain_rows"]("tasks"),
    "add_bands": lambda m, X: add_bands(copied(m["regressor"]), X, Y, n_refits=10).explain_shape("x1"),
    "pair_ranking": lambda m, X: pair_ranking(m["regressor"], X, Y),
    "pair_worth": lambda m, X: pair_worth(m["regressor"], X, Y),
    "triple_worth": lambda m, X: triple_worth(m["regressor"], X, Y),
    "rows_inside": lambda m, X: rows_inside(
        m["regressor"], X, m["regressor"].explain_pair("x0", "x1"), Rectangle((0, 3), (0, 40))
    ),
    "smallest_changes": lambda m, X: [
        change.words for change in smallest_changes(m["regressor"], X, float(np.quantile(Y, 0.9)))
    ],
    "GAMRegressor.report": lambda m, X: Path_of(m["regressor"], X),
    "GAMRegressor.score": lambda m, X: m["regressor"].score(X, Y),
    "fit_intervals": lambda m, X: predict_interval(fit_intervals(copied(m["regressor"]), X, Y), FRAME),
    "predict_interval": lambda m, X: predict_interval(m["intervals"], X),
    "count_rows": lambda m, X: learnt(merge_counts(copied(m["counted"]), count_rows(m["counted"], X, Y))),
    "update": lambda m, X: learnt(update(copied(m["counted"]), X, Y)),
    "GAMRegressor.edit_price": lambda m, X: edit_price(m["regressor"], X, Y),
    "GAMRegressor.refit_others": lambda m, X: learnt(
        refit_others(edit(copied(m["regressor"]), "x1", "rising", reason="known"), X, Y)
    ),
    "GAMRegressor.room_to_move": lambda m, X: room_to_move(m["regressor"], X, Y),
    "arms_apart": lambda m, X: arms_apart(X, np.arange(N) % 2, random_state=0),
    "expected_outcomes": lambda m, X: expected_outcomes(X, Y, random_state=0),
    "rank_pairs": lambda m, X: rank_pairs(X, Y, random_state=0),
    "price_of_readability": lambda m, X: price_of_readability(
        m["regressor"], X, Y, held_out=np.arange(N) % 4 == 0
    ).frame(),
    "calibration_by_group": lambda m, X: calibration_by_group(
        m["regressor"], X, Y, held_out=np.arange(N) % 4 == 0
    ).frame(),
    "compare_models": lambda m, X: compare_models(m["regressor"], m["intervals"], X, Y).frame(),
    "fewer_curves": lambda m, X: fewer_curves(m["regressor"], X, Y),
    "suggest_segments": lambda m, X: suggest_segments(m["regressor"], X, Y),
    "relativities": lambda m, X: relativities(m["counts"], {"all": Sample(X, COUNTS)}),
    "scorecard": lambda m, X: scorecard(m["classifier"], X, YES),
    "total_points": lambda m, X: total_points(m["card"], X),
    "monitor": lambda m, X: monitor(m["card"], X, FRAME),
    "monitor, now": lambda m, X: monitor(m["card"], FRAME, X),
    "with_reasons": lambda m, X: with_reasons(m["classifier"], X, 0.5).reasons,
    "tell": lambda m, X: tell(m["reasons"], X),
    "recourse": lambda m, X: recourse(m["classifier"], X, 0.0),
    "Formula.score": lambda m, X: m["formula"].score(X),
    "Formula.predict": lambda m, X: m["formula"].predict(X),
    "what_moved": lambda m, X: what_moved(X, FRAME),
    "Range.holds": lambda m, X: LINE.holds(X),
    "Rule.holds": lambda m, X: EVERYBODY.holds(X),
    "Levels.holds": lambda m, X: Levels("x3", ("1",)).holds(X),
    "Missing.holds": lambda m, X: Missing("x0").holds(X),
    "All.holds": lambda m, X: All((LINE, Missing("x0"))).holds(X),
    "AnyOf.holds": lambda m, X: AnyOf((LINE, Missing("x0"))).holds(X),
    "Not.holds": lambda m, X: Not(LINE).holds(X),
    "StrategySet.assign": lambda m, X: STRATEGIES.assign(X),
    "StrategySet.ledger": lambda m, X: STRATEGIES.ledger(X),
    "StrategySet.matches": lambda m, X: STRATEGIES.matches(X),
    "kinds_of": lambda m, X: kinds_of(X, ["x0"]),
    "read_arms": lambda m, X: read_arms(X, TEST),
    "by_segment": lambda m, X: by_segment(X, TEST, "x2", "x1"),
    "read_flow": lambda m, X: read_flow(X, "x3", "x3", "x0"),
    "edge_outcomes": lambda m, X: edge_outcomes(X, "x3", "x3", "x0", edge=("1", None)),
    "by_day": lambda m, X: by_day(X, TEST, "x2", "x0"),
    "predict_pieces": lambda m, X: predict_pieces(m["regressor"], X),
}
"""What is asked of every public callable that takes a table. Methods are named after the class that defines them, or
the first of the list that inherits them."""

OF_TASKS = {name for name in CALLS if name.startswith("MultiTask") and "explain" not in name}
"""They take a dict of the tasks' tables."""

OF_PIECES = {"write_predictions", "over_pieces", "gather", "pieces"}
"""They take pieces, which are paths, Dask dataframes or lists of frames."""

TABLES = {"X", "X_holdout", "frame", "then", "now", "row"}


def Path_of(model, X):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        return re.sub(r"id=.*?>|#[\w-]+", "", report(model, Path(folder) / "r.html", X, Y).read_text())


def public_callables():
    """Every documented function, and every method of a documented class, that takes a table."""
    for page in sorted((ROOT / "docs" / "api").glob("*.md")):
        for name in re.findall(r"^::: (\S+)", page.read_text(encoding="utf-8"), re.MULTILINE):
            module, _, last = name.rpartition(".")
            try:
                found = getattr(importlib.import_module(module), last)
            except (ImportError, AttributeError):
                continue
            listed = [(last, found)]
            if inspect.isclass(found):
                listed = [(f"{last}.{k}", v) for k, v in inspect.getmembers(found, inspect.isfunction) if k[0] != "_"]
            for called, function in listed:
                taken = inspect.signature(function).parameters if inspect.isroutine(function) else {}
                tables = [p for p in taken if p in TABLES and not str(taken[p].annotation).startswith(("int", "str"))]
                if tables:
                    yield called, function


def test_every_public_callable_that_takes_a_table_is_asked():
    asked = {name.partition(",")[0] for name in CALLS}
    known = {name.rpartition(".")[2] for name in asked}
    missing = {
        name for name, _ in public_callables()
        if name not in asked and name.rpartition(".")[2] not in known | OF_PIECES
    }  # fmt: skip
    assert not missing, f"say in CALLS how they are called: {sorted(missing)}"
    assert len(asked) > 40


def same(first, second):
    """Assert that two results are equal, whatever they are made of."""
    assert type(first) is type(second)
    if isinstance(first, pd.DataFrame):
        pd.testing.assert_frame_equal(first, second)
    elif isinstance(first, pd.Series):
        pd.testing.assert_series_equal(first, second)
    elif is_dataclass(first):
        for field in fields(first):
            same(getattr(first, field.name), getattr(second, field.name))
    elif isinstance(first, list | tuple):
        assert len(first) == len(second)
        for one, other in zip(first, second, strict=True):
            same(one, other)
    elif isinstance(first, dict):
        assert list(first) == list(second)
        for name in first:
            same(first[name], second[name])
    elif isinstance(first, np.ndarray | float | int | str | np.generic) or first is None:
        np.testing.assert_array_equal(first, second)
    else:
        assert repr(first) == repr(second)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", mostly_slow(CALLS, 12))
def test_a_table_of_any_kind_is_read_as_a_frame_is(name, models):
    rows = FRAME.iloc[[5]] if "smallest" in name else FRAME
    wanted = CALLS[name](models, rows)
    for kind, write in KINDS.items():
        if name in OF_TASKS and kind.startswith("a dict"):
            with pytest.raises(TableError):
                CALLS[name](models, write(rows))
            continue
        try:
            same(CALLS[name](models, write(rows)), wanted)
        except AssertionError as error:
            raise AssertionError(f"{name} of {kind}: {error}") from error


TEXTS = ("large_string", "string_view", "string")


@pytest.mark.parametrize("kind", ["large_string", "string_view", "string", "dictionary", "polars"])
def test_texts_dates_and_booleans_of_other_libraries_are_levels_and_days(kind):
    pa = pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    days = pd.date_range("2024-01-01", periods=N).to_numpy().astype("datetime64[us]")
    frame = pd.DataFrame({
        "c": rng.choice([*"abc", None], N), "d": days, "b": rng.choice([True, False, None], N),
        "n": pd.array(rng.choice([1, 2, None], N), "Int64"),
    })  # fmt: skip
    table = pa.Table.from_pandas(frame, preserve_index=False)
    place = table.schema.get_field_index("c")
    if kind == "polars":
        pl = pytest.importorskip("polars")
        table = pl.from_arrow(table).with_columns(pl.col("c").cast(pl.Categorical), pl.col("d").cast(pl.Date))
    elif kind == "dictionary":
        table = table.set_column(place, "c", table["c"].dictionary_encode())
    else:
        table = table.set_column(place, "c", table["c"].cast(getattr(pa, kind)()))
    model = GAMRegressor(**FEW).fit(frame, np.arange(N))
    np.testing.assert_array_equal(model.predict(table), model.predict(frame))
    np.testing.assert_array_equal(GAMRegressor(**FEW).fit(table, np.arange(N)).predict(frame), model.predict(frame))


@pytest.mark.parametrize("odd", [
    "text", 3, None, {"x0": [1, 2], "x1": [1]}, {"x0": 1}, [1, 2, 3], pd.Series([1.0, 2.0]), np.zeros(3), object(), {},
    "a series of polars", "a nested column",
], ids=lambda odd: type(odd).__name__)  # fmt: skip
def test_what_is_no_table_is_refused_in_words(odd, models):
    if isinstance(odd, str) and odd == "a series of polars":
        odd = pytest.importorskip("polars").Series([1.0, 2.0])
    elif isinstance(odd, str) and odd == "a nested column":
        odd = pytest.importorskip("pyarrow").table({name: [[1], [2]] for name in NAMES})
    for read in (models["formula"].predict, LINE.holds, lambda X: total_points(models["card"], X)):
        with pytest.raises(TableError) as refused:
            read(odd)
        assert str(refused.value).endswith(".")
