"""Editing a curve in a real browser: with the mouse, and with the keyboard alone."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gamcore import load_model
from gamcore.additions.editing import edit, edits_of
from tests.support.serving import settle
from tests.support.steps import drag_along, press, small_model

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def drag_right(page):
    """Mark the right end of the curve by dragging over it."""
    plot = page.locator(".js-plotly-plot").first
    for _ in range(3):  # a first drag may meet a figure that is still being drawn
        drag_along(page, plot, 0.7, 0.97)
        if page.get_by_role("spinbutton", name="At least").input_value():
            return
    raise AssertionError("nothing was marked")


def do(page, operation, why):
    """Choose an operation and say why, with the keyboard."""
    page.get_by_role("combobox", name="What to do").focus()
    page.keyboard.type(operation)
    page.keyboard.press("Enter")
    page.get_by_role("textbox", name="Why").wait_for()
    settle(page)
    page.get_by_role("textbox", name="Why").focus()
    page.keyboard.type(why)
    page.keyboard.press("Enter")
    settle(page)


def by_key(page, name):
    page.get_by_role("button", name=name, exact=True).focus()
    page.keyboard.press("Enter")
    settle(page)


def test_a_curve_is_edited_with_mouse_and_keyboard_and_stored(page, space):
    model = small_model(space)
    page.goto(f"/shapes?model={model.id}&feature=year_built")
    page.locator("[class*=st-key-headline]").first.wait_for()
    settle(page)
    page.get_by_test_id("stButtonGroup").get_by_text("Edit by hand").click()
    page.get_by_role("spinbutton", name="At least").wait_for()
    settle(page)
    drag_right(page)
    do(page, "Make equal", "few new houses")
    page.get_by_text("Others refitted").wait_for()
    press(page, "Keep this edit")
    page.locator("[class*=st-key-headline]", has_text="edited by hand").wait_for()
    settle(page)
    by_key(page, "Clear")
    do(page, "Let it only fall", "newer is worth less")
    by_key(page, "Keep this edit")
    by_key(page, "Undo")
    by_key(page, "Redo")
    page.reload()
    press(page, "Go on editing")  # the draft is still there
    page.get_by_role("button", name="Save as a model").wait_for()
    settle(page)
    by_key(page, "Save as a model")
    page.get_by_role("textbox", name="Name", exact=True).fill("by hand")
    page.keyboard.press("Enter")
    settle(page)
    press(page, "Save")
    page.wait_for_url(re.compile("/shapes"))
    page.get_by_text("by hand was saved").wait_for()
    (child, _) = space.models.listed()
    assert child.name == "by hand"
    made, parent = (load_model(space.models.path(one)) for one in (child.id, model.id))
    first, second = edits_of(made)
    assert [(edit.operation, edit.reason) for edit in edits_of(made)] == [
        ("equal", "few new houses"), ("falling", "newer is worth less"),
    ]  # fmt: skip
    assert first.where[0].low > 0
    place = [bins.feature.name for bins in parent.model_.bins].index("year_built")
    assert (np.diff(made.model_.terms[place].scores[1:-1]) <= 1e-12).all()
    again = edit(
        edit(parent, "year_built", "equal", first.where[0], reason="few new houses"),
        "year_built",
        "falling",
        second.where[0],
        reason="newer is worth less",
    )
    np.testing.assert_array_equal(again.model_.terms[place].scores, made.model_.terms[place].scores)
