"""Bike counts: `python bikes.py hour.csv` on the public table; without a file, on hours drawn from a known truth."""

import sys

import numpy as np
import pandas as pd
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import train_test_split

from gamcore import GAMRegressor

FEATURES = ["hr", "weekday", "workingday", "temp", "hum"]


def drawn(n: int = 6_000) -> pd.DataFrame:
    """Return hours of which the shape of the day depends on whether people work: an interaction."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"hr": rng.integers(0, 24, n), "weekday": rng.integers(0, 7, n)})
    table["workingday"] = (table["weekday"].between(1, 5)).astype(int)
    table["temp"], table["hum"] = rng.uniform(0, 1, n), rng.uniform(0.2, 1, n)
    commute = np.exp(-((table["hr"] - 8) ** 2) / 2) + np.exp(-((table["hr"] - 17) ** 2) / 4)
    leisure = np.exp(-((table["hr"] - 14) ** 2) / 20)
    day = np.where(table["workingday"] == 1, 300 * commute, 200 * leisure)
    mean = 20 + day + 150 * table["temp"] - 60 * table["hum"].clip(0.7)
    return table.assign(cnt=rng.poisson(np.maximum(mean, 1)))


table = pd.read_csv(sys.argv[1]) if len(sys.argv) > 1 else drawn()
train, test = train_test_split(table, test_size=0.2, random_state=0)

for pairs in (0, "auto"):
    model = GAMRegressor(interactions=pairs, random_state=0).fit(train[FEATURES], train["cnt"])
    error = root_mean_squared_error(test["cnt"], model.predict(test[FEATURES]))
    print(f"interactions={pairs!r}: {len(model.model_.pairs)} pairs, RMSE {error:.1f} bikes an hour")

print(model.pair_ranking_.head(3))
surface = model.explain_pair("hr", "workingday")
print(surface.frame().head())  # what hour and working day do together, beyond their own curves
