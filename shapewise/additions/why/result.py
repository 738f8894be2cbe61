"""Why two groups differ, on a page: the sentence, the waterfall and its table, and a feature of it in both groups."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import Final

import pandas as pd
import streamlit as st

from gamcore import TableError, WhyMoved
from gamcore.additions.why.moved import By
from gamcore.additions.why.plots import bars_of
from gamcore.data.column_names import Names
from gamcore.decide.fairness import sensitive
from gamcore.viz import files as export
from gamcore.viz.files.parts import Report, ReportPart
from shapewise.additions.why import feature, learned, written
from shapewise.additions.why.answers import answer
from shapewise.additions.why.question import Question, named
from shapewise.decisions import money
from shapewise.errors import StoreError
from shapewise.reports.card import line
from shapewise.store.workspace import ModelAbout
from shapewise.training.spec import Spec
from shapewise.ui.session import state
from shapewise.ui.session.words import counted, md
from shapewise.ui.widgets import cards, chart, downloads
from shapewise.ui.widgets.columns import EXACT

SEEN: Final = {"each": "A model of each", "one": "One model"}
BARS: Final[dict[By, str]] = {"term": "Terms", "feature": "Features", "family": "Families"}
READING: Final = (
    "Who came is what the groups' other columns account for, and such columns may stand for the group itself, so it "
    "justifies nothing by itself. What is not explained is no proof of unequal treatment, and where it is 0 there may "
    "still be some. Where is the model wrong?, on Overview, says whether predictions are right in each group."
)


def show(model: ModelAbout, asked: Question, by: str = "") -> None:
    """Show the answer to a question. by : the column whose parts the groups are; empty where they are others."""
    asked, worth = _settings(model, asked)
    try:
        moved = answer(asked)
    except (TableError, StoreError) as error:
        st.error(md(error), icon=":material/error:")
        return
    first, second = (state.workspace().tables.about(group.table) for group in asked.groups)
    for table in {first.id: first, second.id: second}.values():
        if table.sampled:
            st.caption(f"Of {md(table.name)}, a sample of {counted(table.sampled, 'row')} is compared.")
    share = second.sampled / second.rows if second.sampled else 1.0
    moved = replace(moved, worth=worth or None, size=moved.size / share)
    with st.container(border=True):
        _waterfall(model, asked, moved)
        learned.offer(model, asked, moved, by)
        if reading := _fairness(asked.columns, Spec.from_dict(model.spec).features, state.names_of(model)):
            st.caption(md(reading))
    with st.container(border=True):
        feature.show(model, asked, moved)


def _settings(model: ModelAbout, asked: Question) -> tuple[Question, float | None]:
    """Show how the groups are seen, and what the outcome is worth; return the question, and the worth."""
    usual = money.of_table(state.workspace(), model.table).of(model.target)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if asked.of_each:
            seen = st.segmented_control(
                "Seen with", list(SEEN), default="each", required=True, format_func=SEEN.__getitem__,
                key=f"why-seen-{model.id}", help="A model of each group also tells what changed, feature by feature. "
                "One model tells who came; the rest it leaves unexplained.",
            )  # fmt: skip
            asked = asked if seen == "each" else asked.of_one_model()
        unseen = st.toggle(
            "Only rows not learned from", key=f"why-unseen-{model.id}",
            help="Models flatter themselves on rows that they have learned from: what is left over looks small.",
        )  # fmt: skip
        worth = st.number_input(
            "Worth of one more", value=usual or None, key=f"why-worth-{model.id}", placeholder="Not known",
            format=EXACT, width=180, help="Money per unit of the outcome: each part is then also told in money, over "
            "the rows of the second group.",
        )  # fmt: skip
    return replace(asked, unseen=unseen), worth


def _fairness(columns: Collection[str], features: Collection[str], names: Names) -> str:
    """Return how groups by some columns are read in a review of fairness; empty where no name of a column points to a
    protected characteristic. features : that the model reads."""
    hints = sensitive(list(columns))
    if not hints:
        return ""
    hinted = "; ".join(f"{names.column(column)} points to {what}" for column, what in hints.items())
    read = [names.column(column) for column in hints if column in features]
    own = f"The model reads {' and '.join(read)}, so a part of who came is its curve of that alone. " if read else ""
    return f"For a review of fairness ({hinted}): {own}{READING}"


def _waterfall(model: ModelAbout, asked: Question, moved: WhyMoved) -> None:
    """Show the waterfall, below it its parts in words, and the button that hands out both as a slide."""
    names = state.names_of(model)
    exposure = Spec.from_dict(model.spec).exposure
    per = f"units of {names.column(exposure)}" if exposure else "rows"
    key = f"why-{model.id}-{asked.second.table}"
    at = chart.place(key)
    with at.options:
        by, shown = _bars(model, named(moved, names))
    page = written.page(shown, state.goal(model), per, by=by)
    assert page.plot is not None
    opens = dict(zip(map(names.term, moved.terms), moved.terms, strict=True))  # families open nothing
    terms = [
        opens.get(name, "") if kind in ("composition", "behaviour") else "" for kind, name, _ in bars_of(shown, by)
    ]
    cards.figure(page.plot, key, f"{model.name} why it moved", state.card(model), at=at,
                 on_point=partial(_open, key, feature.key(model, asked), terms))  # fmt: skip
    for sentence in page.text:
        st.markdown(md(sentence))
    downloads.button(
        "Slide", partial(_slide, page, line(model)), export.file_name(model.name, "why it moved", "pptx"),
        f"{key}-slide", ":material/slideshow:", tip="The waterfall and the sentence as one slide, in PowerPoint.",
    )  # fmt: skip


def _bars(model: ModelAbout, moved: WhyMoved) -> tuple[By, WhyMoved]:
    """Show what bars add up, and the families of features; return the choice, and the answer with these families."""
    by = st.segmented_control(
        "Bars are", list(BARS), default="term", required=True, format_func=BARS.__getitem__, key=f"why-bars-{model.id}",
        help="What features do together counts in equal shares for each. Families are named below, such as household.",
    )  # fmt: skip
    features = list(moved.families)
    grouped = st.data_editor(
        pd.DataFrame({"Feature": features, "Family": ""}), key=f"why-families-{model.id}", hide_index=True,
        disabled=["Feature"], height=min(38 + 35 * len(features), 180),
        alt="One line per feature: the family that it is added up with.",
        column_config={"Family": st.column_config.TextColumn(max_chars=60, help="Empty: a family of its own.")},
    )  # fmt: skip
    given = grouped["Family"].fillna("").str.strip()
    families = {feature: family for feature, family in zip(grouped["Feature"], given, strict=True) if family}
    return by, replace(moved, families={**moved.families, **families})


def _slide(page: ReportPart, about: str) -> bytes:
    return export.to_report(Report(page.heading, "", (page,), about=about, brief=True), "pptx")


def _open(key: str, field: str, terms: list[str]) -> None:
    """Open the term whose bar was clicked. terms : of the bars, empty for those that are none."""
    points = st.session_state[key]["selection"]["points"]
    place = round(points[0]["y"]) if points else 0
    if 0 < place <= len(terms) and terms[place - 1]:
        st.session_state[field] = terms[place - 1]
