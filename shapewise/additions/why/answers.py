"""Answers on pages: from the tables and models that a session sees, each computed once."""

from __future__ import annotations

import json
from dataclasses import asdict

import pandas as pd

from gamcore import WhyMoved
from shapewise.additions.why.question import Group, Question, Sources
from shapewise.ui.session import state
from shapewise.ui.widgets import versions


def answer(asked: Question) -> WhyMoved:
    """Return the answer to a question; TableError where rows and models do not go together."""
    about = state.workspace().models.about
    return _answer(json.dumps(asdict(asked)), *[about(group.model or asked.model).bands for group in asked.groups])


def cells(asked: Question, column: str) -> tuple[pd.Series, pd.Series]:
    """Return a column of the rows of both groups."""
    first, second = (sources(asked.model).of_group(asked, group).X[column] for group in asked.groups)
    return first, second


def sources(model: str) -> Sources:
    """Return where the answers of a model are made from."""
    return Sources(state.workspace().models.about, state.whole, versions.rows_of, state.class_in_view(model))


@state.kept(show_spinner="Counting who came and what changed", max_entries=32)
def _answer(text: str, *bands: int) -> WhyMoved:
    kept = json.loads(text)
    asked = Question(**kept | {end: Group(**kept[end]) for end in ("first", "second")})
    return sources(asked.model).answer(asked)
