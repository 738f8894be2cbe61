"""The arms of a test beside each other. Where they were drawn at random, nobody came more to either; on pages and in
reports."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from gamcore import WhyMoved
from gamcore.data.column_names import Names
from gamcore.data.columns import read_present_texts
from gamcore.decide.rules import Levels
from gamcore.viz.files.parts import ReportPart
from shapewise.additions.why import slide
from shapewise.additions.why.question import Group, Question, named
from shapewise.decisions import arm_tests
from shapewise.decisions.arm_tests import StoredTest
from shapewise.reports.sources import Review
from shapewise.store.workspace import ModelAbout, StoreError, Workspace


def newest_test(space: Workspace, model: ModelAbout) -> StoredTest | None:
    """Return the newest test on a model's table of whose outcome it is, while it does not know the arm."""
    tests = arm_tests.tests(space, {model.table})
    return next((test for test in tests if is_of_outcome(model, test)), None)


def is_of_outcome(model: ModelAbout, test: StoredTest) -> bool:
    """Return whether a model is of an outcome of a test, and does not know the arm."""
    return (model.has_one_outcome and model.table == test.table and model.target in test.test().measured
            and test.arm not in model.spec["features"])  # fmt: skip


def treated(frame: pd.DataFrame, test: StoredTest) -> list[str]:
    """Return the arms of a test but the control."""
    return [level for level in read_present_texts(frame[test.arm])[1] if level != test.control]


def between(model: ModelAbout, test: StoredTest, arm: str, names: Names) -> Question:
    """Return the question of an arm beside the control."""
    first, second = (
        Group(names.level(test.arm, level), test.table, json.dumps(Levels(test.arm, (level,)).to_dict()))
        for level in (test.control, arm)
    )
    return Question(model.id, first, second)


def balance(moved: WhyMoved) -> tuple[bool, str]:
    """Return whether no other people came to an arm than chance brings, and that in words."""
    came = next(claim.words() for claim in moved.claims() if claim.kind == "composition")
    if any(is_clear for (kind, _), is_clear in moved.clear().items() if kind == "composition"):
        return False, (
            f"If these arms were drawn at random, other people came to one than chance brings: {came}. Check how the "
            "arms were assigned before you read an effect."
        )
    return True, (
        f"As it should be where arms were drawn at random, who came makes no clear difference: {came}. What is not "
        "explained by who came is then the effect of the arm."
    )


def parts(review: Review) -> Iterator[ReportPart]:
    """Yield for each arm the waterfall from the control, with its parts in words and whether who came is null."""
    source, space = review.model(), review.space
    test = newest_test(space, source.about)
    if test is None:
        raise StoreError("No test on the table of the model has its outcome: read one on Experiment.")
    sources = slide.sources(review)
    for arm in treated(space.tables.read(test.table), test):
        moved = sources.answer(between(source.about, test, arm, source.names))
        page = slide.page(review, moved)
        yield replace(page, text=[*page.text, balance(named(moved, source.names))[1]])
