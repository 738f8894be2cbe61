"""A model as one SQL statement, run in DuckDB: a warehouse scores its own rows, and gets the model's numbers."""

import duckdb
import numpy as np
from sklearn.datasets import load_breast_cancer

from gamcore import GAMClassifier
from gamcore.io import to_sql

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X.iloc[:, :8].rename(columns=lambda name: name.replace(" ", "_"))
X.loc[::7, "mean_area"] = np.nan
model = GAMClassifier(interactions=2, random_state=0).fit(X, y)

query = to_sql(model, table="cells")
print(f"{query[:400]} ... {len(query):,} characters")

cells = X.convert_dtypes()  # a missing cell is NULL there, not NaN
scored = duckdb.sql(query).df()
apart = np.abs(scored["prediction"] - model.predict_proba(X)[:, 1]).max()
print(f"{len(scored)} rows, {scored['mean_area'].isna().sum()} without an area; largest difference {apart:.1e}")
assert apart < 1e-9
