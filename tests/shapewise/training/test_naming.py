"""Labels tell models of a project apart by what differs."""

from __future__ import annotations

from dataclasses import replace

from gamcore.data.column_names import ColumnNames, Names
from gamcore.decide.rules import Range
from shapewise.store.models import ModelAbout
from shapewise.store.projects import Project
from shapewise.store.tables import TableAbout
from shapewise.training.naming import labels
from tests.support.spaces import spec_of


def model(k, name="default", n_pairs=0, table="t1", **changes):
    spec = replace(spec_of(table), features=["income", "age", "sex"], preset="balanced", changes={})
    spec = replace(spec, **changes)
    return ModelAbout(
        f"{k:016x}", name, table, "credit", "y", "classifier", f"2026-01-{k:02d}", 1.0, spec=spec.to_dict(),
        n_pairs=n_pairs,
    )  # fmt: skip


def labels_of(*models, tables=()):
    """Labels of models, in the order in which they were made."""
    named = labels(Project("t1", tuple(tables), models[::-1]))
    return [named[one.id] for one in models]


def test_a_single_model_is_called_by_its_name():
    assert labels_of(model(1)) == ["default"]
    assert labels_of(model(1), model(2, "churn")) == ["default", "churn"]


def test_what_differs_is_named():
    assert labels_of(model(1), model(2, n_pairs=7)) == ["default", "default · + 7 pairs"]
    assert labels_of(model(1), model(2, features=["age", "sex"])) == ["default", "default · without income"]
    assert labels_of(model(1), model(2, preset="fast")) == ["default · balanced", "default · fast"]
    assert labels_of(model(1), model(2, changes={"max_leaves": 5}))[1] == "default · leaves per tree 5"
    filtered = model(2, conditions=[Range("age", 30.0, None)])
    assert labels_of(model(1), filtered)[1].startswith("default · only age")
    assert labels_of(model(1), model(2, n_pairs=1, features=["age", "sex"]))[1] == (
        "default · + 1 pair · without income"
    )


def test_a_model_of_few_features_names_those_it_has():
    assert labels_of(model(1), model(2, features=["age"]))[1] == "default · only age"


def test_versions_are_told_apart():
    tables = [TableAbout("t2", "credit", 9, 3, 1, "2026-02"), TableAbout("t1", "credit", 9, 3, 1, "2026-01")]
    assert labels_of(model(1), model(2, table="t2"), tables=tables) == ["default · version 1", "default · version 2"]


def test_twins_are_numbered_and_an_import_has_no_specification():
    assert labels_of(model(1), model(2), model(3)) == ["default · 1", "default · 2", "default · 3"]
    imported = replace(model(2), spec={})
    assert len(set(labels_of(model(1), imported))) == 2


def test_labels_are_never_equal():
    made = [model(k, n_pairs=k % 3, preset=("fast", "balanced")[k % 2]) for k in range(1, 13)]
    assert len(set(labels_of(*made))) == 12


def test_what_differs_has_the_shown_names_of_the_model_s_table():
    """Whatever differs: features, the rows, directions, shapes and bins; each by the names of its own version."""
    shown = Names({"income": ColumnNames("Household income"), "age": ColumnNames("Age, years")}).to_dict()
    tables = [TableAbout("t2", "credit", 10, 3, 1, "2026-01-02", replaces="t1"),
              TableAbout("t1", "credit", 10, 3, 1, "2026-01-01", names=shown)]  # fmt: skip
    for changes, words in (
        ({"features": ["age", "sex"]}, "without Household income"), ({"features": ["age"]}, "only Age, years"),
        ({"conditions": [Range("age", 30.0, None)]}, "only Age, years"),
        ({"changes": {"monotone": {"income": 1}}}, "Household income"),
        ({"changes": {"shapes": {"income": "linear"}}}, "Household income"),
    ):  # fmt: skip
        label = labels_of(model(1), model(2, **changes), tables=tables)[1]
        assert words in label
        assert "income" not in label.replace("Household income", "")
    there, gone = labels_of(model(1), model(2, table="t2", features=["age", "sex"]), tables=tables)
    assert "without income" in gone
    assert "version 1" in there
