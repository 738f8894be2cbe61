"""Blocks shared by several pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Literal, NoReturn, TypedDict

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gamcore.common.numbers import fixed, percent
from gamcore.decide.results import effect_of
from gamcore.estimators.base import loss_of
from gamcore.explain.curves import Curve
from gamcore.explain.surfaces import Surface
from gamcore.model.losses import LOSSES
from gamcore.model.scales import Scale
from gamcore.viz import files as export
from gamcore.viz.spec import Plot
from shapewise.places import PAGES
from shapewise.reports.card import measured_by
from shapewise.store.history import Departed
from shapewise.store.projects import Project
from shapewise.store.workspace import ModelAbout, TableAbout
from shapewise.training.dataset import learnt_from
from shapewise.training.naming import labels
from shapewise.training.spec import Spec
from shapewise.ui.session import current, state
from shapewise.ui.session.current import InView
from shapewise.ui.session.words import count, counted, date, md, number
from shapewise.ui.widgets import chart, downloads, drawn, tiles
from shapewise.ui.widgets.chart import CONFIG, Place

MOST_OFFERED = 5
_metric = partial(DeltaGenerator.metric, border=True, height="stretch")
FORMATS: dict[export.PlotFormat, str] = {
    "png": "PNG", "svg": "SVG", "pdf": "PDF", "pptx": "PPTX", "html": "HTML", "csv": "CSV", "xlsx": "XLSX",
    "txt": "Text",
}  # fmt: skip


def empty(icon: str, sentence: str, label: str, page: str) -> NoReturn:
    """Show an empty state (an icon, a sentence and a button), and stop the page."""
    with st.container(border=True, horizontal_alignment="center"):
        st.markdown(f":material/{icon}: &nbsp; {sentence}", width="content", text_alignment="center")
        if st.button(label, type="primary", key="of-empty"):
            st.switch_page(PAGES / f"{page}.py")
    st.stop()


def missing(now: InView, gone: Departed | None = None) -> NoReturn:
    """Say what became of what was asked for, and offer what there is. Ends the page."""
    gone = gone or now.missing
    assert gone is not None
    with st.container(border=True):
        name = f", **{md(gone.name)}**," if gone.name else ""
        ending = f"was deleted on {date(gone.deleted)} by {md(gone.by)}" if gone.deleted else ""
        st.markdown(
            f":material/link_off: &nbsp; This {gone.what}{name} {ending}." if ending else
            f":material/link_off: &nbsp; There is no such {gone.what}, or it is not shared with you."
        )  # fmt: skip
        nearest = [now.project] if now.project else now.projects[:MOST_OFFERED]
        for project in nearest:
            for identifier, label in list(labels(project).items())[:MOST_OFFERED]:
                st.button(
                    f"Open {md(label)} :gray[· {md(project.name)}]", key=f"instead-{identifier}",
                    on_click=current.open_model, args=(identifier,),
                )  # fmt: skip
            if not project.models:
                st.button(
                    f"Open {md(project.name)}", key=f"instead-{project.id}", on_click=current.open_table,
                    args=(project.tables[0].id,),
                )  # fmt: skip
        if not nearest:
            st.page_link(PAGES / "home.py", label="Go to Home", icon=":material/home:")
    st.stop()


def table_in_view() -> TableAbout:
    """Return the table in view; without one, the page ends with the empty state or with what became of it."""
    now = current.in_view()
    if now.missing is not None:
        missing(now)
    if now.table is None and now.project is not None:
        empty("table", "The table of this project was deleted.", "Load a table", "home")
    if now.table is None:
        empty("table", "There is no table yet.", "Load a table", "home")
    return now.table


def no_model(now: InView) -> NoReturn:
    """Show the empty state of a page about models; if there is no table either, lead to Home."""
    if now.table is not None:
        empty("model_training", f"There is no model of {md(now.table.name)} yet.", "Train one", "train")
    empty("model_training", "There is no model yet, and no table to train on.", "Load a table", "home")


def any_model_in_view() -> ModelAbout:
    """Return the model in view; without one, the page ends with the empty state or with what became of it."""
    return _model_of(current.in_view())


def _model_of(now: InView) -> ModelAbout:
    if now.missing is not None:
        missing(now)
    if now.model is None:
        no_model(now)
    return now.model


def model_in_view(of_tasks: bool = False) -> ModelAbout:
    """Return the model in view, which is of the page's kind; else the page ends and says what there is."""
    now = current.in_view()
    model = _model_of(now)
    if model.of_tasks != of_tasks and now.project is not None:
        _other_kind(now.project, of_tasks)
    return model


