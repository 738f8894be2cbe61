"""Housing: prices of flats, from a file as an office program writes it, as curves in thousands of euros."""

from pathlib import Path

import pandas as pd
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import cross_val_predict

from gamcore import GAMRegressor
from gamcore.viz import files

SAMPLES = Path(__file__).parents[2] / "sample_data"
flats = pd.read_csv(SAMPLES / "housing.csv", sep=";", decimal=",", encoding="cp1252")
for name in ("area_sqm", "distance_km"):  # a few cells are no numbers: they are missing, and have a bin of their own
    flats[name] = pd.to_numeric(flats[name].astype(str).str.replace(",", "."), errors="coerce")
X, y = flats.drop(columns="price_thousand"), flats["price_thousand"]

model = GAMRegressor(random_state=0)
error = root_mean_squared_error(y, cross_val_predict(model, X, y, cv=3))  # it is a scikit-learn estimator
print(f"RMSE {error:.1f} thousand euros; the noise alone is 32")

model.fit(X, y)
print(model.importance().frame())
curve = model.explain_shape("area_sqm")
print(curve.frame().iloc[::40])  # edges, effect, rows

for kind in ("png", "svg", "pptx"):  # a chart in slides can be edited
    print(files.render(curve, kind, f"area.{kind}", target="price, thousands"))
