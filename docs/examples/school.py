"""School tasks: pupils of forty schools, learnt together, so that small schools learn from the large ones."""

import numpy as np
import pandas as pd
from sklearn.metrics import root_mean_squared_error

from gamcore import GAMRegressor, MultiTaskTreesRegressor


def pupils(rng: np.random.Generator, sizes: np.ndarray) -> pd.DataFrame:
    """Return pupils of schools that agree about homework and differ in what reading is worth."""
    school = np.repeat(np.arange(sizes.size), sizes)
    table = pd.DataFrame({"school": school, "homework": rng.uniform(0, 10, school.size)})
    table["reading"] = rng.normal(size=school.size)
    slope = np.where(school % 4 == 0, -1.0, 3.0)
    truth = 20 + 4 * np.log1p(table["homework"]) + slope * table["reading"] + 0.2 * (school - 20)
    return table.assign(score=truth + rng.normal(scale=3, size=school.size))


rng = np.random.default_rng(0)
train, test = pupils(rng, np.where(np.arange(40) < 30, 20, 200)), pupils(rng, np.full(40, 200))
features = ["homework", "reading"]

together = MultiTaskTreesRegressor(random_state=0).fit(train[features], train["score"], task=train["school"])
one = GAMRegressor(random_state=0).fit(train[features], train["score"])
alone = {
    name: GAMRegressor(random_state=0).fit(part[features], part["score"]) for name, part in train.groupby("school")
}

small = test[test["school"] < 30]
print("Error on fresh pupils of the thirty small schools (noise alone: 3)")
guess = pd.concat(
    [pd.Series(alone[name].predict(part[features]), part.index) for name, part in small.groupby("school")]
)
print(f"  a model of each school  {root_mean_squared_error(small['score'], guess[small.index]):.2f}")
print(f"  one model for all       {root_mean_squared_error(small['score'], one.predict(small[features])):.2f}")
guess = together.predict(small[features], task=small["school"])
print(f"  together                {root_mean_squared_error(small['score'], guess):.2f}")
print(together.agreement("reading").frame().tail(10))  # which schools reverse the common curve
