"""Write golden files of the imported version: `python -m tests.support.golden.make FOLDER`.

For an earlier version, run it with that version's source tree first on the path. A golden file is written once, by the
code of its version, and never again.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import gamcore
from gamcore.io.gamx import SCHEMA
from tests.support.golden import TASKS, probe

Made = Iterator[tuple[str, Any, np.ndarray]]


def table(n: int = 400) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Make columns of every type, a target with an interaction of two of them, and each row's task."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=n), "age": rng.integers(18, 90, n).astype(float)})
    rare = [f"rare {k}" for k in range(20)]
    X["job"] = rng.choice(["nurse", "clerk", "cook", *rare], n, p=[0.4, 0.3, 0.2, *[0.005] * 20])
    X["member"] = rng.random(n) < 0.4
    X["since"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 366, n), unit="D")
    X.loc[::9, "age"] = np.nan
    y = X["size"] * np.where(X["member"], 1, -1) + (X["job"] == "nurse") + 0.01 * X["age"].fillna(90)
    return X, (y + 0.3 * rng.normal(size=n)).to_numpy(float), rng.choice(["a", "b"], n, p=[0.7, 0.3])


def additive() -> Made:
    """Make the files of single-task models."""
    X, y, _ = table()
    weight = np.where(X["member"], 2.0, 0.5)
    common = {"outer_bags": 2, "max_rounds": 6, "max_bins": 16, "random_state": 0, "date_parts": True}
    pairs, bands = {"interactions": [("size", "member")], "outer_bags": 1}, {"bands": 10}
    variants = {"": {}, "-pairs": pairs, "-bands": bands, "-pairs-bands": pairs | bands}
    known = gamcore.GAMRegressor().get_params()
    for name, changes in variants.items():
        if set(changes) <= set(known):
            number = gamcore.GAMRegressor(**{**common, **changes}).fit(X, y, sample_weight=weight)
            yield f"regressor{name}", number, number.predict(probe())
            choice = gamcore.GAMClassifier(**{**common, **changes}).fit(X, np.where(y > 0.5, "yes", "no"))
            yield f"classifier{name}", choice, choice.decision_function(probe())
    if hasattr(gamcore, "fit_intervals"):
        number = gamcore.fit_intervals(gamcore.GAMRegressor(**common).fit(X[:300], y[:300]), X[300:], y[300:])
        yield "regressor-intervals", number, number.predict(probe())


def multitask() -> Made:
    """Make the files of multi-task models."""
    if not hasattr(gamcore, "MultiTaskTreesRegressor"):
        return
    X, y, task = table()
    asked = np.resize(np.array(TASKS, object), len(probe()))
    common = {"outer_bags": 2, "max_rounds": 4, "specific_rounds": 3, "max_bins": 16, "random_state": 0, "max_depth": 2}
    number = gamcore.MultiTaskTreesRegressor(**common).fit(X, y, task=task)
    yield "multitask-regressor", number, number.predict(probe(), task=asked)
    choice = gamcore.MultiTaskTreesClassifier(additive=True, **common).fit(X, y > 0.5, task=task)
    yield "multitask-classifier", choice, choice.decision_function(probe(), task=asked)


def main(folder: Path) -> None:
    """Write the files, and add their scores to the existing ones."""
    path = folder / "scores.json"
    told = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for made in (additive(), multitask()):
        for kind, model, scores in made:
            name = f"{SCHEMA[0]}.{SCHEMA[1]}-{kind}"
            model.save(folder / f"{name}.gamx")
            written = (folder / f"{name}.gamx").read_bytes()
            (folder / f"{name}.gamx").unlink()
            (folder / f"{name}.gamx.gz").write_bytes(gzip.compress(written, mtime=0))
            told[name] = [float(score).hex() for score in scores]
            print(name, len(written), (folder / f"{name}.gamx.gz").stat().st_size, flush=True)
    path.write_text(json.dumps(told, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
