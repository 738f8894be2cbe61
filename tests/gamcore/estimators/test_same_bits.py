"""Refactoring must not change a bit of a model with the same seed: every ensemble on eight tables.

The fingerprints are recorded per kind of machine: what the compiler and BLAS write for another processor may round
differently, and the model's name is not enough to tell ("AMD EPYC" is five generations). Where nothing is recorded, the
test is skipped. `python -m tests.gamcore.estimators.test_same_bits` records this machine, at first or when the numbers
are meant to change.
"""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import version

import numpy as np
import pandas as pd
import pytest
from llvmlite.binding import get_host_cpu_name

from gamcore import GAMClassifier, GAMRegressor, MultiTaskTreesClassifier, MultiTaskTreesRegressor
from tests.support.places import DATA, ROOT
from tests.support.real_tables import BINARY, REGRESSION, read

pytestmark = pytest.mark.slow

RECORDED = ROOT / "tests" / "support" / "golden" / "bits.json"
ROWS = 1_500
QUICK = {"max_rounds": 12, "outer_bags": 2, "random_state": 7}
WAYS = {
    "grouped": {},
    "pairs and bands": {"interactions": 2, "bands": 10},
    "coarse": {"coarse_leaves": 3, "max_leaves": 2, "smoothing_rounds": 0},
    **{
        name: {"ensemble": "subagging", "histogram": name, "n_bags": 8}
        for name in ("mask", "mst", "rescan", "complement")
    },
    "bagging": {"ensemble": "bagging", "n_bags": 8},
}
TASKS = {
    "school": ("exam_score", "school", MultiTaskTreesRegressor),
    "landmine": ("label", "task", MultiTaskTreesClassifier),
}
CASES = [*((table, way) for table in (*REGRESSION, *BINARY) for way in WAYS), *((table, "tasks") for table in TASKS)]


def machine() -> str:
    """Return what the numbers may depend on."""
    return f"{get_host_cpu_name()}, numpy {version('numpy')}, numba {version('numba')}"


def recorded() -> dict[str, dict[str, str]]:
    """Return the fingerprints by machine."""
    return json.loads(RECORDED.read_text(encoding="utf-8"))


def fingerprint(table: str, way: str) -> str:
    """Return a hash of a model's predictions on its training rows and of its curves."""
    if way == "tasks":
        target, task, kind = TASKS[table]
        frame = pd.read_parquet(DATA / f"{table}.parquet").sample(ROWS, random_state=0)
        X, labels = frame.drop(columns=[target, task]), frame[task].astype(str)
        model = kind(max_rounds=6, specific_rounds=3, outer_bags=2, random_state=7).fit(X, frame[target], task=labels)
        arrays = [model.explain_rows(X, task=labels).contributions]
    else:
        data = read(DATA, table)
        some = np.random.default_rng(0).choice(len(data.X), ROWS, replace=False)
        X, y = data.X.iloc[some], data.y.iloc[some]
        model = (GAMClassifier if data.binary else GAMRegressor)(**QUICK, **WAYS[way]).fit(X, y)
        arrays = [model.explain_rows(X).contributions, *(term.refits for term in model.model_.terms)]
        if model.model_.halves is not None:
            arrays += [term.refits for term in model.model_.halves.terms]
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


@pytest.mark.skipif(not DATA.is_dir(), reason="the real tables are not beside the project")
@pytest.mark.parametrize(("table", "way"), CASES)
def test_a_model_of_the_same_seed_is_the_same_to_the_bit(table, way):
    bits = recorded().get(machine())
    if bits is None:
        pytest.skip("not recorded on a machine of this kind with these versions")
    assert fingerprint(table, way) == bits[f"{table}, {way}"]


if __name__ == "__main__":
    bits = {f"{table}, {way}": fingerprint(table, way) for table, way in CASES}
    RECORDED.write_text(json.dumps({**recorded(), machine(): bits}, indent=1) + "\n", encoding="utf-8")