def _other_kind(project: Project, of_tasks: bool) -> NoReturn:
    """Say that the model in view is not of the page's kind, and offer those of the project that are. Ends the page."""
    there = [(model.id, label) for model in project.models if model.of_tasks == of_tasks
             for label in [labels(project)[model.id]]]  # fmt: skip
    with st.container(border=True):
        st.markdown(
            ":material/hub: &nbsp; This page is about models of several tasks; the model in view has one." if of_tasks
            else ":material/hub: &nbsp; The model in view has several tasks: it is read on the page Tasks."
        )  # fmt: skip
        for identifier, label in there[:MOST_OFFERED]:
            st.button(f"Open {md(label)}", key=f"kind-{identifier}", on_click=current.open_model, args=(identifier,))
        with st.container(horizontal=True):
            if not of_tasks and st.button("Open Tasks", type="primary"):
                st.switch_page(PAGES / "tasks.py")
            if not there and st.button("Train one", type="primary" if of_tasks else "secondary", key="train-one"):
                st.switch_page(PAGES / "train.py")
    st.stop()


SCALE_WORDS: dict[Scale, str] = {
    "points": "Percentage points", "ratio": "Odds ratio", "link": "Log-odds", "units": "Units",
}  # fmt: skip
SCALE_HELP = (
    "Percentage points: what an effect adds to the base rate, for an otherwise average row. Odds "
    "ratio: what it multiplies the odds by, for every row. Log-odds: the log of the odds; effects on it add up."
)
LOG_WORDS: dict[Scale, str] = {"ratio": "Factor", "units": "Units", "link": "Log"}
LOG_HELP = (
    "Factor: what an effect multiplies the mean by, for every row; 1 is average. Units: what it adds to the mean of "
    "an otherwise average row. Log: the log of the factor; effects on it add up."
)


def words_of_scales(loss: str) -> dict[Scale, str]:
    """Return the scales on which effects of a loss can be read, and how people call them."""
    words = LOG_WORDS if LOSSES[loss].has_log_link else SCALE_WORDS
    return {scale: scale_words for scale, scale_words in words.items() if scale in LOSSES[loss].scales}


def pick_scale(loss: str) -> Scale:
    """Show the choice of scale for effects, shared by all pages; a target in its own units has only one scale."""
    if len(LOSSES[loss].scales) == 1:
        return "link"
    words, hint = words_of_scales(loss), LOG_HELP if LOSSES[loss].has_log_link else SCALE_HELP
    return st.segmented_control(
        "Scale", list(words), default=LOSSES[loss].usual_scale, required=True, format_func=words.__getitem__,
        key=f"scale-{loss}", persist_state="session", help=hint,
    )  # fmt: skip


def pick_class(model: ModelAbout) -> None:
    """Show the choice of the class that a model of several is read by, shared by all pages."""
    names = state.class_names(model.id)
    if not names:
        return
    st.selectbox(
        "Class", names, index=names.index(state.class_in_view(model.id)), key=state.CLASS, persist_state="session",
        format_func=partial(state.names_of(model).level, model.target),
        help="Curves, pairs and segments are those of one class beside the others.", width=260,
    )  # fmt: skip


def effects_of(model: ModelAbout) -> tuple[Scale, Place]:
    """Return the scale that a model's effects are read on, and the place of the page's first chart, whose options hold
    that scale."""
    place = chart.first()
    with place.options:
        if not model.of_tasks:
            pick_class(model)
        return pick_scale(loss_of(state.estimator(model.id)).name), place


def effects_in_view(of_tasks: bool = False) -> tuple[ModelAbout, Scale, Place]:
    """Return the model in view, its scale, and the place of the page's first chart."""
    model = model_in_view(of_tasks)
    return model, *effects_of(model)


def metrics(model: ModelAbout) -> None:
    """Show the held-out metrics of a model beside their baseline."""
    numbers = model.metrics
    if not numbers:
        st.caption("This model was imported: it has not been evaluated on a table here.")
        return
    at = tiles.row()
    if "qini" in numbers:
        _metrics_of_effect(at, model, numbers)
    elif "auc" in numbers:
        _metrics_of_classes(at, model, numbers)
    elif "class_auc" in numbers:
        _metrics_of_several(at, numbers)
    elif "explained" in numbers:
        _metrics_by_loss(at, model, numbers)
    else:
        _metrics_of_numbers(at, model, numbers)
    _metric(at, "Training rows", count(model.rows["training"]), help=_of_which_rows(model))


