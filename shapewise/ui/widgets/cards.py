"""Blocks that several pages show."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import plotly.graph_objects as go
import streamlit as st

from gamcore.model.losses import LOSSES, default_loss
from gamcore.model.scales import Scale
from gamcore.viz import files as export
from gamcore.viz import plotly_figures as figures
from gamcore.viz.plots import Plot
from shapewise.store.workspace import ModelAbout, TableAbout
from shapewise.training.dataset import learnt_from
from shapewise.ui.session import state
from shapewise.ui.session.words import count, date, md, metric, number, told_apart
from shapewise.ui.widgets import downloads

PAGES = Path(__file__).parents[3] / "pages"
FORMATS: dict[export.PlotFormat, str] = {
    "png": "PNG", "svg": "SVG", "pdf": "PDF", "pptx": "PPTX", "html": "HTML", "csv": "CSV", "xlsx": "XLSX",
    "txt": "Text",
}  # fmt: skip
CONFIG = {"displaylogo": False, "modeBarButtonsToRemove": ["lasso2d", "select2d", "autoScale2d"]}


def empty(icon: str, sentence: str, label: str, page: str) -> None:
    """Show what a page without its subject shows: an icon, a sentence, a way on. Ends the page."""
    with st.container(border=True, horizontal_alignment="center"):
        st.markdown(f":material/{icon}: &nbsp; {sentence}")
        if st.button(label, type="primary"):
            st.switch_page(PAGES / f"{page}.py")
    st.stop()


def pick_table() -> TableAbout:
    """Return the table in hand, changeable; without any, the empty state."""
    table = state.current_table()
    if table is None:
        empty("table", "There is no table yet.", "Load a table", "data")
    known = {t.id: t for t in state.workspace().tables.listed()}
    if len(known) > 1:
        chosen = st.selectbox(
            "Table",
            list(known),
            index=list(known).index(table.id),
            format_func=told_apart({i: _table_label(t) for i, t in known.items()}).__getitem__,
        )
        state.choose("table", chosen)
        return known[chosen]
    return table


def _table_label(table: TableAbout) -> str:
    return f"{table.name} ({count(table.rows)} rows, {date(table.created)})"


def no_model() -> None:
    """Show the empty state of a page about models: the way on is a table where there is none."""
    if state.workspace().tables.listed():
        empty("model_training", "There is no model yet.", "Train one", "train")
    empty("model_training", "There is no model yet, and no table to train on.", "Load a table", "data")


def pick_model(of_tasks: bool = False) -> ModelAbout:
    """Return the model in hand, changeable; without any of the page's kind, the empty state."""
    known = {m.id: m for m in state.workspace().models.listed() if m.of_tasks == of_tasks}
    model = state.current_model()
    if model is None:
        no_model()
    if not known and of_tasks:
        empty("hub", "There is no model of several tasks yet.", "Train one", "train")
    if not known:
        empty("hub", "All models here are of several tasks: they are read on the page Tasks.", "Open Tasks", "tasks")
    if model.id not in known:
        model = next(iter(known.values()))
        state.choose("model", model.id)
    if len(known) > 1:
        chosen = st.selectbox(
            "Model",
            list(known),
            index=list(known).index(model.id),
            format_func=told_apart({i: _model_label(m) for i, m in known.items()}).__getitem__,
        )
        state.choose("model", chosen)
        return known[chosen]
    st.caption(f"Model: {md(_model_label(model))}")
    return model


SCALE_WORDS: dict[Scale, str] = {"points": "Percentage points", "ratio": "Odds ratio", "link": "Log-odds"}


def pick_scale(loss: str) -> Scale:
    """Return the scale that effects are read on, the same on every page; a target in its own units has only one."""
    if len(LOSSES[loss].scales) == 1:
        return "link"
    return st.segmented_control(
        "Scale", list(SCALE_WORDS), default="points", required=True, format_func=SCALE_WORDS.__getitem__, key="scale",
        persist_state="session",
        help="Percentage points: what an effect adds to the base rate, for an otherwise average row. Odds "
        "ratio: what it multiplies the odds by, for every row. Log-odds: the log of that, which is what adds up.",
    )  # fmt: skip


