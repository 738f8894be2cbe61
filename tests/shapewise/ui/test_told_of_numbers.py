"""What is told beside numbers: on what they rest, and of what a picture's axes are."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from gamcore.decide.results import Result
from gamcore.model.losses import LOSSES
from gamcore.stats.metrics import gain, precision_recall, roc
from shapewise.scoring.held_out import HeldOutPredictions
from shapewise.ui.explain import quality, rate_quality
from shapewise.ui.explain.rate_quality import Totals
from shapewise.ui.widgets import tiles


@pytest.mark.parametrize("hint", ["Above the others.", None])
@pytest.mark.parametrize("source", ["measured", "observed", "model", "assumed"])
def test_on_what_a_number_rests_is_a_sentence_of_its_own(source, hint):
    class At:
        def metric(self, *texts, **others):
            self.help = others["help"]

    at = At()
    tiles.result(at, "Mean", Result(2.5, source=source, n=40), hint)
    first, mark, rest = at.help.replace("\\", "").partition(".")
    assert first[0].isupper()
    assert (mark, rest) == (".", f" {hint}" if hint else "")


@pytest.mark.parametrize("exposure", [None, np.linspace(0.1, 2.0, 60)])
def test_both_axes_of_calibration_say_of_what_they_are(monkeypatch, exposure):
    drawn = []
    monkeypatch.setattr(rate_quality.cards, "of_model", lambda plot, *_, **others: drawn.append(plot))
    monkeypatch.setattr(rate_quality.state, "goal", lambda model: "claims per year")
    monkeypatch.setattr(rate_quality.st, "caption", lambda words: None)
    y = np.arange(60.0) % 3
    rate_quality._calibration("model", Totals("count", y, y + 0.5, exposure, None))
    panel = drawn[0].main
    assert [panel.x.title, panel.y.title] == ["predicted claims per year", "claims per year, observed"]


def test_pictures_have_names_as_they_are_and_pages_as_markdown_takes_them(monkeypatch):
    """A picture and its files read no Markdown."""
    y, chance = np.arange(40.0) % 2, np.linspace(0.1, 0.9, 40)
    lines, drawn, captions = (precision_recall(y, chance), roc(y, chance), gain(y, chance)), [], []
    monkeypatch.setattr(quality.cards, "of_model", lambda plot, *_: drawn.append(plot))
    monkeypatch.setattr(quality.state, "goal", lambda model: "call_back = 1")
    monkeypatch.setattr(quality, "ranking_lines", lambda model: lines)
    monkeypatch.setattr(quality.st, "caption", captions.append)
    held = HeldOutPredictions(y, chance, None, 0.5, loss=LOSSES["logistic"])
    quality._ranking(SimpleNamespace(id="model"), held)
    assert "call_back = 1" in drawn[0].title
    assert not any("\\" in text for plot in drawn for text in (plot.title, plot.words))
    assert "call\\_back" in captions[0]
