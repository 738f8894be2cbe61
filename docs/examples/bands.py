"""Bands: how sure a curve is, held against a truth that is known."""

import numpy as np
import pandas as pd

from gamcore import GAMRegressor
from gamcore.explain.sentences import read_curve

rng = np.random.default_rng(0)
X = pd.DataFrame(
    {"wave": rng.uniform(0, 1, 4_000), "bend": rng.uniform(0, 1, 4_000), "nothing": rng.normal(size=4_000)}
)
truths = {"wave": lambda x: np.sin(6 * x), "bend": lambda x: np.maximum(x - 0.5, 0) * 3, "nothing": lambda x: 0 * x}
y = sum(truth(X[name]) for name, truth in truths.items()) + rng.normal(scale=0.7, size=len(X))

model = GAMRegressor(random_state=0).fit(X, y)
model.add_bands(X, y)  # thirty refits on halves of the rows

for name, truth in truths.items():
    curve = model.explain_shape(name)
    frame = curve.frame().query("rows > 0 and low == low") if "low" in curve.frame() else curve.frame()
    print(read_curve(curve))
    print(frame.iloc[::60])
