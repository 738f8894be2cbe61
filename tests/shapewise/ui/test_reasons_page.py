"""Why a row is decided as it is, on the page Rows; and reasons in the files of the page Models."""

from __future__ import annotations

import re

import pytest

from gamcore.io.reasons import tell
from shapewise.scoring.reasons import OPENINGS
from shapewise.scoring.score_file import telling_formula
from shapewise.store.workspace import Workspace
from shapewise.training.spec import Spec
from shapewise.training.train import read_all
from shapewise.ui.explain import elsewhere
from tests.support.elsewhere import loaded
from tests.support.pages import button, captions, open_page


def field(app, kind, label):
    return next(one for one in app.get(kind) if one.label == label)


def said(app):
    return re.sub(r"\\(.)", r"\1", " ".join(one.value for one in app.markdown))


def listed(app):
    """The reasons that the page shows."""
    text = next(one.value for one in app.markdown if one.value.startswith("1. "))
    return [re.sub(r"\\(.)", r"\1", re.sub(r"^\d+\. | :gray.*$", "", line)) for line in text.splitlines()]


def row_of(space, model):
    data = read_all(space, Spec.from_dict(model.spec))
    return data.X[data.held_out].head(1)


def test_a_row_is_told_its_reasons(sure):
    space, _, model, _ = sure
    app = open_page("rows", model=model.id)
    facts = tell(telling_formula(space, model.id), row_of(space, model)).iloc[0]
    wanted = [facts[f"reason {k}"] for k in range(1, 5) if facts[f"reason {k}"]]
    assert listed(app) == wanted
    assert f"The answer is **{'yes' if facts['decision'] else 'no'}**" in said(app)
    assert "Each part of the score compared with the average row" in captions(app)


@pytest.mark.slow
def test_line_base_and_number_are_kept_and_hold_for_the_files_too(sure, monkeypatch):
    space, table, model, _ = sure
    app = open_page("rows", model=model.id)
    field(app, "slider", "Decide yes from a chance of").set_value(80).run()
    field(app, "selectbox", "Compared with").set_value("best").run()
    field(app, "number_input", "At most").set_value(2).run()
    assert not app.exception
    kept = space.models.about(model.id).reasons
    assert (kept["line"], kept["base"], kept["most"]) == (0.8, "best", 2)
    again = open_page("rows", model=model.id)
    assert field(again, "slider", "Decide yes from a chance of").value == 80
    assert len(listed(again)) <= 2
    page = open_page("models", model=model.id)
    page.session_state["elsewhere"] = True
    page.run()
    field(page, "toggle", "With reasons for the decision").set_value(True).run()
    assert not page.exception
    assert field(page, "selectbox", "Key").options[-1] == "id"
    monkeypatch.setattr(elsewhere.state, "workspace", lambda: Workspace(space.root))
    code = loaded(elsewhere._written(model.id, "py", "telling", "id", ""))
    assert "reason 2" in elsewhere._written(model.id, "sql", "telling", "id", "")
    rows = space.tables.read(table.id).head(20)
    wanted = tell(telling_formula(space, model.id), rows)
    for (_, cells), (_, line) in zip(rows.astype(object).iterrows(), wanted.iterrows(), strict=True):
        plain = {name: None if value != value else value for name, value in cells.items() if name != "since"}
        above, reasons, _ = code["reasons"](plain)
        assert above == line["decision"]
        assert reasons == [text for text in (line["reason 1"], line["reason 2"]) if text]


def test_an_idle_page_does_not_write_an_old_line_back(sure):
    space, _, model, _ = sure
    idle = open_page("rows", model=model.id)
    field(idle, "slider", "Decide yes from a chance of").set_value(40).run()
    space.models.set_reasons(model.id, {"line": 0.6})  # in another window
    field(idle, "number_input", "At most").set_value(3).run()
    assert not idle.exception
    kept = space.models.about(model.id).reasons
    assert (kept["line"], kept["most"]) == (0.6, 3)
    assert field(idle, "slider", "Decide yes from a chance of").value == 60


