"""Bands: how sure a curve is, held against a truth that is known."""

import numpy as np
import pandas as pd

from gamcore import GAMRegressor, add_bands
from gamcore.explain.sentences import read_curve

TRUTHS = {"wave": lambda x: np.sin(6 * x), "bend": lambda x: 3 * np.maximum(x - 0.5, 0), "nothing": lambda x: 0 * x}

rng = np.random.default_rng(0)
X = pd.DataFrame({name: rng.uniform(0, 1, 4_000).round(2) for name in TRUTHS})
y = sum(truth(X[name]) for name, truth in TRUTHS.items()) + rng.normal(scale=0.7, size=len(X))

model = GAMRegressor(random_state=0).fit(X, y)
add_bands(model, X, y)  # thirty refits on halves of the rows

for name, truth in TRUTHS.items():
    curve = model.explain_shape(name)
    print(read_curve(curve))

    bins = curve.frame().query("rows > 0")
    middle = np.clip((bins["from"] + bins["below"]) / 2, 0, 1)
    true = truth(middle) - truth(X[name]).mean()  # curves are centred over the rows
    for band in ("", ", whole curve"):
        inside = true.between(bins[f"lower{band}"], bins[f"upper{band}"])
        print(f"  lower and upper{band}: the truth is inside in {np.average(inside, weights=bins['rows']):.0%} of rows")
