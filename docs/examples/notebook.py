# %% [markdown]
# # A notebook
# Cells in the percent format: VS Code, PyCharm and Jupytext open this file as a notebook.

# %%
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GridSearchCV, train_test_split

from gamcore import PRESETS, GAMRegressor, report

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %% [markdown]
# A search over settings is scikit-learn's own, and presets are plain dictionaries.

# %%
search = GridSearchCV(GAMRegressor(**PRESETS["fast"], random_state=0), {"max_leaves": [2, 3]}, cv=3)
search.fit(X_train, y_train)
print(search.best_params_, f"R² on fresh rows: {search.score(X_test, y_test):.2f}")

# %% [markdown]
# What matters, and one curve: a cell that ends with an explanation shows it, and `.frame()` has its numbers.

# %%
model = GAMRegressor(bands=30, random_state=0).fit(X_train, y_train)
model.importance()

# %%
curve = model.explain_shape("bmi")
print(curve.words())
curve.frame()

# %% [markdown]
# A page to send to somebody: it works offline.

# %%
report(model, "report.html")
print("report.html")
