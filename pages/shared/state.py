"""What a session works on: ids, in the URL first, then in the session, then the newest in the workspace.

Objects come from the workspace by id, through caches keyed by id: above 50,000 rows streamlit would hash a sample of a
table, and two tables could share a result.
"""

from __future__ import annotations

import os
import threading

import pandas as pd
import pyarrow.parquet as pq
import streamlit as st

import gamcore
from gamcore.estimators import Estimator, from_saved
from gamcore.explain import Curve
from gamcore.figures import Mode
from gamcore.workspace.doctor import ColumnReport, examine
from gamcore.workspace.spec import Spec
from gamcore.workspace.store import ModelAbout, TableAbout, Workspace, default_root
from pages.shared.words import metric


@st.cache_resource(show_spinner=False)
def _workspace(root: str) -> Workspace:
    return Workspace(default_root())


def workspace() -> Workspace:
    """The workspace of this server."""
    return _workspace(str(default_root()))


@st.cache_resource(show_spinner=False)
def warm_up() -> None:
    """Compile the kernels in the background, once a server, before anybody waits for them."""
    threading.Thread(target=gamcore.warmup, daemon=True, name="warm-up").start()


def n_jobs() -> int:
    """Threads of a training: all processors."""
    return os.cpu_count() or 1


def mode() -> Mode:
    """The theme in the browser."""
    return "dark" if st.context.theme.type == "dark" else "light"


def current_table() -> TableAbout | None:
    """The table in hand."""
    identifier = _current("table", [table.id for table in workspace().tables()])
    return workspace().table(identifier) if identifier else None


def current_model() -> ModelAbout | None:
    """The model in hand."""
    identifier = _current("model", [model.id for model in workspace().models()])
    return workspace().model(identifier) if identifier else None


def _current(kind: str, known: list[str]) -> str | None:
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
def frame(table: str) -> pd.DataFrame:
    """A table by id; shared by all sessions, so never changed."""
    return workspace().read_table(table)


@st.cache_data(show_spinner=False, max_entries=1000)
def columns(table: str) -> list[str]:
    """Names of the columns of a table by id, without reading it."""
    return list(pq.read_schema(workspace().table_path(table)).names)


@st.cache_resource(show_spinner=False, max_entries=32)
def reports(table: str) -> list[ColumnReport]:
    """The column doctor's reports on a table."""
    return examine(frame(table))


@st.cache_resource(show_spinner=False, max_entries=32)
def estimator(model: str) -> Estimator:
    """A fitted estimator by its model's id."""
    return from_saved(workspace().load_model(model))


def goal(model: ModelAbout) -> str:
    """What a model predicts, in words."""
    positive = model.spec.get("positive")
    return f"{model.target} = {' or '.join(positive)}" if positive else model.target or "the target"


def row_filter(model: ModelAbout) -> str:
    """The rows a model was trained on, in words; empty where on all."""
    conditions = Spec.from_dict(model.spec).conditions if model.spec else []
    return " and ".join(condition.words() for condition in conditions)


def scale(model: ModelAbout, curve: Curve) -> str:
    """What a curve's scores are in, in words."""
    return "the log-odds" if curve.loss == "logistic" else goal(model)


def detail(model: ModelAbout, curve: Curve) -> str:
    """The grey line under a plot's title: scale, base rate, refits, held-out metric."""
    parts = [f"effect on {scale(model, curve)}"]
    if "base_rate" in model.metrics:
        parts.append(f"base rate {model.metrics['base_rate']:.1%}")
    parts.append(f"band: {curve.band}" if curve.has_band else "one refit, no band")
    if model.spec.get("conditions"):
        parts.append(f"only {row_filter(model)}")
    if model.metrics:
        parts.append(f"held-out {metric(model)}")
    return " · ".join(parts)
