"""Where one starts: what this is, or what is in view and what to do next, recent work, new projects."""

from __future__ import annotations

from shapewise.ui.frame.starting import begin

import streamlit as st

from shapewise.decisions import boards as stored
from shapewise.places import PAGES
from shapewise.reports import recipes
from shapewise.store.projects import Project
from shapewise.training.naming import labels
from shapewise.ui.data import first_screen, keeping, loading
from shapewise.ui.session import current, state
from shapewise.ui.session.current import InView
from shapewise.ui.session.words import counted, date, md, metric
from shapewise.ui.widgets import cards, guide, undo
from shapewise.ui.widgets.next_step import next_step

MOST_RECENT = 6


def in_view(project: Project, now: InView) -> None:
    """Show the project in view and the next step."""
    step = next_step(project)
    with st.container(border=True):
        st.subheader(md(project.name), anchor=False)
        if now.model is not None:
            st.caption(f"{md(now.label)} · {metric(now.model)}")
        st.markdown(step.why)
        if st.button(step.label, type="primary", icon=":material/arrow_forward:", key="next-step"):
            st.switch_page(PAGES / f"{step.page}.py")


def recent(projects: list[Project]) -> None:
    """Show other projects, the one worked on last first, each with its newest models, board and report."""
    st.subheader("Other projects", anchor=False)
    boards, reports = stored.boards(state.workspace()), recipes.recipes(state.workspace())
    columns = st.columns(3)
    for k, project in enumerate(projects[:MOST_RECENT]):
        tables = {table.id for table in project.tables}
        names = labels(project)
        with columns[k % 3].container(border=True, height="stretch"):
            st.markdown(f"**{md(project.name)}**")
            parts = [counted(project.tables[0].rows, "row")] if project.tables else ["no table"]
            parts += [f"{len(project.models)} model{'s' * (len(project.models) != 1)}"]
            st.caption(f"{' · '.join(parts)} · {date(project.touched)}")
            carried = {"table": project.tables[0].id} if project.tables else {}
            if not project.models:
                st.page_link(PAGES / "data.py", label="Open the table", icon=":material/table:",
                             query_params=carried)  # fmt: skip
            for model in project.models[:2]:
                page = "tasks" if model.of_tasks else "shapes"
                st.page_link(PAGES / f"{page}.py", label=md(names[model.id]), icon=":material/show_chart:",
                             width="stretch", query_params={"model": model.id})  # fmt: skip
            for board in [candidate for candidate in boards if candidate.table in tables][-1:]:
                st.page_link(PAGES / "strategies.py", label=md(board.name), icon=":material/low_priority:",
                             query_params={"board": board.id})  # fmt: skip
            ids = {board.id for board in boards if board.table in tables}
            for report in [candidate for candidate in reports if candidate.board in ids][-1:]:
                st.page_link(PAGES / "report.py", label=md(report.name), icon=":material/slideshow:",
                             query_params=carried)  # fmt: skip


begin()
if st.session_state.pop(keeping.LOADED, False):
    st.switch_page(PAGES / "data.py")
state.warn_of_sweep()
now = current.in_view()
if now.missing is not None:
    cards.missing(now)
if not now.listed:
    first_screen.show()
    undo.recent()
    st.stop()
st.title("Home", anchor=False)
if now.project is not None:
    in_view(now.project, now)
    others = [project for project in now.listed if project.id != now.project.id]
    if others:
        recent(others)
loading.upload("Start a new project")
loading.from_server()
loading.samples()
undo.recent()
if not st.session_state.get(guide.TOUR):
    guide.offer()
