"""Our wrapper for TabArena, in a stand-in of what AutoGluon asks of a model: parameters, fitting, predicting, a bag."""

from __future__ import annotations

import copy
import importlib
import subprocess
import sys
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold

from tests.support.places import ROOT
from tests.support.real_tables import RealTable

pytestmark = pytest.mark.slow

NAME = "benchmarks.readability.tabarena"


class AbstractModel:
    """What a model inherits there, without files, time limits and metadata."""

    def __init__(self, problem_type, **hyperparameters):
        self.problem_type, self.params = problem_type, hyperparameters

    def _set_default_param_value(self, name, value):
        self.params.setdefault(name, value)

    def _get_model_params(self):
        return dict(self.params)

    def _get_default_auxiliary_params(self):
        return {"valid_raw_types": None, "max_memory_usage_ratio": 1.0}

    def preprocess(self, X, is_train=False):
        return X

    def fit(self, X, y, **kwargs):
        self._set_default_params()
        self.params.setdefault(self.seed_name, 0)
        self._fit(X=X, y=y, X_val=None, y_val=None, time_limit=None, num_cpus=1, num_gpus=0, **kwargs)
        return self

    def predict(self, X):
        return self.model.predict(self.preprocess(X))

    def predict_proba(self, X):
        chances = self.model.predict_proba(self.preprocess(X))
        return chances[:, 1] if self.problem_type == "binary" else chances


class BaggedEnsembleModel:
    """A bag of models, each without a fold."""

    def __init__(self, base):
        self.base, self.params = base, {}

    def fit(self, X, y, k_fold, num_cpus):
        folds = KFold(k_fold).split(X)
        self.models = [copy.deepcopy(self.base).fit(X.iloc[fit], y.iloc[fit]) for fit, _ in folds]
        return self

    def predict(self, X):
        return np.mean([model.predict(X) for model in self.models], axis=0)

    def predict_proba(self, X):
        return np.mean([model.predict_proba(X) for model in self.models], axis=0)


class AutoMLPipelineFeatureGenerator:
    """Texts as categories."""

    def __init__(self, verbosity):
        assert verbosity == 0

    def fit_transform(self, X):
        self.kinds = {name: pd.CategoricalDtype(X[name].dropna().unique()) for name in X.select_dtypes("object")}
        return X.astype(self.kinds)

    def transform(self, X):
        return X.astype(self.kinds)


@pytest.fixture
def arena(monkeypatch):
    for name in ("", ".core", ".core.models", ".features", ".features.generators"):
        monkeypatch.setitem(sys.modules, f"autogluon{name}", ModuleType(f"autogluon{name}"))
    for kind in (AbstractModel, BaggedEnsembleModel):
        setattr(sys.modules["autogluon.core.models"], kind.__name__, kind)
    generators = sys.modules["autogluon.features.generators"]
    generators.AutoMLPipelineFeatureGenerator = AutoMLPipelineFeatureGenerator
    monkeypatch.delitem(sys.modules, NAME, raising=False)
    yield importlib.import_module(NAME)
    sys.modules.pop(NAME)


def drawn(kind, n=240):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": pd.Series(rng.choice(["x", "y", None], n), dtype=object)})
    y = X["a"] + (X["b"] == "x") + 0.1 * rng.normal(size=n)
    if kind == "regression":
        return X, y
    return X, pd.cut(y, [-np.inf, 0.0, np.inf] if kind == "binary" else [-np.inf, -0.5, 0.5, np.inf], labels=False)


@pytest.mark.parametrize("kind", ["regression", "binary", "multiclass"])
def test_a_model_is_fitted_with_defaults_that_can_be_replaced(arena, kind):
    X, y = drawn(kind)
    model = arena.ShapewiseModel(problem_type=kind, outer_bags=2, interactions=1).fit(X, y)
    settings = model.model.get_params()
    assert (settings["outer_bags"], settings["interactions"]) == (2, 1)
    assert (settings["n_jobs"], settings["random_state"]) == (1, 0)
    assert settings["triples"] == (0 if kind == "multiclass" else "auto")
    assert model._get_default_auxiliary_params()["valid_raw_types"] == ["int", "float", "category"]
    assert kind in model.supported_problem_types()
    if kind == "multiclass":
        assert model.predict_proba(X).shape == (len(X), 3)


@pytest.mark.parametrize("binary", [False, True])
def test_the_protocol_scores_a_bag_of_eight_on_rows_that_no_model_has_seen(arena, binary):
    X, y = drawn("binary" if binary else "regression")
    table = RealTable("small", X, y, binary)
    folds = arena.outer_folds(table)
    assert len(folds) == 3
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(len(X)))
    cell = arena.bagged(table, folds[0])
    assert cell["fitted_rows"] == 160
    assert cell["metric"] > 0.9 if binary else cell["metric"] < 0.5


def test_errors_are_compared_on_folds_that_both_were_measured_on(arena):
    rows = [("t", "ours", 0, False, 2.0), ("t", "LightGBM", 0, False, 4.0), ("t", "ours", 1, False, 9.0),
            ("u", "ours", 0, True, 0.9), ("u", "LightGBM", 0, True, 0.95), ("u", "EBM", 0, True, 0.9)]  # fmt: skip
    cells = pd.DataFrame(rows, columns=["table", "model", "fold", "binary", "metric"])
    cells["seconds"] = [1, 3, 1, 1, 3, 2]
    lines = [[part.strip() for part in line.strip("|").split("|")] for line in arena.report(cells) if line]
    head = lines[0]
    body = {tuple(line[:2]): dict(zip(head, line, strict=True)) for line in lines[2:5]}
    assert [float(body["LightGBM", error]["median, % of its error"]) for error in ("RMSE", "1 - AUC")] == [50, 200]
    assert [body[key]["ours ahead"] for key in body] == ["1", "0", "0"]
    assert [body[key]["behind"] for key in body] == ["0", "1", "0"]
    assert float(body["LightGBM", "RMSE"]["seconds / ours"]) == 3
    assert float(body["EBM", "1 - AUC"]["seconds / ours"]) == 2
    assert lines[5] == ["table", "ours", "LightGBM", "EBM"]


def test_without_autogluon_the_command_says_what_it_needs(tmp_path):
    code = f"import sys; sys.modules['autogluon'] = None; import runpy; runpy.run_module({NAME!r}, run_name='__main__')"
    line = [sys.executable, "-c", code, "--data", tmp_path, "--json", tmp_path]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode
    assert "pip install --pre tabarena" in done.stderr
