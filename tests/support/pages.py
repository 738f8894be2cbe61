"""Pages under test: open one, find its widgets and its plots."""

from __future__ import annotations

import json
import re

from streamlit.testing.v1 import AppTest

from tests.support.places import ROOT


def open_page(name, **query):
    app = AppTest.from_file(str(ROOT / "pages" / f"{name}.py"), default_timeout=60)
    for key, value in query.items():
        app.query_params[key] = value
    app.run()
    assert not app.exception
    return app


def chart(app):
    return json.loads(app.get("plotly_chart")[0].proto.spec)


def button(app, label):
    return next(b for b in app.button if b.label == label)


def charts(app):
    return [json.loads(found.proto.spec) for found in app.get("plotly_chart")]


def headlines(app):
    """What the plots of a page say, in their order."""
    return [re.sub(r"\\(.)", r"\1", one.value.removeprefix("##### ")) for one in app.markdown
            if one.value.startswith("##### ")]  # fmt: skip


def choose(app, label, value):
    control = next(c for c in app.get("button_group") if c.label == label)
    return control.set_value(value).run()


def captions(app):
    return " ".join(c.value for c in app.caption)


def open_tab(app, key, label):
    """Open a tab, as a press on it does: only the open one is drawn."""
    app.session_state[key] = label
    app.run()
    assert not app.exception
    return app
