"""A loss whose formulas the kernels have is declared in one file: all else follows from what it says of itself."""

from __future__ import annotations

import shutil

import pytest

from tests.support.forks import Program, failures
from tests.support.places import ROOT

pytestmark = pytest.mark.slow

DECLARED = '''
@dataclass(frozen=True)
class InverseGaussianLoss(PowerLoss):
    """Inverse Gaussian deviance of amounts y > 0, (y - mu)^2 / (mu^2 y)."""

    name: ClassVar[str] = "inverse gaussian"
    error: ClassVar[str] = "inverse Gaussian deviance"

    @property
    def variance_power(self) -> float:
        return 3.0

    @property
    def form(self) -> Form:
        return kernels.tweedie(3.0)


'''

PROGRAM = """
import sqlite3, sys

import numpy as np
import pandas as pd

import gamcore
from gamcore import GAMRegressor, MultiTaskTreesRegressor, io, load_model, rank_pairs

assert gamcore.__path__[0].startswith(sys.argv[1])
rng = np.random.default_rng(0)
X = pd.DataFrame({"a": rng.uniform(size=2_000), "b": rng.choice(list("pqr"), 2_000)})
mean = np.exp(X["a"] + (X["b"] == "p"))
y = rng.wald(mean, 4.0)
asked = dict(objective="inverse gaussian", outer_bags=2, max_rounds=100, random_state=0)
model = GAMRegressor(interactions=1, bands=10, **asked)
model.fit(X, y)
predicted = model.predict(X)
assert np.isclose(predicted.sum(), y.sum()), "balanced at the end, as its family is"
assert np.corrcoef(np.log(predicted), np.log(mean))[0, 1] > 0.95

def deviance(mu):
    return float(np.mean((y - mu) ** 2 / (mu**2 * y)))

constant, noise = deviance(np.full(y.size, y.mean())), deviance(mean)
assert (constant - deviance(predicted)) / (constant - noise) > 0.9
assert model.explain_shape("a").on("ratio").unit == "factor of the mean"
model.save(sys.argv[1] + "/model.gamx")
np.testing.assert_array_equal(load_model(sys.argv[1] + "/model.gamx").predict(X), predicted)
np.testing.assert_allclose(io.from_json(io.to_json(model)).predict(X), predicted, rtol=1e-12)
scope = {"__name__": "scoring"}
exec(io.to_python(model), scope)
np.testing.assert_allclose([scope["predict"](row) for row in X.head(20).to_dict("records")], predicted[:20], rtol=1e-9)
table = sqlite3.connect(":memory:")
table.create_function("EXP", 1, np.exp)
X.head(20).to_sql("rows", table, index=False)
scored = pd.read_sql(io.to_sql(model, table="rows"), table)
np.testing.assert_allclose(scored["prediction"], predicted[:20], rtol=1e-9)
tasks = MultiTaskTreesRegressor(**asked)
assert deviance(tasks.fit(X[["a"]], y, task=X["b"]).predict(X[["a"]], task=X["b"])) < constant
assert len(rank_pairs(X, y, objective="inverse gaussian")) == 1
"""


def test_a_loss_is_declared_in_one_file(tmp_path):
    shutil.copytree(ROOT / "gamcore", tmp_path / "gamcore")
    path = tmp_path / "gamcore" / "model" / "losses.py"
    text = path.read_text(encoding="utf-8")
    assert text.count("\nLOSSES: Final") == text.count("        QuantileLoss(),\n") == 1
    text = text.replace("\nLOSSES: Final", f"{DECLARED}LOSSES: Final")
    text = text.replace("        QuantileLoss(),\n", "        QuantileLoss(),\n        InverseGaussianLoss(),\n")
    path.write_text(text.replace("import GammaLoss, PoissonLoss,", "import GammaLoss, PoissonLoss, PowerLoss,"))
    program = Program("with one loss more", PROGRAM, str(tmp_path), (str(tmp_path),))
    assert failures([program], ["numba", "pandas", "pyarrow.parquet", "scipy.stats", "sklearn.base"]) == {}
