"""Which tables a model can be asked about beside its own."""

from __future__ import annotations

from functools import partial

from shapewise.additions.why import versions
from shapewise.additions.why.question import Question
from shapewise.store.projects import Project
from shapewise.store.workspace import ModelAbout, TableAbout
from shapewise.training import carry_over
from shapewise.training.carry_over import Carried, carried
from shapewise.training.dataset import columns_of
from shapewise.training.spec import Spec
from shapewise.ui.session import state
from shapewise.ui.session.current import InView


def can_be_asked(model: ModelAbout) -> bool:
    """Return whether a model has terms and rows: one of several tasks has not, an imported one knows no table."""
    return bool(model.spec) and not model.of_tasks


def is_there(model: ModelAbout) -> bool:
    """Return whether the table of a model is."""
    return model.table in {table.id for table in state.workspace().tables.listed()}


def others(model: ModelAbout) -> list[TableAbout]:
    """Return the other tables that have the columns of a model: newer versions of its own first, then older ones."""
    spec = Spec.from_dict(model.spec)
    if spec.treatment is not None:  # the effect of an experiment is known of its own rows alone
        return []
    wanted = {*columns_of(spec, {}), *spec.filter_columns()}
    listed = state.workspace().tables.listed()
    older = {table.id for table in carry_over.older(listed, model.table)}
    fit = [table for table in listed if table.id != model.table and wanted <= set(state.columns(table.id))]

    def place(table: TableAbout) -> int:
        newer = model.table in {version.id for version in carry_over.older(listed, table.id)}
        return 0 if newer else 1 if table.id in older else 2

    return sorted(fit, key=place)


def versions_of_models(now: InView) -> list[tuple[ModelAbout, TableAbout]]:
    """Return the models of a project that the table in view, or the newest version, is newer than; each with that
    version, and the newest model first."""
    if now.project is None or now.table is None or len(now.project.tables) < 2:
        return []
    listed = list(now.project.tables)
    models = [model for model in now.project.models if can_be_asked(model) and not model.spec.get("treatment")]
    for version in (now.table, listed[0]):
        before = {table.id for table in carry_over.older(listed, version.id)}
        if pairs := [(model, version) for model in models if model.table in before]:
            return pairs
    return []


@state.kept(show_spinner=False, max_entries=64)
def _carried(model: str, table: str) -> Carried:
    about = state.workspace().models.about(model)
    return carried(Spec.from_dict(about.spec), state.frame(about.table), table, state.frame(table))


def spec_on(model: str, table: str) -> Spec | None:
    """Return a model's specification carried over to a table; None where it cannot be."""
    return _carried(model, table).spec


def between(model: ModelAbout, other: TableAbout, project: Project | None) -> Question:
    """Return the question of a model's own table and another; see `versions.between`."""
    return versions.between(state.workspace(), model, other, project, partial(spec_on, model.id))
