"""All that can be searched for: what lists of the workspace hold, and the features of the model in view."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from gamcore.explain.tasks import TASK
from shapewise.decisions import boards as stored
from shapewise.store.projects import Project
from shapewise.store.workspace import ModelAbout
from shapewise.training.naming import labels
from shapewise.ui.find.ranking import Place
from shapewise.ui.session import state
from shapewise.ui.session.current import InView
from shapewise.ui.session.errors import REFUSED
from shapewise.ui.session.words import counted, metric


def places(menu: Mapping[str, Sequence[Any]], now: InView) -> list[Place]:
    """Return where this person can go. Nothing is read but records, and the file of the model in view. menu : pages by
    section."""
    pages = [Place("Pages", page.title, page.url_path, now.carried) for section in menu.values() for page in section]
    here = [] if now.project is None else [now.project]
    projects = [*here, *(project for project in now.listed if project is not now.project)]
    return [*pages, *_features(now.model), *_models(projects), *_projects(projects), *_segments_and_boards(projects)]


def _features(model: ModelAbout | None) -> list[Place]:
    """Return the features of a model, the most important first; none where its file cannot be read."""
    names: list[str] = []
    with suppress(*REFUSED):
        names = [] if model is None else _ranked(model)
    if model is None or not names:
        return []
    named, page = state.names_of(model), "tasks" if model.of_tasks else "shapes"
    return [Place("Features", named.term(name), page, {"model": model.id, "feature": name}, also=name)
            for name in names]  # fmt: skip


def _ranked(model: ModelAbout) -> list[str]:
    if model.of_tasks:
        return [str(name) for name in state.trees(model.id).importance().frame()["feature"] if name != TASK]
    return state.additive(model.id).importance().ranked_features()


def _models(projects: Sequence[Project]) -> Iterator[Place]:
    for project in projects:
        names = labels(project)
        for model in project.models:
            page = "tasks" if model.of_tasks else "overview"
            detail = " · ".join(part for part in (project.name, metric(model)) if part)
            yield Place("Models", names[model.id], page, {"model": model.id}, detail, also=project.name)


def _projects(projects: Sequence[Project]) -> Iterator[Place]:
    for project in projects:
        if project.tables:
            newest = project.tables[0]
            yield Place("Projects", project.name, "data", {"table": newest.id}, counted(newest.rows, "row"))
        else:
            yield Place("Projects", project.name, "models", {"model": project.models[0].id}, "no table")


def _segments_and_boards(projects: Sequence[Project]) -> Iterator[Place]:
    """Yield the segments and boards of tables that are there, the newest first."""
    space = state.workspace()
    project_of = {table.id: project for project in projects for table in project.tables}
    for segment in reversed(stored.segments(space)):
        if project := project_of.get(segment.table):
            detail, rule = f"{project.name} · {segment.scenario}", segment.read().words(state.names(segment.table))
            query = {"table": segment.table, "segment": segment.id}
            yield Place("Segments", segment.name, "strategies", query, detail, also=f"{detail} {rule}")
    for board in reversed(stored.boards(space)):
        if project := project_of.get(board.table):
            strategies = " ".join(strategy.name for strategy in board.read().strategies)
            query = {"table": board.table, "board": board.id}
            yield Place("Boards", board.name, "strategies", query, project.name, also=f"{project.name} {strategies}")