@pytest.mark.slow
def test_changes_in_a_row_are_all_kept(sure):
    space, _, model, _ = sure
    app = open_page("rows", model=model.id)
    for percent in (41, 42, 43, 44):
        field(app, "slider", "Decide yes from a chance of").set_value(percent).run()
        assert space.models.about(model.id).reasons["line"] == percent / 100
    for template in ("A {decision}", "B {decision}", "C {decision}"):
        field(app, "text_area", "Template").set_value(template).run()
        assert space.models.about(model.id).reasons["letter"] == template
        assert field(app, "text_area", "Template").value == template
    for fixed in (["age", "plan"], ["age", "plan", "balance"], ["plan", "balance"], ["plan", "balance", "age"]):
        field(app, "multiselect", "Hold fixed").set_value(fixed).run()
        assert space.models.about(model.id).reasons["fixed"] == fixed
        assert field(app, "multiselect", "Hold fixed").value == fixed
    assert not app.exception


def test_texts_and_sensitive_columns_are_kept_with_the_table(sure):
    space, table, model, _ = sure
    app = open_page("rows", model=model.id)
    editor = next(one.value for one in app.dataframe if "Sensitive" in one.value.columns)
    first = editor.set_index("Column")
    assert first["Sensitive"].to_dict() == {"age": True, "balance": False, "plan": False, "member": False}  # by names
    assert space.tables.names(table.id).of("age").sensitive is None
    place = {name: k for k, name in enumerate(editor["Column"])}
    edits = {
        place["age"]: {"Sensitive": False, "Where it raises": "Your age speaks for it"},
        place["plan"]: {"Sensitive": True},
    }
    key = f"reasons-texts-{model.id}-0"
    app.session_state[key] = {"edited_rows": edits, "added_rows": [], "deleted_rows": []}
    app.run()
    assert not app.exception
    names = space.tables.names(table.id)
    assert (names.of("age").sensitive, names.of("age").up, names.of("age").down) == (
        False,
        "Your age speaks for it",
        "",
    )
    assert names.of("plan").sensitive
    assert names.of("balance") == names.of("nothing")
    facts = tell(telling_formula(space, model.id), row_of(space, model)).iloc[0]
    shown = listed(open_page("rows", model=model.id))
    assert shown == [facts[f"reason {k}"] for k in range(1, 5) if facts[f"reason {k}"]]
    assert not {line for line in shown if line.startswith("plan")}


def test_a_letter_is_written_to_the_row(sure):
    space, _, model, _ = sure
    app = open_page("rows", model=model.id)
    field(app, "text_area", "Template").set_value("Answer {decision}, {prediction}; {reasons} {nothing}").run()
    assert not app.exception
    assert "The letter names {nothing}" in re.sub(r"\\(.)", r"\1", app.error[0].value)
    assert not app.code  # a wrong letter is not written
    field(app, "text_area", "Template").set_value("{opening} Answer {decision}, {prediction}; {reasons}").run()
    assert not app.code  # nobody has said yet which answer is good
    good = next(one for one in app.get("button_group") if one.proto.label.startswith("Which answer is good"))
    good.set_value("no").run()
    assert space.models.about(model.id).reasons["helps"] == "no"
    chance = next(m.value for m in app.metric if m.label == "Prediction")
    answer = "yes" if "answer is **yes**" in said(app) else "no"
    assert f"{OPENINGS[answer == 'no']} Answer {answer}, {chance}; 1. {listed(app)[0]}" in app.code[0].value


@pytest.mark.parametrize("decided", [True, False])
def test_the_form_of_scores_offers_reasons_for_the_decision(sure, decided):
    _, _, model, _ = sure
    page = open_page("models", model=model.id)
    page.session_state["score"] = True
    page.run()
    why = field(page, "selectbox", "Reasons")
    assert why.options == ["The largest effects", "For the decision", "For the decision, with a letter"]
    if decided:
        why.set_value("For the decision").run()
    assert ("Reasons per row" in {one.label for one in page.number_input}) != decided
    assert button(page, "Score the table")
