"""Models of an older version of a table: retrained on a newer one, and compared."""

from __future__ import annotations

from typing import Final

import streamlit as st

from gamcore.data.column_names import Names
from gamcore.estimators.base import loss_of
from gamcore.explain.curve_drift import CurveMoves, curve_moves
from gamcore.model.scales import Scale, say
from shapewise.places import PAGES
from shapewise.store.workspace import ModelAbout, StoreError, TableAbout
from shapewise.training import runs
from shapewise.training.carry_over import Carried, alike, carried, counterpart, newest
from shapewise.training.runs import Run
from shapewise.training.spec import Spec
from shapewise.ui.session import followed, news, state
from shapewise.ui.session.words import counted, date, md, metric, told_apart
from shapewise.ui.widgets import retrain_button, run_line
from shapewise.ui.widgets.columns import PERCENT, hundredfold, measured

ADDS: Final = (
    "For a newer version that holds only new rows: the model learns from them and from the counts that were kept of "
    "the older rows. Its bins stay as they were."
)

ModelPair = tuple[ModelAbout, ModelAbout]


def show(then: TableAbout, now: TableAbout) -> None:
    """Show each model of the older version, with the button that retrains it or its changes since."""
    listed = state.workspace().models.listed()
    models = [model for model in listed if model.table == then.id and model.spec and not model.edits]
    if not models:
        st.caption("The older version has no model to retrain.")
        return
    again = [model for model in state.workspace().models.listed() if model.table == now.id]
    running = [run for run in runs.active(state.workspace()) if run.spec.table == now.id]
    shown: list[Spec] = []
    pairs: list[ModelPair] = []
    for model in models:
        spec = Spec.from_dict(model.spec)
        if any(alike(spec, other) for other in shown):  # same settings: show one of them
            continue
        shown.append(spec)
        carried_over = carried(spec, state.frame(then.id), now.id, state.frame(now.id))
        twin = counterpart(carried_over.spec, again) if carried_over.spec else None
        _line(
            model,
            carried_over,
            twin,
            next((run for run in running if carried_over.spec and alike(run.spec, carried_over.spec)), None),
        )
        if twin and not model.of_tasks:
            pairs.append((model, twin))
    st.caption("Each model is measured on the held-out rows of its own version.")
    if pairs:
        _curves(pairs)


def _line(model: ModelAbout, carried: Carried, twin: ModelAbout | None, run: Run | None) -> None:
    """Show one model with its actions."""
    failed = st.session_state.pop(f"again-failed-{model.id}", None)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{md(model.name)}** · {_metrics(model, twin)}")
        if twin and not model.of_tasks:
            if st.button("Compare the curves", key=f"pair-{model.id}", icon=":material/compare_arrows:"):
                if "compare-way" in st.session_state:
                    st.session_state["compare-way"] = "models"
                st.switch_page(PAGES / "compare.py", query_params={"model": model.id, "with": twin.id})
        elif twin and st.button("Open Tasks", key=f"pair-{model.id}", icon=":material/hub:"):
            st.switch_page(PAGES / "tasks.py", query_params={"model": twin.id})
        elif run:
            run_line.show(run.id, "Retraining", f"again-failed-{model.id}")
        elif not twin and carried.spec:
            _begin(model, carried, carried.spec)
    for sentence in _changes(carried):
        st.caption(md(sentence))
    if failed:
        st.error(md(failed), icon=":material/error:")


def _begin(model: ModelAbout, carried: Carried, spec: Spec) -> None:
    """Show the buttons that retrain a model on the newer version, or add its rows to those that it knows."""
    label = "Retrain on the newer version"
    if asked := retrain_button.button(model, label, f"again-{model.id}", ":material/refresh:"):
        begin(spec, model.id, edits=model.id if asked == "with edits" else "")
    if _adds(model, carried, "Add its rows"):
        begin(spec, model.id, adds=model.id)


def _adds(model: ModelAbout, carried: Carried, label: str) -> bool:
    """Show the button that adds rows, for a model that can take those of the newer version; return whether clicked."""
    if not model.counted or carried.left_out or carried.retyped:
        return False
    return st.button(label, key=f"adds-{model.id}", icon=":material/playlist_add:", help=ADDS)


def _metrics(model: ModelAbout, twin: ModelAbout | None) -> str:
    """Return the held-out metric on both versions, in words."""
    return f"{metric(model)} then, {metric(twin)} now" if twin else f"{metric(model)} on the older version"


def _changes(carried: Carried) -> list[str]:
    """Return in sentences how a specification changes on the newer version."""
    lines = [carried.why] if carried.why else []
    if carried.left_out:
        lines.append(f"Without the features that are gone: {', '.join(carried.left_out)}.")
    if carried.retyped:
        lines.append(f"Its type has changed, so its curve cannot be compared: {', '.join(carried.retyped)}.")
    return lines