def pick_effects(of_tasks: bool = False) -> tuple[ModelAbout, Scale]:
    """Return a model, and the scale that its effects are read on, side by side."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        model = pick_model(of_tasks)
        return model, pick_scale(default_loss(model.kind.endswith("classifier")).name)


def _model_label(model: ModelAbout) -> str:
    return f"{model.name} · {metric(model)} · {date(model.created)}"


def metrics(model: ModelAbout) -> None:
    """Show the held-out metrics of a model beside their baseline."""
    numbers = model.metrics
    if not numbers:
        st.caption("This model was imported: it has not been evaluated on a table here.")
        return
    row = st.container(horizontal=True)  # wraps where the window is narrow
    if "auc" in numbers:
        row.metric(
            "AUC, mean of tasks" if model.of_tasks else "AUC, held-out rows",
            f"{numbers['auc']:.3f}",
            border=True,
            height="stretch",
            help="0.5 is guessing, 1 is perfect.",
        )
        row.metric(
            "Log-loss, held-out rows", f"{numbers['log_loss']:.4f}",
            _change(numbers["log_loss"], numbers["baseline_log_loss"], _baseline(model, "base rate")),
            delta_color="inverse", border=True, height="stretch",
        )  # fmt: skip
        row.metric(
            "Base rate", f"{numbers['base_rate']:.1%}", border=True, height="stretch", help="Share of positive rows."
        )
    else:
        row.metric(
            "RMSE, held-out rows", number(numbers["rmse"]),
            _change(numbers["rmse"], numbers["baseline_rmse"], _baseline(model, "mean")),
            delta_color="inverse", border=True, height="stretch",
        )  # fmt: skip
        row.metric(
            "R², held-out rows",
            f"{numbers['r2']:.3f}",
            border=True,
            height="stretch",
            help=f"1 is perfect, 0 is {_baseline(model, 'mean')}.",
        )
        row.metric("Mean of the target", number(numbers["mean"]), border=True, height="stretch")
    part = learnt_from(model.rows)
    row.metric(
        "Training rows", count(model.rows["training"]), border=True, height="stretch",
        help=f"{count(model.rows['held_out'])} more rows are held out, never used in fitting or early stopping."
        + (f" They are of a sample of {count(model.rows['sample'])} rows." if "sample" in model.rows else "")
        + (f" The model learnt {part}." if part else ""),
    )  # fmt: skip


def _baseline(model: ModelAbout, name: str) -> str:
    """Return what a model's metrics are held against: with several tasks, knowing which is no skill."""
    return f"each task's {name}" if model.of_tasks else f"the {name}"


def _change(value: float, baseline: float, name: str) -> str | None:
    """Return how much better or worse than a baseline; nothing where that rounds to nothing."""
    percent = round(100 * (value / baseline - 1)) if baseline > 0 else 0
    return f"{percent:+d}% against {name}" if percent else None


def figure(
    plot: Plot, key: str, source: str, about: Callable[[], str] = str, titled: bool = True,
    drawn: go.Figure | None = None, on_box: Callable[[], None] | None = None,
) -> None:  # fmt: skip
    """Show a plot with its numbers and its downloads.

    source : what it is of, for names of files. about : makes the card of its model, for the ends of files. titled :
    False where the page says what it is. drawn : the figure, where the page adds to it; `on_box` is called when a
    rectangle was dragged on it.
    """
    shown = drawn or figures.draw(plot, state.mode(), titled)
    if on_box is None:
        st.plotly_chart(shown, key=key, theme=None, config=CONFIG, alt=plot.words)
    else:
        config = {**CONFIG, "modeBarButtonsToRemove": ["lasso2d", "autoScale2d"]}
        st.plotly_chart(shown, key=key, theme=None, config=config, alt=plot.words, on_select=on_box,
                        selection_mode="box")  # fmt: skip
    with st.container(horizontal=True):
        with st.popover("Numbers", icon=":material/table_rows:"):
            st.dataframe(plot.numbers, hide_index=True, width=640)
        with st.popover("Download", icon=":material/download:"), st.container(horizontal=True, width=420):
            for form, label in FORMATS.items():
                downloads.button(label, partial(_made, plot, form, about),
                                 export.file_name(source, plot.name, form), f"{key}-{form}")  # fmt: skip


def _made(plot: Plot, form: export.PlotFormat, about: Callable[[], str]) -> bytes:
    return export.to_bytes(plot, form, "" if form == "csv" else about())


def small(plot: Plot, key: str) -> None:
    """Show a small plot, one of many."""
    st.plotly_chart(
        figures.draw(plot, state.mode()), key=key, theme=None, config={"displayModeBar": False}, alt=plot.words
    )