def _of_which_rows(model: ModelAbout) -> str:
    """Say which rows a model was trained on, and on which it was measured."""
    held, part = count(model.rows["held_out"]), learnt_from(model.rows)
    words = f"{held} more rows are held out, never used for fitting or early stopping."
    if "sample" in model.rows:
        words = (
            "All rows of the table but those held out; rows per bin and the base rate are of all of them, too. The "
            f"metrics are of {held} held-out rows in a sample of {counted(model.rows['sample'], 'row')}."
        )
    words += f" The model learned {part}." if part else ""
    return words + " The cluster trained it." * model.on_cluster


def _metrics_of_classes(at: DeltaGenerator, model: ModelAbout, numbers: dict[str, float]) -> None:
    _metric(
        at, "AUC, mean of tasks" if model.of_tasks else "AUC", fixed(numbers['auc'], 3),
        help="On held-out rows. 0.5 is guessing, 1 is perfect.",
    )  # fmt: skip
    _metric(
        at, "Log-loss", fixed(numbers['log_loss'], 4), **_change(numbers, "log_loss"),
        help=f"On held-out rows, beside that of always predicting {_baseline(model, 'base rate')}.",
    )  # fmt: skip
    _metric(at, "Base rate", percent(numbers["base_rate"]), help="Share of positive training rows.")


def _metrics_of_numbers(at: DeltaGenerator, model: ModelAbout, numbers: dict[str, float]) -> None:
    _metric(
        at, "RMSE", number(numbers["rmse"]), **_change(numbers, "rmse"),
        help=f"On held-out rows, beside that of always predicting {_baseline(model, 'mean')}.",
    )  # fmt: skip
    _metric(
        at, "R²", fixed(numbers['r2'], 3),
        help=f"On held-out rows. 1 is perfect, 0 is {_baseline(model, 'mean')}.",
    )  # fmt: skip
    _metric(at, "Mean of the target", number(numbers["mean"]), help="Of the training rows.")


def _metrics_of_effect(at: DeltaGenerator, model: ModelAbout, numbers: dict[str, float]) -> None:
    unit = state.effect_unit(model) or ""
    for label, key, hint in (
        ("Measured effect", "effect", f"Treated minus control in {measured_by(model)}, on average"),
        (
            "Qini",
            "qini",
            f"Gain of treating in the model's order over any other order, per row, in {measured_by(model)}; 0 is none",
        ),
    ):
        shown = effect_of(numbers[key], (numbers[f"{key}_low"], numbers[f"{key}_high"]), unit)
        _metric(at, label, md(shown.text), md(shown.ends), delta_color="off", delta_arrow="off",
                help=f"{hint}, with its 95% interval.")  # fmt: skip


def _metrics_of_several(at: DeltaGenerator, numbers: dict[str, float]) -> None:
    _metric(
        at, "Right class", percent(numbers["accuracy"]),
        help="Share of held-out rows whose likeliest class is theirs. Always saying the most frequent one: "
        f"{percent(numbers['baseline_accuracy'])}.",
    )  # fmt: skip
    _metric(
        at, "Log-loss", fixed(numbers["log_loss"], 4), **_change(numbers, "log_loss"),
        help="On held-out rows, beside that of always predicting the shares of the classes.",
    )  # fmt: skip
    _metric(
        at, "AUC, mean of classes", fixed(numbers["class_auc"], 3),
        help="Of each class against all others, on held-out rows. 0.5 is guessing, 1 is perfect.",
    )  # fmt: skip


def _metrics_by_loss(at: DeltaGenerator, model: ModelAbout, numbers: dict[str, float]) -> None:
    spec = Spec.from_dict(model.spec)
    error = LOSSES[spec.loss].error
    _metric(
        at, "Explained", percent(numbers["explained"]),
        help=f"Share of the {error} of held-out rows that predictions remove, beside those of the mean alone.",
    )  # fmt: skip
    _metric(
        at, error[:1].upper() + error[1:], number(numbers["loss"], 4), **_change(numbers, "loss"),
        help="Per held-out row, beside that of always predicting the mean.",
    )  # fmt: skip
    if "below" in numbers:
        _metric(
            at, "Rows below", percent(numbers["below"]),
            help=f"Share of held-out rows below their prediction; {percent(spec.quantile, 0)} was asked for.",
        )  # fmt: skip
    else:
        per = f", per unit of {md(state.names_of(model).column(spec.exposure))}" if spec.exposure else ""
        _metric(at, "Mean rate" if per else "Mean", number(numbers["mean"], 4),
                  help=f"Of the training rows{per}.")  # fmt: skip


