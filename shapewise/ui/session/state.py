"""Tables, models and what is computed from them, by id, for the user of this session.

Objects come from the workspace by id, through caches keyed by id: above 50,000 rows Streamlit hashes only a sample of
a table, so two tables could share a result.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Sequence
from functools import lru_cache, partial, wraps
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, cast

import pandas as pd
import streamlit as st

from gamcore.data.codes import MissingCodes
from gamcore.data.column_names import Measure, Names
from gamcore.data.columns import TableError
from gamcore.data.table import Table, as_table
from gamcore.estimators.additive import AdditiveEstimator
from gamcore.estimators.base import n_scores
from gamcore.estimators.gam import Estimator, GAMClassifier, in_class, usual_class
from gamcore.estimators.multitask import MultiTaskTrees
from gamcore.estimators.saved import from_saved
from gamcore.explain.curves import Curve
from gamcore.explain.shown import shown
from gamcore.explain.surfaces import Surface
from gamcore.io.checks import ModelFileError
from gamcore.model.losses import LOSSES
from gamcore.model.scales import Scale
from gamcore.viz.palette import Mode
from shapewise import patience
from shapewise.access.permissions import Action, Person
from shapewise.columns.roles import Roles, roles_of
from shapewise.doctor.examine import ColumnReport, examine
from shapewise.jobs.scheduler import keeper
from shapewise.reports.card import card as full_card
from shapewise.reports.card import described, line, measure_of_target, names_of_table, target, unit_of_effect
from shapewise.scoring import all_rows as wholes
from shapewise.store.cleanup import sweep, why_stopped
from shapewise.store.database import once
from shapewise.store.root import default_root
from shapewise.store.workspace import ModelAbout, StoreError, Workspace
from shapewise.training.dataset import Data, read_data
from shapewise.training.effects import as_trained
from shapewise.training.spec import Spec
from shapewise.ui.session import engine, leaving, memory, signin
from shapewise.ui.session.seen import stored
from shapewise.ui.session.words import md, metric

log = logging.getLogger(__name__)


@st.cache_resource(show_spinner=False)
def _workspace(root: str) -> tuple[Workspace, str]:
    """Return the workspace, and why its sweep at start-up stopped (empty if it did not)."""
    space = Workspace(default_root())
    stopped = sweep(space).stopped
    keeper(space).wake()  # for jobs queued before the server started
    return space, stopped


def workspace() -> Workspace:
    """Return the workspace of this server as the user of this session sees it."""

    def seen_by_user() -> Workspace:
        space, _ = _workspace(str(default_root()))
        mine = space.seen_by(signin.person(space))
        mine.stored = stored
        return mine

    return once(("workspace",), seen_by_user)  # a run of a page asks for it ninety times


def warn_of_sweep() -> None:
    """Warn an administrator if the workspace has files without records."""
    space, stopped = _workspace(str(default_root()))
    if stopped and workspace().may("administer") and (now := _unswept(space.root)):
        st.warning(md(now), icon=":material/folder_off:")


@st.cache_data(show_spinner=False, ttl=60)
def _unswept(_root: Path) -> str:
    """Return why a sweep would stop now: the cause at start-up may have been fixed since."""
    return why_stopped(Workspace(_root))


def mine(kind: str, identifier: str, action: Action = "change") -> bool:
    """Return whether the user may perform an action on an object; the page offers only allowed actions."""
    return workspace().may(action, kind, identifier)


@st.cache_resource(show_spinner=False)
def warm_up() -> None:
    """Settle the server's memory, end what is computed for those who left, and start the engine, once per server."""
    memory.settle(forget_all)
    patience.ask(leaving.end_if_left)
    engine.start()


Made = TypeVar("Made", covariant=True)
Explained = TypeVar("Explained")
Fitted = TypeVar("Fitted", bound=Estimator)


class Kept(Protocol[Made]):
    """A function whose results are kept for each person apart."""

    def __call__(self, *args: Any) -> Made:
        """Return the result, made or kept."""

    def clear(self, *args: Any) -> None:
        """Forget the result."""


