"""Progress as a line per stage of a fit."""

from __future__ import annotations

import sys

import pytest

from gamcore import GAMClassifier, GAMRegressor
from gamcore.estimators.progress_bar import listening
from tests.support.fits import friendly


def test_each_stage_of_a_fit_has_a_line(capsys):
    pytest.importorskip("tqdm")
    X, y = friendly(600)
    settings = {"outer_bags": 2, "max_rounds": 20, "bands": 10, "interactions": 1, "random_state": 0}
    shown = GAMClassifier(**settings, callback="progress").fit(X, y)
    said = capsys.readouterr().err
    assert all(f"{stage}:" in said for stage in ("main effects", "ranking", "pairs", "bands"))
    assert "refit 2 of 2" in said
    silent = GAMClassifier(**settings).fit(X, y)
    assert (shown.decision_function(X) == silent.decision_function(X)).all()


def test_without_its_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    X, y = friendly(100, binary=False)
    with pytest.raises(ImportError, match=r'tqdm is not installed: run pip install "shapewise\[progress\]"'):
        GAMRegressor(callback="progress").fit(X, y)


def test_what_is_neither_a_callable_nor_progress_is_refused():
    with pytest.raises(ValueError, match="it must be a callable"), listening("bar"):
        pass


def test_a_callable_is_called_until_it_says_stop():
    heard = []
    with listening(lambda now: heard.append(now) or now == "b") as callback:
        assert [callback(now) for now in "abc"] == [False, True, True]
    assert heard == ["a", "b"]