def _baseline(model: ModelAbout, name: str) -> str:
    """Return the baseline of a model's metrics; with several tasks, each task's own: knowing the task is no skill."""
    return f"each task's {name}" if model.of_tasks else f"the {name}"


class Change(TypedDict, total=False):
    """How `st.metric` shows a change."""

    delta: str
    delta_color: Literal["green", "red"]
    delta_arrow: Literal["up", "down"]


def _change(numbers: dict[str, float], name: str) -> Change:
    """Return how a loss compares with the baseline's; nothing if they are equal when rounded."""
    value, baseline = numbers[name], numbers[f"baseline_{name}"]
    percent = round(100 * (value / baseline - 1)) if baseline > 0 else 0
    if not percent:
        return {}
    if percent < 0:
        return {"delta": f"{-percent}% below guessing", "delta_color": "green", "delta_arrow": "down"}
    return {"delta": f"{percent}% above guessing", "delta_color": "red", "delta_arrow": "up"}


def headline(plot: Plot, key: str) -> None:
    """Show what a plot says and what it is of, above it: text of the page wraps, a title inside the figure does not."""
    with st.container(gap=None, key=f"headline-{key}"):
        _say(plot)


def _say(plot: Plot) -> None:
    st.markdown(f"##### {md(plot.title)}")
    if plot.detail:
        st.caption(md(plot.detail))


def figure(
    plot: Plot, key: str, source: str, about: Callable[[], str] = str, titled: bool = True,
    over: Curve | Surface | None = None, on_box: Callable[[], None] | None = None,
    on_point: Callable[[], None] | None = None, at: Place | None = None,
) -> None:  # fmt: skip
    """Show a plot below its sentence, and its numbers and downloads in its options.

    source : what the plot is about, for file names. about : returns its model's card, for the end of files. titled :
    False if the page has its own title. over : the curve or surface that a box can be dragged on; then `on_box` is
    called. on_point : is called when a bar or a dot is clicked; what was clicked is in the state under `key`. at : its
    place, where the page has made one.
    """
    at = at or chart.place(key)
    if titled:
        with at.sentence:
            _say(plot)
    with at.options:
        drag = chart.pick_drag(key, on_box is not None)
        st.dataframe(plot.numbers, hide_index=True, height=180, alt="Numbers of the chart.")
        with st.container(horizontal=True):
            for form, label in FORMATS.items():
                downloads.button(label, partial(_file_bytes, plot, form, about),
                                 export.file_name(source, plot.name, form), f"{key}-{form}")  # fmt: skip
    height = min(plot.height, at.most or plot.height)
    shown = drawn.figure(replace(plot, height=height), titled=False, on=over).dragged(drag)
    with at.drawing:
        if on_point is not None:
            st.plotly_chart(shown, key=key, theme=None, config=CONFIG, alt=plot.words, on_select=on_point,
                            selection_mode="points")  # fmt: skip
        elif on_box is None:
            st.plotly_chart(shown, key=key, theme=None, config=CONFIG, alt=plot.words)
        else:
            st.plotly_chart(shown, key=key, theme=None, config=CONFIG, alt=plot.words, on_select=on_box,
                            selection_mode="box")  # fmt: skip


def of_model(plot: Plot, model: ModelAbout, titled: bool = False) -> None:
    """Show a plot about a model. titled : False where the page says itself what it shows."""
    figure(plot, f"{plot.name}-{model.id}", model.name, state.card(model), titled=titled)


def _file_bytes(plot: Plot, form: export.PlotFormat, about: Callable[[], str]) -> bytes:
    return export.to_bytes(plot, form, "" if form == "csv" else about())


def small(plot: Plot, key: str) -> None:
    """Show a small plot, one of many: a picture, which a browser shows at once."""
    with st.container(key=key):
        st.image(drawn.small(plot), width="stretch", alt=plot.words)
