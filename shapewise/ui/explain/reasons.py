"""Why a row is decided on as it is, on a page: its reasons, what is for review, and its letter."""

from __future__ import annotations

import json
from typing import Final

import pandas as pd
import streamlit as st

from gamcore.common.numbers import number
from gamcore.data.column_names import Names
from gamcore.estimators.additive import single_model
from gamcore.estimators.base import loss_of
from gamcore.explain.reasons import BASE_WORDS, BASES
from gamcore.io.formula import Formula, ScoringError
from gamcore.io.reasons import for_review, tell
from gamcore.model import output_names
from gamcore.viz import files as export
from shapewise.scoring.reasons import ANSWERS, Answer, Telling, explained, fields_of, letter, listed, wrong_in
from shapewise.ui.explain import line as lines
from shapewise.ui.explain import reason_texts
from shapewise.ui.explain.row_model import RowModel
from shapewise.ui.session import state
from shapewise.ui.session.words import md
from shapewise.ui.widgets import chart, downloads, settled

BASE_NAMES: Final = {"average": "The average row", "best": "The best possible", "line": "A row at the line"}


@state.kept(show_spinner=False, max_entries=32)
def _formula(identifier: str, bands: int, how: str, names: str) -> Formula:
    model = state.workspace().models.about(identifier)
    data = state.data(model)
    assert data is not None
    shown = Names.from_dict(json.loads(names))
    return explained(state.additive(identifier), data, shown, Telling(**json.loads(how)))


def formula_of(model: RowModel, how: Telling) -> Formula:
    """Return the model as one that tells reasons."""
    kept = {name: value for name, value in how.to_dict().items() if name in ("line", "base", "most")}
    return _formula(model.about.id, model.about.bands, json.dumps(kept), json.dumps(model.names.to_dict()))


def show(model: RowModel, row: pd.DataFrame, predicted: float) -> Telling:
    """Show the reasons of a row (1, p) for its decision, and its letter; return how they are told. What is decided from
    which line, and compared with what, is in the options. predicted : the prediction of the row."""
    place = chart.place("decided")
    place.sentence.subheader("Why it is decided so", anchor=False)
    with place.options:
        how = _settings(model, lines.choose(model))
    try:
        formula = formula_of(model, how)
    except ScoringError as error:
        st.error(md(error), icon=":material/error:")
        return how
    assert formula.reasons is not None
    facts, written = tell(formula, row).iloc[0], model.say(predicted)
    answer = ANSWERS[0 if facts["decision"] else 1]
    reasons = [text for k in range(1, formula.reasons.most + 1) if (text := facts[output_names.reason(k)])]
    pushes = [facts[output_names.push(k, formula.score_unit)] for k in range(1, len(reasons) + 1)]
    st.markdown(f"The answer is **{answer}** ({md(written)}; yes from {md(model.say(how.line))}). What made it so:")
    unit, each = md(formula_unit(model)), enumerate(zip(reasons, pushes, strict=True), 1)
    listing = [f"{k}. {md(text)} :gray[({number(push)} {unit})]" for k, (text, push) in each]
    st.markdown("\n".join(listing) or "No feature pushed it either way.")
    fitted = single_model(model.estimator)
    shares = " A pair counts half to each of its features." * bool(fitted.pairs)
    shares += " A triple counts a third to each." * bool(fitted.triples)
    st.caption(f"Each part of the score compared with {BASE_WORDS[how.base]}.{shares}")
    if names := for_review(formula, row)[0]:
        not_told = md(", ".join(map(model.names.term, names)))
        words = "weigh as much as a reason, and are sensitive. They are" if len(names) > 1 else \
            "weighs as much as a reason, and is sensitive. It is"  # fmt: skip
        st.warning(f"For review: **{not_told}** {words} not told.", icon=":material/visibility:")
    with st.expander("Letter, and what is told in it"):
        how = _letter(
            model, row, how, answer, {"decision": answer, "reasons": listed(reasons), model.predicted: written}
        )
        reason_texts.edit(model)
    return how


def formula_unit(model: RowModel) -> str:
    """Return the unit of a push: that of the score."""
    return state.effect_unit(model.about) or loss_of(model.estimator).unit("link", "units")


def _settings(model: RowModel, how: Telling) -> Telling:
    """Show what reasons are compared with, and how many there are."""
    base = st.selectbox("Compared with", list(BASES), format_func=BASE_NAMES.__getitem__,
                        key=settled.begin(f"reasons-base-{model.about.id}", how.base))  # fmt: skip
    most = st.number_input("At most", 1, 8, key=settled.begin(f"reasons-most-{model.about.id}", how.most))
    return lines.keep(model, how, base=base, most=int(most))


def _letter(model: RowModel, row: pd.DataFrame, how: Telling, answer: Answer, facts: dict[str, str]) -> Telling:
    """Show the template of a letter, and the letter to this row once somebody has said which answer is good; both are
    kept with the model. Return how reasons are told.

    row : (1, p) features, which may be changed; the other columns are those of the table. facts : of the decision."""
    how = lines.choose_good(model, how, "letter")
    template = st.text_area(
        "Template", height=220, max_chars=4000, key=settled.begin(f"letter-{model.about.id}", how.letter),
        help=f"{{opening}}, {{decision}}, {{reasons}}, {{{model.predicted}}} and names of columns stand for those of "
        "the row.",
    )  # fmt: skip
    how = lines.keep(model, how, letter=template)
    cells = state.as_read(model.about).frame.loc[row.index[0]].to_dict() | row.iloc[0].to_dict()
    if wrong := wrong_in(template, model.names, list(map(str, cells)), model.predicted):
        st.error(md(wrong), icon=":material/error:")
        return how
    if how.helps is None:
        st.caption("The first sentence of the letter depends on it: say above which answer is good for the person.")
        return how
    text = letter(template, fields_of(model.names, cells, facts | {"opening": how.opening(answer)}))
    st.code(text, language=None, wrap_lines=True)
    name = export.file_name(model.about.name, "letter", "txt")
    downloads.button("Download", text.encode, name, f"letter-file-{model.about.id}", ":material/download:")
    return how