Function = TypeVar("Function", bound=Callable[..., Any])

_KEPT: list[Callable[[], None]] = []
_SHARED: list[Callable[[], None]] = []


def _of_module(make: Callable[..., Any]) -> None:
    """Refuse a function of a page's script: each run makes another one, which would hold all that the run has made."""
    if make.__module__ == "__main__":
        raise RuntimeError(f"{make.__qualname__} is kept for as long as the server runs: define it in a module.")


def forget() -> None:
    """Forget all that was computed from tables and models."""
    for clear in _KEPT:
        clear()


def forget_all() -> None:
    """Forget whatever can be computed again, also what all users share."""
    for clear in (*_KEPT, *_SHARED):
        clear()


def shared(what: str = "This", **options: Any) -> Callable[[Function], Function]:
    """Cache what a function computes for all users alike: whoever asks has to check first what its user may see.

    what : is computed, for people who wait for it too long. options : of Streamlit's cache.
    """

    def keep(make: Function) -> Function:
        _of_module(make)
        cached = st.cache_resource(show_spinner=False, **options)(patience.at_most(what)(make))
        _SHARED.append(cached.clear)
        return cast(Function, cached)

    return keep


def kept(
    copies: bool = False, instead: str = patience.SMALLER, **options: Any
) -> Callable[[Callable[..., Made]], Kept[Made]]:
    """Cache what a function computes from ids, separately per user: nobody sees what only another user may see.

    Results also belong to the class in view, since a model of several classes is read one class at a time. What takes
    longer than a page may compute is ended, in words.

    copies : give each caller its own copy. instead : what the reader can do where it takes too long. options : of
    Streamlit's caches.
    """
    bounded = patience.at_most(options.get("show_spinner") or "This", instead)

    def keep(make: Callable[..., Made]) -> Kept[Made]:
        _of_module(make)

        @bounded
        def for_person(who: str, of_class: str, *args: Any) -> Made:
            return make(*args)

        # Streamlit distinguishes the caches of functions by these names.
        for_person.__module__, for_person.__qualname__ = make.__module__, make.__qualname__
        cached = (st.cache_data if copies else st.cache_resource)(**options)(for_person)

        @wraps(make)
        def call(*args: Any) -> Made:
            result: Made = cached(workspace().person.id, _wanted_class(), *args)
            return result

        def clear(*args: Any) -> None:
            cached.clear(workspace().person.id, _wanted_class(), *args)

        _KEPT.append(cached.clear)
        call.clear = clear  # type: ignore[attr-defined]
        return cast(Kept[Made], call)

    return keep


def n_jobs() -> int:
    """Return the number of threads for a training."""
    return workspace().limits.threads or os.cpu_count() or 1


def mode() -> Mode:
    """Return the browser's theme."""
    return "dark" if st.context.theme.type == "dark" else "light"


@shared("Reading the table", max_entries=6)
def _table(table: str, codes: str) -> Table:
    return as_table(workspace().tables.read(table, json.loads(codes)))


def table(identifier: str, codes: MissingCodes | None = None) -> Table:
    """Return a table by id, with missing cells in place of codes. All sessions share it: never change it.

    codes : None for the table's present ones. This cache and those below are shared by all users, so access is checked
    first.
    """
    workspace().thing("tables", identifier)
    return _table(identifier, json.dumps(names(identifier).codes() if codes is None else codes, sort_keys=True))


def names(table: str) -> Names:
    """Return how the columns of a table are shown, and which codes mean missing; nothing where the table is gone."""
    space = workspace()
    return once(("names", space.root, space.person.id, table), lambda: names_of_table(space, table))


def set_names(table: str, changed: Names) -> None:
    """Set how the columns of a table are shown, and which codes mean missing; TableError where that cannot be."""
    before = workspace().tables.names(table)
    workspace().tables.set_names(table, changed)
    if changed.codes() != before.codes():
        forget()  # what a cell of the table means has changed


