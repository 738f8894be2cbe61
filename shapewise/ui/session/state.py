"""What a session works on: ids, in the URL first, then in the session, then the newest in the workspace.

Objects come from the workspace by id, through caches keyed by id: above 50,000 rows streamlit would hash a sample of a
table, and two tables could share a result.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache, partial, wraps
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import pyarrow.parquet as pq
import streamlit as st

import gamcore
from gamcore.data.table import TableError
from gamcore.estimators.gam import Estimator, from_saved
from gamcore.explain.curves import Curve
from gamcore.explain.surfaces import Surface
from gamcore.io.manifest import ModelFileError
from gamcore.model.losses import LOSSES
from gamcore.model.scales import Scale
from gamcore.viz.plots import Mode
from shapewise.access.permissions import Action, Person
from shapewise.ingest.doctor import ColumnReport, examine
from shapewise.jobs.scheduler import keeper
from shapewise.reports.card import card as full_card
from shapewise.reports.card import line, target
from shapewise.scoring import all_rows as wholes
from shapewise.store.cleanup import sweep, why_stopped
from shapewise.store.workspace import ModelAbout, StoreError, TableAbout, Workspace, default_root
from shapewise.training.dataset import Data, read_data
from shapewise.training.spec import Spec
from shapewise.ui.session import memory, signin
from shapewise.ui.session.words import md, metric

log = logging.getLogger(__name__)


@st.cache_resource(show_spinner=False)
def _workspace(root: str) -> tuple[Workspace, str]:
    """Return the workspace, and what its sweep at the start stopped at."""
    space = Workspace(default_root())
    stopped = sweep(space).stopped
    keeper(space).wake()  # what waits when the server starts
    return space, stopped


def workspace() -> Workspace:
    """Return the workspace of this server, as the person of this session sees it."""
    space, _ = _workspace(str(default_root()))
    return space.seen_by(signin.person(space))


def warn_of_sweep() -> None:
    """Say to whoever looks after the workspace that there are files without records, if so."""
    space, stopped = _workspace(str(default_root()))
    if stopped and workspace().may("administer") and (now := _unswept(space.root)):
        st.warning(md(now), icon=":material/folder_off:")


@st.cache_data(show_spinner=False, ttl=60)
def _unswept(_root: Path) -> str:
    """Return why a sweep would stop now: somebody may have mended what stopped the one at the start."""
    return why_stopped(Workspace(_root))


def mine(kind: str, identifier: str, action: Action = "change") -> bool:
    """Return whether this person may do something with a thing: what they may not is not offered."""
    return workspace().may(action, kind, identifier)


@st.cache_resource(show_spinner=False)
def warm_up() -> None:
    """Compile the kernels in the background, once a server, before anybody waits for them; GAMCORE_WARM_UP=0 leaves it
    to whoever waits."""
    memory.settle()
    if os.environ.get("GAMCORE_WARM_UP") == "0":
        return
    threading.Thread(target=gamcore.warmup, daemon=True, name="warm-up").start()


Made = TypeVar("Made")


def kept(copies: bool = False, **options: Any) -> Callable[[Callable[..., Made]], Callable[..., Made]]:
    """Keep what a function makes of ids, for each person apart: nobody is given what another was allowed to see.

    copies : each caller gets an own copy. options : of streamlit's caches.
    """

    def keep(make: Callable[..., Made]) -> Callable[..., Made]:
        def made(who: str, *of: Any) -> Made:
            return make(*of)

        # Streamlit tells the caches of functions apart by these names.
        made.__module__, made.__qualname__ = make.__module__, make.__qualname__
        cached = (st.cache_data if copies else st.cache_resource)(**options)(made)

        @wraps(make)
        def call(*of: Any) -> Made:
            return cached(workspace().person.id, *of)

        def clear(*of: Any) -> None:
            cached.clear(workspace().person.id, *of)

        call.clear = clear  # type: ignore[attr-defined]
        return call

    return keep


def n_jobs() -> int:
    """Return the threads of a training."""
    return workspace().limits.threads or os.cpu_count() or 1


def mode() -> Mode:
    """Return the theme in the browser."""
    return "dark" if st.context.theme.type == "dark" else "light"


def current_table() -> TableAbout | None:
    """Return the table in hand."""
    identifier = current("table", [table.id for table in workspace().tables.listed()])
    return workspace().tables.about(identifier) if identifier else None


def current_model() -> ModelAbout | None:
    """Return the model in hand."""
    identifier = current("model", [model.id for model in workspace().models.listed()])
    return workspace().models.about(identifier) if identifier else None


def current(kind: str, known: list[str]) -> str | None:
    """Return the thing in hand of some ids, the newest first: the URL's, the session's, or the newest."""
    asked = st.query_params.get(kind)
    for candidate in (asked, st.session_state.get(f"{kind}_id"), known[0] if known else None):
        if candidate in known:
            choose(kind, candidate)
            return candidate
    if asked:
        del st.query_params[kind]
    return None


def choose(kind: str, identifier: str) -> None:
    """Take a table or model in hand, and put it into the URL so that a reload finds it."""
    st.session_state[f"{kind}_id"] = identifier
    if st.query_params.get(kind) != identifier:
        st.query_params[kind] = identifier


@st.cache_resource(show_spinner=False, max_entries=6)
def _frame(table: str) -> pd.DataFrame:
    return workspace().tables.read(table)


def frame(table: str) -> pd.DataFrame:
    """Return a table by id; shared by all sessions, so never changed.

    This and what follows keep things by id for everybody: whoever asks must first be allowed to see the thing.
    """
    workspace().thing("tables", table)
    return _frame(table)


def rows_of(table: str, columns: Sequence[str]) -> pd.DataFrame:
    """Return all rows of a table by id, and some of its columns at least: what is counted is not that of a sample."""
    if workspace().tables.about(table).sampled:
        return wholes.read(workspace(), table, columns)
    return frame(table)


@st.cache_data(show_spinner=False, max_entries=1000)
def _columns(table: str) -> list[str]:
    return list(pq.read_schema(workspace().tables.path(table)).names)


def columns(table: str) -> list[str]:
    """Return the names of the columns of a table by id, without reading it."""
    workspace().thing("tables", table)
    return _columns(table)


@st.cache_resource(show_spinner=False, max_entries=32)
def _reports(table: str) -> list[ColumnReport]:
    return examine(_frame(table), workspace().tables.about(table).rows)


def reports(table: str) -> list[ColumnReport]:
    """Return the column doctor's reports on a table."""
    workspace().thing("tables", table)
    return _reports(table)


