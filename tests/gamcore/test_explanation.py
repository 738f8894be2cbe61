"""Every explanation shows itself: as a picture without scripts whatever its names, as a sentence, a table, a figure."""

from __future__ import annotations

import re
import subprocess
import sys
from xml.etree import ElementTree

import pandas as pd
import pytest
from plotly.graph_objects import Figure

from gamcore import GAMRegressor, report
from gamcore.data.columns import TableError
from gamcore.viz.explanation import Explanation
from tests.support import explanations
from tests.support.hostile import EVIL
from tests.support.places import ROOT

TAGS = {"div", "style", "figure", "figcaption", "strong", "span", "p", "svg", "rect", "text", "path", "polygon",
        "polyline", "circle"}  # fmt: skip


def parsed(html):
    """Return the elements of HTML that is well-formed XML."""
    return list(ElementTree.fromstring(html).iter())


def test_all_kinds_are_tried():
    known = {type(one) for one in explanations.every().values()}
    assert known == set(Explanation.__subclasses__())


def test_a_cell_shows_a_picture_without_markup_of_its_names():
    for kind, explanation in explanations.every().items():
        html = explanation._repr_html_()
        elements = parsed(html)
        assert {one.tag.rpartition("}")[2] for one in elements} <= TAGS, kind
        assert not [name for one in elements for name in one.attrib if name.startswith("on") or "href" in name], kind
        pictures = [one for one in elements if one.get("role") == "img"]
        assert len(pictures) == 1, kind
        assert pictures[0].get("aria-label").strip(), kind
        assert not re.search(r"\bnan\b|\binf\b", re.sub(r">[^<]*<", "><", html)), kind


def test_its_other_faces():
    for kind, explanation in explanations.every().items():
        assert isinstance(explanation.frame(), pd.DataFrame), kind
        assert explanation.words().strip(), kind
        for mode in ("light", "dark"):
            figure = explanation.plot(mode)
            assert isinstance(figure, Figure), kind
            assert "<img" not in figure.to_json(), kind


def test_a_picture_has_the_colours_of_both_themes():
    html = explanations.model().explain_shape(EVIL)._repr_html_()
    used = set(re.findall(r"var\((--[\w-]+)\)", html))
    assert used
    assert all(html.count(f"{name}:#") == 8 for name in used)  # light and dark, for the reader and three notebooks


def test_a_breakdown_of_no_rows_is_refused_in_words():
    with pytest.raises(ValueError, match="has no rows"):
        explanations.model().explain_rows(explanations.table()[0].head(0))._repr_html_()


@pytest.mark.slow
def test_pictures_need_no_plotting_library_and_figures_say_which():
    program = """
import sys
sys.modules["plotly"] = sys.modules["matplotlib"] = None
import numpy as np
from gamcore.explain.importance import Importance
shown = Importance(("a", "b"), np.array([1.0, 2.0]), np.array([2.0, 3.0]), "squared")
assert "<svg" in shown._repr_html_()
try:
    shown.plot()
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == 'plotly is not installed: run pip install "shapewise[plots]".'


@pytest.mark.parametrize("estimator", [explanations.model, explanations.tasks])
def test_a_fitted_estimator_shows_its_curves_below_the_diagram(estimator):
    html = estimator()._repr_mimebundle_()["text/html"]
    diagram, _, ours = html.partition('<div class="gamcore">')
    assert "sk-top-container" in diagram
    elements = parsed(f'<div class="gamcore">{ours}')
    pictures = [one.get("aria-label") for one in elements if one.get("role") == "img"]
    assert len(pictures) == 1 + 3
    assert sum(EVIL in words for words in pictures) >= 1
    assert not {"script", "img", "a"} & {one.tag.rpartition("}")[2] for one in elements}


def test_an_unfitted_estimator_shows_the_diagram_only():
    assert "gamcore" not in GAMRegressor()._repr_html_().replace("gamcore.estimators", "")


def test_a_report_is_one_file_without_scripts_or_links(tmp_path):
    X, y = explanations.table()
    text = report(explanations.model(), tmp_path / "a.html", X, y, target=EVIL).read_text(encoding="utf-8")
    elements = parsed(text[text.index("<body") : text.index("</html>")])
    assert not {"script", "img", "a", "link", "iframe"} & {one.tag.rpartition("}")[2] for one in elements}
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", text.replace("http://b", ""))
    assert "prefers-color-scheme:dark" in text
    pictures = [one for one in elements if one.get("role") == "img"]
    assert len(pictures) == len(["calibration", "importance", *X, "pair"])
    assert all(one.get("aria-label") for one in pictures)
    headings = [one.text for one in elements if one.tag == "h2"]
    assert headings[0] == "How well it predicts"
    assert headings[-1] == "How it was trained"


def test_a_report_without_rows_or_of_tasks(tmp_path):
    X, y = explanations.table()
    plain = report(explanations.model(), tmp_path / "a.html").read_text(encoding="utf-8")
    assert "How well it predicts" not in plain
    measured = report(explanations.tasks(), tmp_path / "b.html", X, y, task="other").read_text(encoding="utf-8")
    assert "R²" in measured
    with pytest.raises(TableError, match="both X and y"):
        report(explanations.model(), tmp_path / "c.html", X)