def as_read(model: ModelAbout) -> Table:
    """Return the table of a model as the model read it: with its own codes for missing."""
    return table(model.table, Spec.from_dict(model.spec).codes_of(model.table))


def frame(identifier: str) -> pd.DataFrame:
    """Return the frame of a table by id."""
    return table(identifier).frame


def rows_of(table: str, columns: Sequence[str]) -> pd.DataFrame:
    """Return all rows of a table by id, not only its sample, with at least the given columns."""
    if workspace().tables.about(table).sampled:
        return wholes.read(workspace(), table, columns)
    return frame(table)


@st.cache_data(show_spinner=False, max_entries=1000)
def _columns(table: str) -> list[str]:
    return workspace().tables.columns(table)


def columns(table: str) -> list[str]:
    """Return the names of the columns of a table by id, without reading it."""
    workspace().thing("tables", table)
    return _columns(table)


@shared("Looking at each column", max_entries=32)
def _reports(table: str, codes: str) -> list[ColumnReport]:
    return examine(_table(table, codes), workspace().tables.about(table).rows)


def reports(table: str) -> list[ColumnReport]:
    """Return the column doctor's reports on a table by id."""
    workspace().thing("tables", table)
    return _reports(table, json.dumps(names(table).codes(), sort_keys=True))


@shared("Looking for what each column is", max_entries=64)
def _roles(table: str, codes: str, about: str) -> Roles:
    name, chosen, computed = json.loads(about)
    return roles_of(_table(table, codes), _reports(table, codes), chosen, name, computed)


def roles(table: str, chosen: bool = True) -> Roles:
    """Return what each column of a table is for. chosen : whether what people chose counts, or guesses alone."""
    about = workspace().tables.about(table)
    computed = [step["column"] for step in about.steps if "formula" in step]
    known = json.dumps([about.name, about.roles if chosen else {}, computed], sort_keys=True)
    return _roles(table, json.dumps(names(table).codes(), sort_keys=True), known)


CLASS: Final = "class_in_view"
"""Key of the class that a model of several classes is read by; shared by all pages."""


def _wanted_class() -> str:
    return str(st.session_state.get(CLASS) or "")


def whole(model: str) -> Estimator:
    """Return a fitted estimator by its model's id; of several classes, that of all."""
    about = workspace().models.about(model)
    return once(("estimator", model, about.bands), lambda: _estimator(model, about.bands))


def class_names(model: str) -> list[str]:
    """Return the names of a model's classes if there are more than two, else nothing."""
    fitted = whole(model)
    several = isinstance(fitted, GAMClassifier) and n_scores(fitted) > 1
    return [str(name) for name in fitted.classes_] if several else []


def class_in_view(model: str) -> str:
    """Return the class that a model of several classes is read by; empty for any other model."""
    names = class_names(model)
    if not names or _wanted_class() in names:
        return _wanted_class() if names else ""
    fitted = whole(model)
    assert isinstance(fitted, GAMClassifier)
    return str(usual_class(fitted))


def estimator(model: str) -> Estimator:
    """Return a fitted estimator by its model's id; of several classes, that of the class in view."""
    return in_view(whole(model))


def in_view(fitted: Fitted) -> Fitted:
    """Return a fitted estimator as it is read: one of several classes by the class in view, any other as it is."""
    return in_class(fitted, _wanted_class())


def additive(model: str) -> AdditiveEstimator:
    """Return a fitted additive model by its id."""
    fitted = estimator(model)
    assert isinstance(fitted, AdditiveEstimator)  # pages choose among models of their kind
    return fitted


def trees(model: str) -> MultiTaskTrees:
    """Return fitted trees of several tasks by their model's id."""
    fitted = estimator(model)
    assert isinstance(fitted, MultiTaskTrees)
    return fitted


@kept(show_spinner=False, max_entries=32)
def _estimator(model: str, bands: int) -> Estimator:  # bands are added later, and change the model
    return from_saved(workspace().models.load(model))


