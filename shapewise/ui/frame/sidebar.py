"""The sidebar of every page: the project and the model in view, the search, what is being trained, and the menu."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from shapewise.places import PAGES
from shapewise.store.database import once
from shapewise.store.projects import Project
from shapewise.store.workspace import ModelAbout
from shapewise.training import runs
from shapewise.training.naming import labels
from shapewise.ui.find import field as find
from shapewise.ui.session import current, followed, redraw, standing, state
from shapewise.ui.session.current import InView
from shapewise.ui.session.words import counted, md, metric

MOST_LISTED = 12

Menu = Mapping[str, Sequence[Any]]


def show(menu: Menu) -> None:
    """Show the head and the menu. menu : pages by section; the section without a name comes first, and Home in it."""
    followed.take_in()
    now = current.in_view()
    with st.sidebar:
        head(now, menu[""][0])
        find.button(menu, now)
        _jobs(bool(followed.ids() or _active()))
        links(menu, now)


def head(now: InView, home: Any) -> None:
    """Show the project and the model in view; a press on either opens the others."""
    with st.container(gap=None, key="in-view"):
        with st.popover(md(_project_name(now)), icon=":material/folder:", width="stretch", wrap=False):
            _projects(now, home)
        if now.project is not None and now.table is not None:
            version = f" · version {now.project.version(now.table.id)}" if len(now.project.tables) > 1 else ""
            st.caption(f"{counted(now.table.rows, 'row')}{version}")
        if now.project is None or not now.project.models:
            return
        name = now.model.name if now.model else "Choose a model"
        with st.popover(md(name), icon=":material/show_chart:", width="stretch", wrap=False):
            _models(now.project, now.model)
        if now.model is not None:
            st.caption(" · ".join(part for part in (md(now.difference), metric(now.model)) if part))


def _project_name(now: InView) -> str:
    if now.project is not None:
        return now.project.name
    return "Choose a project" if now.listed else "No project yet"


def _projects(now: InView, home: Any) -> None:
    """List the projects, the one worked on last first."""
    asked = st.text_input("Find a project", key="find-project") if len(now.listed) > MOST_LISTED else ""
    chosen = [project for project in now.listed if asked.lower() in project.name.lower()][:MOST_LISTED]
    for project in chosen:
        tables, models = project.tables, project.models
        rows = counted(tables[0].rows, "row") if tables else "no table"
        st.button(
            f"{md(project.name)} :gray[· {rows} · {counted(len(models), 'model')}]",
            key=f"project-{project.id}", width="stretch", type="tertiary", on_click=_open, args=(project,),
            disabled=now.project is not None and project.id == now.project.id,
        )  # fmt: skip
    if not chosen and asked:
        st.caption("No project has that in its name.")
    st.page_link(home, label="New project", icon=":material/add:", width="stretch")


def _open(project: Project) -> None:
    if project.tables:
        current.open_table(project.tables[0].id)
    else:
        current.open_model(project.models[0].id)


def _models(project: Project, shown: ModelAbout | None) -> None:
    """List the models of a project, the newest first."""
    names = labels(project)
    asked = st.text_input("Find a model", key="find-model") if len(names) > MOST_LISTED else ""
    models = [model for model in project.models if asked.lower() in names[model.id].lower()][:MOST_LISTED]
    for model in models:
        st.button(
            f"{md(names[model.id])} :gray[· {metric(model)}]",
            key=f"model-{model.id}", width="stretch", type="tertiary", on_click=current.open_model, args=(model.id,),
            disabled=shown is not None and model.id == shown.id,
        )  # fmt: skip
    if not models:
        st.caption("No model has that in its name.")


def links(menu: Menu, now: InView) -> None:
    """Show the menu."""
    for section, pages in menu.items():
        if section:
            st.caption(section)
        with st.container(gap="xxsmall"):
            for page in pages:
                st.page_link(page, query_params=now.carried, width="stretch")


def _jobs(going: bool) -> None:
    """Show what is being trained; look again every second while something is."""
    st.fragment(_look, run_every=redraw.SECONDS if going else None)()


def _active() -> list[runs.Run]:
    """Return what is being trained, as it stood when this run of the page first asked."""
    return once("active runs", lambda: runs.active(state.workspace()))


def _look() -> None:
    if followed.take_in():
        redraw.by_timer()
    for run in _active():
        share, words = standing.of_run(run)
        what = "Bands of" if run.model and not run.column else "Training"
        st.progress(min(share, 1.0), f"{what} {md(run.spec.name)}: {words}")
        if not run.model:
            st.page_link(PAGES / "train.py", label="Watch", icon=":material/visibility:",
                         query_params={"table": run.spec.table, "run": run.id})  # fmt: skip
