"""Reasons of stored models: texts and sensitive columns of the table, the line of the model, files and letters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamcore.common.numbers import read
from gamcore.data.binning import bin_table
from gamcore.data.column_names import AS_THEY_ARE, ColumnNames, Names
from gamcore.data.table import Table, learn_features
from gamcore.estimators.recourse import recourse
from gamcore.estimators.saved import from_saved
from gamcore.explain.counterfactuals import Possible
from gamcore.io.reasons import tell
from shapewise.reports import file_jobs as packs
from shapewise.scoring.reasons import (
    FIELD,
    LETTER,
    MOST_CELL,
    MOST_LETTER,
    OPENINGS,
    Telling,
    cell_text,
    explained,
    fields_of,
    is_sensitive,
    letter,
    telling,
    usual_line,
    wrong_in,
)
from shapewise.scoring.score_file import Wanted, telling_formula, write
from shapewise.store.atomic_files import size_of
from shapewise.store.workspace import StoreError
from shapewise.training.spec import Spec
from shapewise.training.train import read_all, train
from tests.support.packs import wait
from tests.support.pages import open_page


def texts_for(space, table):
    names = Names({
        "age": ColumnNames(name="Age", sensitive=False, up="Your age speaks for it", down="Your age speaks against it"),
        "plan": ColumnNames(sensitive=True),
    })  # fmt: skip
    space.tables.set_names(table.id, names)
    return names


def test_what_is_told_is_kept_with_the_table_and_how_with_the_model(sure):
    space, table, model, other = sure
    texts_for(space, table)
    assert telling(space.models.about(model.id), 0.4) == Telling(0.4)
    space.models.set_reasons(model.id, Telling(0.7, "best", 2, "Hello {Age}").to_dict())
    kept = telling(space.models.about(model.id), 0.4)
    assert kept == Telling(0.7, "best", 2, "Hello {Age}")
    formula = telling_formula(space, model.id)
    each = {one.name: one for one in formula.reasons.each}
    assert (each["age"].up, each["age"].down) == ("Your age speaks for it", "Your age speaks against it")
    assert each["plan"].sensitive
    assert not each["age"].sensitive
    assert each["balance"].up == "balance raises it"
    assert formula.reasons.most == 2
    assert telling_formula(space, other.id).reasons.most == 2  # it has two features alone
    again = Names.from_dict(space.tables.names(table.id).to_dict())
    assert again.of("plan").sensitive
    assert again.of("age").up == "Your age speaks for it"


def test_a_name_says_what_is_sensitive_until_people_do():
    names = Names({"plan": ColumnNames(sensitive=True), "sex": ColumnNames(sensitive=False)})
    assert is_sensitive(names, ["age", "sex", "plan", "balance"]) == {
        "age": True, "sex": False, "plan": True, "balance": False,
    }  # fmt: skip


def test_the_usual_line_is_the_base_rate(sure):
    space, _, model, _ = sure
    data = read_all(space, Spec.from_dict(model.spec))
    rate = data.y[~data.held_out].mean()
    assert usual_line(model, from_saved(space.models.load(model.id))) == pytest.approx(rate, abs=0.006)


@pytest.mark.slow
def test_the_line_of_an_effect_is_none(moved):
    space, _, about = moved
    assert usual_line(about, from_saved(space.models.load(about.id))) == 0.0
    made = tell(telling_formula(space, about.id), read_all(space, Spec.from_dict(about.spec)).X)
    assert made["decision"].mean() > 0.5
    assert set(made["reason 1"].dropna()) <= {f"{name} {way} it" for name in ("days_away", "app", "age")
                                               for way in ("raises", "lowers")}  # fmt: skip


def filled(column):
    return ["" if pd.isna(cell) else cell for cell in column]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_scored_file_has_reasons_review_and_letters(sure, kind):
    space, table, model, _ = sure
    texts_for(space, table)
    space.models.set_reasons(
        model.id,
        Telling(0.6, letter=f"{LETTER}Age {{Age}} or {{age}}, since {{since}}, {{prediction}}", helps="no").to_dict(),
    )
    made = wait(space, packs.start_scores(space, model.id, table.id, kind, for_decision=True, letter=True))
    file = pd.read_parquet(made.path) if kind == "parquet" else pd.read_csv(made.path, encoding="utf-8-sig")
    wanted = tell(telling_formula(space, model.id), space.tables.read(table.id))
    assert (file["decision"] == np.where(wanted["decision"], "yes", "no")).all()
    assert ((file["prediction"] >= 0.6) == wanted["decision"].to_numpy()).all()
    for k in range(1, 5):
        assert filled(wanted[f"reason {k}"]) == filled(file[f"reason {k}"])
        np.testing.assert_allclose(file[f"push {k} (log-odds)"], wanted[f"push {k} (log-odds)"], atol=1e-9)
    assert filled(file["review"]) == filled(wanted["review"])
    assert "plan" in set(file["review"].dropna())
    first = file.iloc[0]
    openings = file["letter"].str.split("\n").str[2]
    good = file["decision"] == "no"  # yes is bad for the person here
    assert good.any()
    assert not good.all()
    assert (openings == good.map({on: f"we have looked at your case. {words}" for on, words in OPENINGS.items()})).all()
    assert f"1. {first['reason 1']}" in first["letter"]
    since = str(pd.Timestamp(first["since"]).date())
    assert first["letter"].endswith(f"Age {first['age']} or {first['age']}, since {since}, {first['prediction']:.1%}")
    assert "effect 1 (log-odds)" not in file


def test_a_model_of_several_classes_tells_none(space):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=900), "y": rng.choice(["x", "y", "z"], 900)})
    table = space.tables.add(frame, "three", [])
    model = train(space, Spec(table.id, "y", "three", ["a"], goal="classes", preset="fast", changes={"max_rounds": 5}))
    with pytest.raises(StoreError, match="several classes has no line"):
        packs.start_scores(space, model.id, table.id, "csv", for_decision=True)


def test_a_letter_names_the_fields_that_there_are_not():
    template = "Dear {name}, {decision}: {decision} {odd, {Age}, {age}"
    names = Names({"age": ColumnNames(name="Age", unit="years")})
    fields = fields_of(names, {"age": 31, "decision": 5}, {"decision": "no"})  # a column cannot hide the answer
    assert letter(template, fields) == "Dear {name}, no: no {odd, 31 years, 31 years"
    assert "The letter names {name}, which is no column" in wrong_in(template, names, ["age"])
    assert "A brace of the letter has no partner" in wrong_in("{decision} {odd", names, ["age"])
    assert "A brace of the letter has no partner" in wrong_in("{decision}}", names, ["age"])
    assert wrong_in("{decision} {Age} {age}", names, ["age"]) == ""


def test_a_letter_with_an_unknown_field_is_not_sent(sure):
    space, table, model, _ = sure
    with pytest.raises(StoreError, match="which answer is good for the person: letters open with it"):
        packs.start_scores(space, model.id, table.id, "csv", for_decision=True, letter=True)
    with pytest.raises(StoreError, match="which answer is good for the person: changes lead to it"):
        packs.start_scores(space, model.id, table.id, "csv", changes=True)
    space.models.set_reasons(model.id, {"letter": "Dear {customer}", "helps": "yes"})
    with pytest.raises(StoreError, match=r"The letter names \{customer\}, which is no column of the table"):
        packs.start_scores(space, model.id, table.id, "csv", for_decision=True, letter=True)


def bins_of(**columns):
    """The bins of some columns."""
    X = pd.DataFrame(columns)
    return bin_table(X, learn_features(Table(X)), max_bins=7).bins


def test_what_people_call_sensitive_may_not_change_either():
    names = Names({"plan": ColumnNames(sensitive=True), "age": ColumnNames(sensitive=False)})
    bins = bins_of(age=[20.5, 31], plan=["a", "b"], balance=[-3, 4])
    assert Telling(0.5).possible(bins, names).fixed == ("plan",)
    assert Telling(0.5, fixed=("balance",)).possible(bins[:2], names).fixed == ("balance",)


def test_the_past_may_not_change_until_somebody_says_so():
    bins = bins_of(LatePayments=[1, 2], income=[900, 1800.5], when=pd.to_datetime(["2024-05-01", "2031-01-02"]),
                   first=[1999, 2003], rooms=[1, 2])  # fmt: skip
    assert Telling(0.5).possible(bins, Names()).fixed == ("LatePayments", "when", "first")
    assert Telling(0.5, fixed=()).possible(bins, Names()) == Possible(past=True, limits={})


def test_one_setting_leaves_the_others(sure):
    space, _, model, _ = sure
    space.models.set_reasons(model.id, {"line": 0.7})
    space.models.set_reasons(model.id, {"most": 2})
    assert space.models.about(model.id).reasons == {"line": 0.7, "most": 2}


def test_the_base_comes_from_training_rows(sure):
    space, _, model, _ = sure
    data = read_all(space, Spec.from_dict(model.spec))
    how = Telling(0.5)
    formula = explained(from_saved(space.models.load(model.id)), data, Names(), how)
    spoilt = replace(data, X=data.X.assign(age=np.where(data.held_out, 18, data.X["age"])))
    assert explained(from_saved(space.models.load(model.id)), spoilt, Names(), how).reasons == formula.reasons


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "xlsx"])
def test_a_scored_file_has_the_smallest_change_of_each_row(sure, kind):
    space, table, model, _ = sure
    how = Telling(0.5, fixed=("plan",), limits={"age": (20, 60)}, helps="yes")
    space.models.set_reasons(model.id, how.to_dict())
    assert telling(space.models.about(model.id), 0.1) == how
    few = space.tables.add(space.tables.read(table.id).head(120), "few", [])
    made = wait(space, packs.start_scores(space, model.id, few.id, kind, top=1, changes=True))
    file = pd.read_parquet(made.path) if kind == "parquet" else pd.read_excel(made.path, engine="openpyxl")
    fitted = from_saved(space.models.load(model.id))
    wanted = recourse(fitted, space.tables.read(few.id)[list(fitted.feature_names_in_)], 0.0, how.possible([], Names()))
    assert filled(file["change"]) == ["" if one is None else one.words for one in wanted.changes]
    assert (file.loc[file["change"].notna(), "prediction then"] > 0.5).all()
    assert (file.loc[file["change"].notna(), "prediction"] < 0.5).all()
    assert not file["change"].dropna().str.contains("plan").any()
    assert {"reason 1", "effect 1 (log-odds)", "how unusual"} <= set(file)


@pytest.mark.slow
def test_limits_are_kept_and_hold_for_many_rows(sure):
    space, _, model, _ = sure
    space.models.set_reasons(model.id, {"helps": "yes"})
    app = open_page("rows", model=model.id)
    fixed = next(one for one in app.multiselect if one.label == "Hold fixed")
    assert fixed.value == ["age"]  # by its name
    fixed.set_value(["age", "plan"]).run()
    assert space.models.about(model.id).reasons["fixed"] == ["age", "plan"]
    app.session_state[f"helped-{model.id}"] = True
    app.run()
    assert not app.exception
    text = " ".join(one.value for one in app.markdown)
    assert "of those with the other answer" in text
    table = next(one.value for one in app.dataframe if "could alone" in one.value.columns)
    assert set(table["feature"]) <= {"balance", "member"}
    again = open_page("rows", model=model.id)
    assert next(one for one in again.multiselect if one.label == "Hold fixed").value == ["age", "plan"]


@given(
    template=st.lists(
        st.sampled_from(["{c}", "{reasons}", "{none}", "{decision}", "x" * 400, "{", "}"]), max_size=2_000
    ),
    size=st.sampled_from([0, 10, 300, 301, 100_000]),
)
def test_a_letter_is_bounded_whatever_its_template_names(template, size):
    fields = fields_of(Names(), {"c": "z" * size}, {"decision": "no", "reasons": "r" * size})
    assert len(fields["c"]) <= MOST_CELL
    text = "".join(template)
    whole = FIELD.sub(lambda match: fields.get(match[1], match[0]), text)
    made = letter(text, fields)
    assert len(made) <= MOST_LETTER
    assert made == (whole if len(whole) <= MOST_LETTER else f"{whole[: MOST_LETTER - 1]}…")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "parquet", "xlsx"])
def test_a_quota_holds_while_letters_are_written(sure, kind, monkeypatch):
    """The file is never far beyond the quota, however long its letters are, and the refusal is in words."""
    space, _table, model, _ = sure
    long = space.tables.read(space.models.about(model.id).table)
    long = long.head(1_300).assign(long="z" * 5_000)
    table = space.tables.add(long, "long")
    space.models.set_reasons(model.id, Telling(0.6, letter="{long}" * 500, helps="no").to_dict())
    estimator = from_saved(space.models.load(model.id))
    sizes, into = [], space.root / f"letters.{kind}"

    def step(share):
        sizes.append(size_of(into))

    wanted = Wanted(space, table.id, kind, teller=telling_formula(space, model.id),
                    letter=telling(space.models.about(model.id), 0.6), names=Names())  # fmt: skip
    write(wanted, estimator, into, "about", step)
    assert len(sizes) >= len(long) // 500
    assert max(np.diff(sizes), default=0) <= 2 * 500 * MOST_LETTER
    file = pd.read_parquet(into) if kind == "parquet" else None
    assert file is None or file["letter"].str.len().max() <= MOST_LETTER


@given(st.integers(-(10**14), 10**14))
def test_a_whole_number_is_written_alike_whatever_the_cells_are_stored_as(n):
    """Beside a missing cell, whole numbers are floats."""
    one, other = (cell_text(AS_THEY_ARE, "area", cell) for cell in (n, float(n)))
    assert one == other or 1700 <= n <= 2100
    assert read(one) == n
    assert cell_text(AS_THEY_ARE, "customer", n, maybe_code=True) == str(n)