def data(model: ModelAbout) -> Data | None:
    """Return the rows of a stored additive model, those of the class in view as 1; None if its table is deleted."""
    if not model.spec or model.table not in {table.id for table in workspace().tables.listed()}:
        return None
    rows = _data(model.id)
    return rows.of_class(class_in_view(model.id)) if rows.classes else rows


def whole_data(model: ModelAbout) -> Data | None:
    """Return the rows of a stored additive model with their own targets; None if its table is deleted."""
    return None if data(model) is None else _data(model.id)


@kept(show_spinner="Reading the table", max_entries=6)
def _data(model: str) -> Data:
    spec = Spec.from_dict(workspace().models.about(model).spec)
    read = read_data(as_read(workspace().models.about(model)), spec, workspace().tables.about(spec.table).held_out_by)
    return as_trained(workspace(), spec, read)


@kept(show_spinner=False, max_entries=64)
def _surface(model: str, bands: int, first: str, second: str) -> Surface:
    return additive(model).explain_pair(first, second)


def surface(model: str, first: str, second: str) -> Surface:
    """Return the joint effect of a pair of a stored model."""
    return _surface(model, workspace().models.about(model).bands, first, second)


def names_of(model: ModelAbout) -> Names:
    """Return how the columns of a model are shown: by the names of its table, if that may be seen."""
    return names(model.table)


def seen(model: ModelAbout, explanation: Explained) -> Explained:
    """Return an explanation of a model as people name it, for plots and sentences."""
    return shown(explanation, names_of(model))


def effect_unit(model: ModelAbout) -> str | None:
    """Return the unit of the effect that a model is of; None where it is of no experiment."""
    return unit_of_effect(model, names_of(model))


def measure(model: ModelAbout) -> Measure:
    """Return unit and form of what a model predicts."""
    return measure_of_target(model, names_of(model))


def outcome(model: ModelAbout) -> str:
    """Return what the rates of a model's segments are of: its target; of several classes, the one in view."""
    label = class_in_view(model.id)
    return f"{model.target} = {label}" if label else model.target


def goal(model: ModelAbout) -> str:
    """Return what a model predicts, in words; of several classes, the one in view."""
    label, names = class_in_view(model.id), names_of(model)
    return f"{names.column(model.target)} = {names.level(model.target, label)}" if label else target(model, names)


def card(model: ModelAbout) -> Callable[[], str]:
    """Return a function that writes a model's card for the end of a file: one line, then in full. It needs no
    session."""
    return partial(_card, workspace(), model)


def _card(space: Workspace, model: ModelAbout) -> str:
    """Return a model's card; only its line if the full card fails, so that the plot can be downloaded anyway."""
    try:
        return f"{line(model)}\n{_full_card(str(space.root), space.person, model.id, model.name, model.bands)}"
    except (StoreError, TableError, ModelFileError, OSError, ValueError):
        log.exception("The card of %s cannot be written", model.id)
        return line(model)


@lru_cache(64)
def _full_card(root: str, person: Person, model: str, name: str, bands: int) -> str:  # keyed by what changes it
    return full_card(Workspace(Path(root), person), model).text()


def row_filter(model: ModelAbout) -> str:
    """Return the row filter of a model in words; empty if it was trained on all rows."""
    return Spec.from_dict(model.spec).filter_words(names_of(model)) if model.spec else ""


def scale(loss: str) -> Scale:
    """Return the scale of effects in this session."""
    chosen: Scale = st.session_state.get(f"scale-{loss}") or LOSSES[loss].usual_scale
    return chosen if chosen in LOSSES[loss].scales else "link"


def detail(model: ModelAbout, curve: Curve, draft: bool = False) -> str:
    """Return the grey line under a plot's title: scale, base rate, filter, held-out metric; for a draft, that it is
    one refit."""
    parts = described(model, curve, goal(model))
    if draft:
        return " · ".join([*parts, "one refit, no band"])
    if not curve.has_band:
        parts.append(curve.band)
    if model.spec.get("conditions"):
        parts.append(f"only {row_filter(model)}")
    if model.metrics:
        parts.append(f"held-out {metric(model)}")
    return " · ".join(parts)