def begin(spec: Spec, model: str, adds: str = "", edits: str = "") -> None:
    """Queue a training and rerun the page; an error is shown beside the model. adds : one that rows are added to.
    edits : one whose edits are made again."""
    try:
        runs.start(state.workspace(), spec, state.n_jobs(), adds=adds, edits=edits)
    except StoreError as error:
        st.session_state[f"again-failed-{model}"] = str(error)
    st.rerun()


@state.kept(show_spinner="Comparing the curves", max_entries=32)
def _moves(then: str, now: str, bands: tuple[int, int], scale: Scale) -> CurveMoves:
    old, new = state.additive(then), state.additive(now)
    then_curves, now_curves = (
        {name: model.explain_shape(name) for name in model.importance().ranked_features()} for model in (old, new)
    )
    return curve_moves(then_curves, now_curves, scale)


def _curves(pairs: list[ModelPair]) -> None:
    """Show which curves of a model moved most."""
    names = told_apart({old.id: f"{old.name} ({date(old.created)})" for old, _ in pairs})
    known = {old.id: (old, new) for old, new in pairs}
    st.markdown("**Curves that moved**")
    chosen = next(iter(known))
    if len(known) > 1:
        chosen = st.selectbox("Model", list(known), format_func=names.__getitem__, key=f"renewed-pair-{chosen}")
    old, new = known[chosen]
    loss = loss_of(state.additive(new.id))
    scale = state.scale(loss.name)
    moves = _moves(old.id, new.id, (old.bands, new.bands), scale)
    named = state.names_of(new)
    if not moves.moves:
        st.caption("The two models have no curve in common.")
    else:
        first = moves.frame().iloc[0]
        st.markdown(
            f"{md(named.term(first['feature']))} moved most: by {say(first['distance'], scale).lstrip('+')} on average "
            "over the rows of the newer version."
        )
        _table(moves, loss.unit(scale, state.goal(new)), named)
    if moves.left:
        st.caption(f"Not compared: {'; '.join(f'{md(named.term(name))} ({md(why)})' for name, why in moves.left[:8])}.")


def _table(moves: CurveMoves, units: str, named: Names) -> None:
    percent = st.column_config.NumberColumn(format=PERCENT)
    names = {"feature": "Feature", "distance": "Moved by", "band_then": "Band then", "band_now": "Band now",
             "clear": "Clearly apart", "covered": "Rows in both"}  # fmt: skip
    frame = moves.frame().rename(columns=names)
    frame["Feature"] = frame["Feature"].map(named.term)
    frame, size = measured(frame, "Moved by", "Band then", "Band now")
    missing = [name for name in ("Band then", "Band now", "Clearly apart") if frame[name].isna().all()]
    st.dataframe(
        hundredfold(frame, ["Clearly apart", "Rows in both"]).drop(columns=missing), hide_index=True,
        height=min(38 + 35 * len(frame), 420),
        column_config={
            "Moved by": st.column_config.NumberColumn(
                format=size, help="Mean distance between the two centred curves, over the rows of the newer version."
            ),
            "Band then": st.column_config.NumberColumn(format=size),
            "Band now": st.column_config.NumberColumn(format=size),
            "Clearly apart": st.column_config.NumberColumn(
                format=PERCENT, help="Share of the newer rows where the band of the difference excludes zero.",
            ),
            "Rows in both": percent,
        },
        alt="One row per curve, the most moved first.",
    )  # fmt: skip
    bands = "" if missing else " Bands: mean pointwise half-width."
    st.caption(f"In {md(units)}, for the {counted(len(frame), 'feature')} that both have.{bands}")


def retrain(model: ModelAbout) -> None:
    """Show a button that retrains a model on the newest version of its table, if there is one."""
    tables = state.workspace().tables.listed()
    latest = newest(tables, model.table) if model.spec else None
    if latest is None:
        return
    label = "Retrain on the newest"
    why = f"Version of {date(latest.created)}, same settings."
    again = retrain_button.button(model, label, f"newest-{model.id}", ":material/update:", why)
    if not (again or model.counted):
        return
    then = state.frame(model.table) if model.table in {table.id for table in tables} else None
    carried_over = carried(Spec.from_dict(model.spec), then, latest.id, state.frame(latest.id))
    adds = _adds(model, carried_over, "Add the newest rows")
    if not (again or adds):
        return
    for sentence in _changes(carried_over):
        news.tell(md(sentence))
    if carried_over.spec:
        edited = model.id if again == "with edits" else ""
        begun = runs.start(
            state.workspace(), carried_over.spec, state.n_jobs(), adds=model.id if adds else "", edits=edited
        )
        run = followed.follow(begun)
        st.switch_page(PAGES / "train.py", query_params={"table": latest.id, "run": run})
