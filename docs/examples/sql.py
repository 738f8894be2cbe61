"""A model as one SQL statement, run in DuckDB: a warehouse scores its own rows, and gets the model's numbers."""

import duckdb
import numpy as np
from sklearn.datasets import load_breast_cancer

from gamcore import GAMClassifier
from gamcore.io import to_sql

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X.iloc[:, :8].rename(columns=lambda name: name.replace(" ", "_"))
X.loc[::7, "mean_area"] = np.nan  # missing cells are NULL there
model = GAMClassifier(interactions=2, random_state=0).fit(X, y)

query = to_sql(model, table="cells")
print(query[:600], "...", sep="\n")

cells = X.assign(mean_area=X["mean_area"].astype(object).where(X["mean_area"].notna(), None))
database = duckdb.connect()
database.register("frame", X)
database.execute(
    "CREATE TABLE cells AS SELECT * REPLACE (CASE WHEN isnan(mean_area) THEN NULL ELSE mean_area END AS mean_area) FROM frame"
)
scored = database.execute(query).df()
apart = np.abs(scored["prediction"] - model.predict_proba(X)[:, 1]).max()
print(f"{len(scored)} rows, largest difference {apart:.1e}")
assert apart < 1e-9
