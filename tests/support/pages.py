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


def title(found):
    return re.sub("<.*?>", "", found["layout"]["title"]["text"])


def choose(app, label, value):
    control = next(c for c in app.get("button_group") if c.label == label)
    return control.set_value(value).run()


def captions(app):
    return " ".join(c.value for c in app.caption)
