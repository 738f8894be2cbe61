"""The project in view: which table and which model this session works on, on every page and in every link.

A link that names a model or a table opens it. Without one, a session goes on with what it had, and a new session opens
what was made last. What was asked for and is not there is said to be missing; nothing else is opened in its place.
"""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from shapewise.decisions import guided_example
from shapewise.store.history import Departed, departed
from shapewise.store.projects import Project, projects
from shapewise.store.workspace import ModelAbout, TableAbout
from shapewise.training.naming import labels
from shapewise.ui.session import state

TABLE, MODEL = "table_id", "model_id"
LAST_MODELS = "last_models"
"""By project, the model that this session had in view there."""

ASKED = "asked_of_url"


@dataclass(frozen=True)
class InView:
    """What a session works on. missing : what it asked for that is not there; the rest is then what there was before,
    if anything."""

    projects: list[Project]
    project: Project | None = None
    table: TableAbout | None = None
    model: ModelAbout | None = None
    missing: Departed | None = None

    @property
    def listed(self) -> list[Project]:
        """The projects that lists offer: all but the guided example's helper."""
        return [
            project for project in self.projects if project is self.project or not guided_example.is_helper(project)
        ]

    @property
    def carried(self) -> dict[str, str]:
        """What links to other pages carry, so that they can be sent and opened elsewhere."""
        ids = {"table": self.table.id if self.table else "", "model": self.model.id if self.model else ""}
        return {name: identifier for name, identifier in ids.items() if identifier and self.missing is None}

    @property
    def label(self) -> str:
        """The name of the model in view, with what tells it from others of the project."""
        return labels(self.project)[self.model.id] if self.project and self.model else ""

    @property
    def difference(self) -> str:
        """What tells the model in view from others of its name in the project."""
        return self.label.removeprefix(self.model.name).removeprefix(" · ") if self.model else ""


def in_view() -> InView:
    """Return what this session works on, and put it into the URL."""
    space = state.workspace()
    every = projects(space.tables.listed(), space.models.listed())
    now = _settled(every)
    for name, about in (("table", now.table), ("model", now.model)):
        if now.missing is None:
            _write(name, about.id if about else None)
    return now


def _settled(every: list[Project]) -> InView:
    session = st.session_state
    asked = {name: st.query_params.get(name) for name in ("model", "table")}
    if (model := asked["model"]) and model != session.get(MODEL):
        return _opened_model(every, model, asked["table"])
    if (table := asked["table"]) and table != session.get(TABLE):
        project = _with_table(every, table)
        if project is None:
            return InView(every, missing=departed(state.workspace(), "tables", table))
        open_table(table)
        return _shown(every, project, table, _last_model(project))
    if MODEL not in session and TABLE not in session:
        return _newest(every)
    return _kept(every, session.get(TABLE), session.get(MODEL))


def _opened_model(every: list[Project], model: str, table: str | None) -> InView:
    project = next((project for project in every if project.model(model)), None)
    if project is None:
        return InView(every, missing=departed(state.workspace(), "models", model))
    open_model(model)
    return _shown(every, project, table, model)


def _kept(every: list[Project], table: str | None, model: str | None) -> InView:
    """Return what the session had, or what of it has gone since."""
    of_model = next((project for project in every if model and project.model(model)), None)
    of_table = _with_table(every, table) if table else None
    if model and of_model is None:
        return InView(every, of_table, missing=departed(state.workspace(), "models", model))
    if table and of_table is None and of_model is None:
        return InView(every, missing=departed(state.workspace(), "tables", table))
    project = of_model or of_table
    return _shown(every, project, table, model or _last_model(project)) if project else InView(every)


def _newest(every: list[Project]) -> InView:
    begun = InView(every).listed
    if not begun:
        return InView(every)
    return _shown(every, begun[0], None, _last_model(begun[0]))


def _shown(every: list[Project], project: Project, table: str | None, model: str | None) -> InView:
    """Return a project with the version and the model that are asked for; without a version, the model's or the
    newest."""
    chosen = project.model(model) if model else None
    version = project.table(table) if table else None
    if version is None and chosen is not None:
        version = project.table(chosen.table)
    if version is None and project.tables:
        version = project.tables[0]
    _remember(version.id if version else None, chosen.id if chosen else None, project)
    return InView(every, project, version, chosen)


def _remember(table: str | None, model: str | None, project: Project) -> None:
    for key, value in ((TABLE, table), (MODEL, model)):
        if value is None:
            st.session_state.pop(key, None)
        else:
            st.session_state[key] = value
    if model is not None:
        st.session_state.setdefault(LAST_MODELS, {})[project.id] = model


def _with_table(every: list[Project], table: str) -> Project | None:
    return next((project for project in every if project.table(table)), None)


def _last_model(project: Project) -> str | None:
    """Return the model of a project that this session had in view last, or else the newest."""
    last = st.session_state.get(LAST_MODELS, {}).get(project.id)
    if last is not None and project.model(last) is not None:
        return str(last)
    return project.models[0].id if project.models else None


def _write(name: str, identifier: str | None) -> None:
    if identifier is None:
        st.query_params.pop(name, None)
    elif st.query_params.get(name) != identifier:
        st.query_params[name] = identifier


def open_model(identifier: str) -> None:
    """Put a model in view, and with it its project."""
    st.session_state[MODEL] = identifier
    st.session_state.pop(TABLE, None)
    _write("model", identifier)
    _write("table", None)


def open_table(identifier: str) -> None:
    """Put a table in view, and with it its project and the model that was in view there last."""
    st.session_state[TABLE] = identifier
    st.session_state.pop(MODEL, None)
    _write("table", identifier)
    _write("model", None)


def leave(model: ModelAbout | None = None) -> None:
    """Leave what this session itself has deleted: a model, whose table stays in view, or everything."""
    for key in (TABLE, MODEL):
        st.session_state.pop(key, None)
    for name in ("table", "model"):
        _write(name, None)
    if model is not None and any(table.id == model.table for table in state.workspace().tables.listed()):
        open_table(model.table)
