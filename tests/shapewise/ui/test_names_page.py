"""Names, units and codes: edited on Data, kept with a table and its versions, and used on pages and in reports."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import roc_auc_score

from gamcore.data.codes import clear_codes
from gamcore.data.column_names import ColumnNames, Names
from gamcore.data.columns import TableError
from gamcore.decide.rules import Missing, Range
from gamcore.decide.strategies import Strategy, StrategySet
from gamcore.estimators.saved import from_saved
from gamcore.io import to_python, to_sql
from shapewise.columns.dictionary import read_dictionary, write_dictionary
from shapewise.decisions import boards as stored
from shapewise.decisions.proof import prove
from shapewise.reports.recipes import ReportItem, usual
from shapewise.reports.review import review_of
from shapewise.scoring import all_rows
from shapewise.scoring.held_out import held_out
from shapewise.scoring.score_file import Wanted, write
from shapewise.store.database import forget
from shapewise.store.workspace import Workspace
from shapewise.training import carry_over
from shapewise.training.dataset import read_data
from shapewise.training.large import TrainingPlace, fit_on_disk
from shapewise.training.spec import Spec
from shapewise.training.train import add_bands, fit, train
from tests.support.pages import captions, chart, headlines, open_page
from tests.support.spaces import frame, spec_of

NAMES = Names({
    "a": ColumnNames("Temper", "degrees", "two decimals"),
    "c": ColumnNames("Colour", levels={"p": "pink", "q": "quartz"}),
    "y": ColumnNames("Renewal", levels={"yes": "renews"}), "b": ColumnNames("Share", missing=("0.5",)),
})  # fmt: skip


@pytest.fixture(scope="session")
def named_once(tmp_path_factory):
    space = Workspace(tmp_path_factory.mktemp("named") / "space")
    table = space.tables.add(frame(1500), "people")
    space.tables.set_names(table.id, NAMES)
    model = train(space, spec_of(table.id, bands=10, changes={"max_rounds": 20, "interactions": [["a", "c"]]}))
    return space.root, table, add_bands(space, model.id)


@pytest.fixture
def named(space, named_once):
    """A workspace with a table whose columns have names, and a model of it."""
    root, table, model = named_once
    for one in (root, space.root):
        forget(one)
    shutil.rmtree(space.root)
    shutil.copytree(root, space.root)
    return space, table, model


def test_codes_are_missing_for_the_model_and_bits_are_those_of_a_table_cleared_by_hand(named):
    space, table, model = named
    by_hand = frame(1500)
    by_hand.loc[by_hand["b"] == 0.5, "b"] = np.nan
    twin = space.tables.add(by_hand, "by hand")
    # held-out rows are drawn by the table's id: fit the same rows
    plain = Spec.from_dict(model.spec)
    assert plain.codes == {table.id: {"b": ["0.5"]}}
    data = read_data(space.tables.read(twin.id), replace(plain, codes={}))
    assert space.tables.read(twin.id)["b"].equals(space.tables.read(table.id)["b"])
    wanted = fit(data, replace(plain, codes={}), bands=0)
    found = from_saved(space.models.load(model.id))
    for mine, theirs in zip(found.model_.terms, wanted.model_.terms, strict=True):
        assert np.array_equal(mine.scores, theirs.scores)
    raw = space.tables.read(table.id, {})
    assert (raw["b"] == 0.5).any()
    assert np.array_equal(found.predict_proba(raw[["a", "b", "c"]]), wanted.predict_proba(by_hand[["a", "b", "c"]]))


def test_scores_rows_and_boards_read_codes_as_missing(named, tmp_path):
    space, table, model = named
    made = StrategySet("s", (Strategy("gone", Missing("b")), Strategy("low", Range("b", None, 0.6))))
    missing = clear_codes(frame(1500), NAMES.codes())["b"].isna()
    matches = all_rows.matches(space, table.id, made).ledger(range(2))
    assert matches.raw[0] == missing.sum()
    assert all_rows.read(space, table.id, ["b"])["b"].isna().sum() == missing.sum()
    proof = prove(made, space.tables.read(table.id, {}), NAMES.codes())
    assert proof.same
    assert proof.counts.set_index("strategy").loc["gone", "SQL"] == missing.sum()
    path = tmp_path / "scored.csv"
    write(Wanted(space, table.id, "csv"), from_saved(space.models.load(model.id)), path, "", lambda share: None)
    scored = pd.read_csv(path)
    assert (scored["b"] == 0.5).any()  # the table's own cells are handed back
    cleared = scored.loc[missing.to_numpy(), "prediction"]
    wanted = from_saved(space.models.load(model.id)).predict_proba(
        clear_codes(frame(1500), NAMES.codes())[["a", "b", "c"]][missing]
    )[:, 1]
    np.testing.assert_allclose(cleared, wanted, atol=1e-12)


def test_a_large_table_is_read_with_codes_on_its_only_pass(large, tmp_path):
    space, table, _, whole = large
    space.tables.set_names(
        table.id, Names({"age": ColumnNames(missing=("20", "30")), "plan": ColumnNames(missing=("b",))})
    )
    spec = Spec(table.id, "stays", "s", ["age", "plan"], positive=["yes"], preset="fast", changes={"max_rounds": 10},
                bands=0)  # fmt: skip
    model = train(space, spec)
    cleared = clear_codes(whole.to_pandas(), {"age": ["20", "30"], "plan": ["b"]})
    by_hand = tmp_path / "by-hand.parquet"
    pq.write_table(pa.Table.from_pandas(cleared, preserve_index=False), by_hand, row_group_size=700)
    place = TrainingPlace(by_hand, tmp_path, 2**28)
    wanted, _, _ = fit_on_disk(place, cleared.iloc[:1_500:3].reset_index(drop=True), replace(spec, codes={}), {})
    found = from_saved(space.models.load(model.id)).model_
    assert [bins.feature.missing for bins in found.bins] == [("20", "30"), ("b",)]
    for mine, theirs in zip(found.terms, wanted.model_.terms, strict=True):
        assert mine.counts[0] > 10  # rows with a code are missing
        assert np.array_equal(mine.counts, theirs.counts)
        assert np.array_equal(mine.scores, theirs.scores)


def test_a_target_keeps_its_levels_when_a_code_becomes_missing(space):
    table = space.tables.add(frame(600).assign(y=np.arange(600) % 3), "codes")  # 0, 1 and 2, where 2 is unknown
    space.tables.set_names(table.id, Names({"y": ColumnNames(missing=("2",))}))
    model = train(space, spec_of(table.id, positive=["1"], bands=0))
    assert model.rows["without_target"] == 200
    assert train(space, spec_of(table.id, positive=["1.0"], bands=0)).metrics == model.metrics


def test_newer_versions_take_over_names_and_codes(named):
    space, table, _ = named
    newer, _ = carry_over.add_version(
        space, space.tables.about(table.id), lambda: space.tables.add(frame(900).drop(columns="c"), "read")
    )
    names = space.tables.names(newer.id)
    assert names.of("a").name == "Temper"
    assert names.codes() == {"b": ("0.5",)}
    assert "c" not in names.columns
    assert space.tables.read(newer.id)["b"].isna().sum() > frame(900)["b"].isna().sum()


def test_records_from_before_open(named):
    space, table, model = named
    space.edit("tables", table.id, lambda about: {k: v for k, v in about.items() if k != "names"})
    assert not space.tables.names(table.id)
    plain = {k: v for k, v in model.spec.items() if k != "codes"}
    assert Spec.from_dict(plain).codes == {}  # trained before codes: it reads the cells as they are
    assert Spec.from_dict(plain).codes_of(table.id) == {}


def test_what_cannot_be_is_refused_in_one_sentence(named):
    space, table, _ = named
    for bad, place in (
        ({"a": ColumnNames("b")}, "another column"), ({"a": ColumnNames("x"), "b": ColumnNames("x")}, "both be shown"),
    ):  # fmt: skip
        with pytest.raises(TableError, match=place):
            space.tables.set_names(table.id, Names(bad))
    held = space.tables.add(frame(700), "held")
    space.tables.hold_out_by(held.id, "who", None)
    with pytest.raises(TableError, match="held out by column 'who'"):
        space.tables.set_names(held.id, Names({"who": ColumnNames(missing=("3",))}))


def test_a_dictionary_goes_out_and_comes_back():
    kinds = {"a": "number", "b": "number", "c": "category", "y": "category", "w": "number"}
    tricky = Names({**NAMES.columns, "w": ColumnNames("=1+1", missing=("-1", "-2"))})
    again, strange = read_dictionary(write_dictionary(tricky, list(kinds)), Names(), kinds)
    assert again.to_dict() == tricky.to_dict()
    assert not strange
    text = "Column;Label;Level;Level label\na;Heat;;\nc;;p;pale\nzzz;x;;\n"
    again, strange = read_dictionary(text.encode(), NAMES, kinds)
    assert (again.of("a").name, again.of("a").unit) == ("Heat", "degrees")
    assert again.of("c").levels == {"p": "pale", "q": "quartz"}
    assert strange == ["zzz"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a,b\n1,2\n", "first line"), ("", "first line"), ("column,label\n,x\n", "Line 2"),
        ("column,format\na,roman\n", "Line 2"), ("column,missing\na,x\n", "Line 2"), ('column,label\na,"x\n', "quotes"),
        ("column,label\na,x\nb,x\n", "both be shown"),
    ],
)  # fmt: skip
def test_a_bad_dictionary_is_refused_with_its_line(text, place):
    with pytest.raises(TableError, match=place):
        read_dictionary(text.encode(), Names(), {"a": "number", "b": "number"})
    with pytest.raises(TableError, match="UTF-8"):
        read_dictionary("column\nä".encode("utf-16"), Names(), {})


def opened(table):
    app = open_page("data", table=table.id)
    app.session_state[f"names-{table.id}"] = True
    return app.run()


def typed(app, table, what, edits):
    """Type into the cells of an editor, by row; it keeps what was typed before, as a browser does."""
    key = f"names-{what}-{table.id}"
    app.session_state[f"{key}-{app.session_state[f'{key}-begun'].number}"] = {
        "edited_rows": edits, "added_rows": [], "deleted_rows": [],
    }  # fmt: skip
    return app.run()


def test_names_are_edited_on_the_page_and_stored(named):
    space, table, _ = named
    app = opened(table)
    columns = list(frame(1).columns)
    a, b, c = (columns.index(name) for name in "abc")
    app = typed(app, table, "columns", {a: {"Shown as": "Warmth", "Unit": "K"}, c: {"Means missing": "u; t"}})
    assert not app.exception
    names = space.tables.names(table.id)
    assert (names.of("a").name, names.of("a").unit, names.of("a").form) == ("Warmth", "K", "two decimals")
    assert names.of("c").missing == ("u", "t")
    assert names.of("c").levels == {"p": "pink", "q": "quartz"}
    doctor = next(d.value for d in app.dataframe if "Missing" in d.value)
    assert doctor.loc[c, "Missing"] > 0.2
    codes = {c: {"Means missing": "u; t"}}
    app = typed(app, table, "columns", codes | {a: {"Shown as": "Colour", "Unit": "K"}})
    assert "would both be shown as" in app.error[0].value
    assert space.tables.names(table.id).of("a").name == "Warmth"
    app = typed(app, table, "columns", codes | {a: {"Shown as": "Warmth"}, b: {"Means missing": "none"}})
    assert "write a number" in app.error[0].value
    app = typed(app, table, "columns", codes | {a: {"Shown as": None}})
    assert space.tables.names(table.id).of("a").name == ""
    assert app.session_state[f"names-columns-{table.id}-begun"].number == 0  # nothing typed meanwhile was lost
    space.tables.set_names(table.id, Names({"a": ColumnNames("Heat")}))  # by somebody else
    begun = f"names-columns-{table.id}-begun"
    while app.session_state[begun].stored["Shown as"][a] != "Heat":  # a page keeps names for a second
        app.run()
    assert app.session_state[begun].edited["Shown as"][a] == "Heat"


@pytest.mark.slow
def test_levels_are_edited_on_the_page(named):
    space, table, _ = named
    app = opened(table)
    app.selectbox(key=f"names-column-{table.id}-0").set_value("y").run()
    app = typed(app, table, "levels-y", {0: {"Shown as": "yes"}, 1: {"Shown as": "yes"}})
    shown = app.error[0].value if app.error else ""
    assert "shown as" in shown
    app = typed(app, table, "levels-y", {0: {"Shown as": "leaves"}, 1: {"Shown as": "stays"}})
    assert sorted(space.tables.names(table.id).of("y").levels.values()) == ["leaves", "stays"]


@pytest.mark.slow
def test_pages_say_names(named):
    _, _, model = named
    app = open_page("shapes", model=model.id, feature="a")
    assert headlines(app)[0].startswith("Temper")
    assert chart(app)["layout"]["xaxis2"]["title"]["text"] == "Temper (degrees)"
    assert "Renewal = renews" in captions(app)
    app = open_page("shapes", model=model.id, feature="c")
    assert "pink" in str(chart(app))
    listed = app.dataframe[0].value["feature"].tolist()
    assert sorted(listed) == ["Colour", "Share", "Temper"]
    app = open_page("models", model=model.id)
    settings = next(one.value for one in app.dataframe if "Setting" in one.value).set_index("Setting")["Value"]
    assert settings["Target"] == "Renewal = renews"
    assert settings["Features"] == "Temper, Share, Colour"
    assert next(one.value for one in app.dataframe if "Target" in one.value)["Target"].tolist() == ["Renewal"]
    for page in ("overview", "rows", "pairs"):
        app = open_page(page, model=model.id)
        assert not app.exception
        assert "Temper" in str([c.proto.spec for c in app.get("plotly_chart")])


def test_reports_say_names_and_code_does_not(named):
    space, _, model = named
    recipe = usual(model, ["a", "c"], None)
    recipe = replace(recipe, items=(*recipe.items, ReportItem("pair", ("a", "c"))))
    report = review_of(space, recipe, model.id)
    curves = [part.plot for part in report.parts if part.plot is not None]
    assert {"Temper", "Colour", "Temper x Colour"} <= {plot.name for plot in curves}
    assert any("pink" in plot.numbers.to_csv() for plot in curves)
    assert "Renewal = renews" in report.card
    assert ReportItem("pair", ("a", "c")).words(NAMES) == "Pair: Temper × Colour"
    estimator = from_saved(space.models.load(model.id))
    for code in (to_sql(estimator, "t"), to_python(estimator)):
        assert "Temper" not in code


def test_a_segment_is_named_by_what_it_is_called(named):
    space, table, model = named
    stored.add_segment(space, Range("a", 1.0, None).words(NAMES), rule=Range("a", 1.0, None), table=table.id,
                       scenario=(model.id, model.name), evidence=None)  # fmt: skip
    assert stored.segments(space, table.id)[0].name == "Temper at least 1.00 degrees"


def test_a_model_trained_with_other_codes_is_told_and_reads_as_it_did(named):
    space, table, model = named
    before = space.models.about(model.id).metrics
    space.tables.set_names(table.id, Names({**NAMES.columns, "b": replace(NAMES.of("b"), missing=())}))
    app = opened(table)
    assert any("Trained when other codes meant missing" in one.value for one in app.warning)
    held = held_out(space, model.id)
    assert roc_auc_score(held.y, held.predicted) == pytest.approx(before["auc"], abs=1e-12)