def estimator(model: str) -> Estimator:
    """Return a fitted estimator by its model's id."""
    return _estimator(model, workspace().models.about(model).bands)


@kept(show_spinner=False, max_entries=32)
def _estimator(model: str, bands: int) -> Estimator:  # a model gets its bands later: then it is another
    return from_saved(workspace().models.load(model))


def data(model: ModelAbout) -> Data | None:
    """Return the rows of a stored additive model; None where its table is no longer here."""
    if not model.spec or model.table not in {table.id for table in workspace().tables.listed()}:
        return None
    return _data(model.id)


@kept(show_spinner="Reading the table", max_entries=6)
def _data(model: str) -> Data:
    spec = Spec.from_dict(workspace().models.about(model).spec)
    return read_data(frame(spec.table), spec, workspace().tables.about(spec.table).held_out_by)


@kept(show_spinner=False, max_entries=64)
def _surface(model: str, bands: int, first: str, second: str) -> Surface:
    return _estimator(model, bands).explain_pair(first, second)


def surface(model: str, first: str, second: str) -> Surface:
    """Return the joint effect of a pair of a stored model."""
    return _surface(model, workspace().models.about(model).bands, first, second)


def goal(model: ModelAbout) -> str:
    """Return what a model predicts, in words."""
    return target(model)


def card(model: ModelAbout) -> Callable[[], str]:
    """Return what makes the card of a model, for the ends of files: in a line, then in full. It may run without a
    session."""
    return partial(_card, workspace(), model)


def _card(space: Workspace, model: ModelAbout) -> str:
    """Return a plot is handed out whether or not all of the card can be told."""
    try:
        return f"{line(model)}\n{_full_card(str(space.root), space.person, model.id, model.name, model.bands)}"
    except (StoreError, TableError, ModelFileError, OSError, ValueError):
        log.exception("The card of %s cannot be told", model.id)
        return line(model)


@lru_cache(64)
def _full_card(root: str, person: Person, model: str, name: str, bands: int) -> str:  # by what changes it
    return full_card(Workspace(Path(root), person), model).text()


def row_filter(model: ModelAbout) -> str:
    """Return the rows that a model was trained on, in words; empty where on all."""
    return Spec.from_dict(model.spec).filter_words() if model.spec else ""


def scale(loss: str) -> Scale:
    """Return the scale that effects are read on in this session."""
    chosen: Scale = st.session_state.get("scale") or "points"
    return chosen if chosen in LOSSES[loss].scales else "link"


def detail(model: ModelAbout, curve: Curve, draft: bool = False) -> str:
    """Return the grey line under a plot's title: scale, base rate, filter, held-out metric; of a draft, that it is
    one."""
    parts = curve.detail(goal(model))
    if draft:
        return " · ".join([*parts, "one refit, no band"])
    if not curve.has_band:
        parts.append(curve.band)
    if model.spec.get("conditions"):
        parts.append(f"only {row_filter(model)}")
    if model.metrics:
        parts.append(f"held-out {metric(model)}")
    return " · ".join(parts)
