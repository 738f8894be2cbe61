"""Print the settings of all estimators: `python -m gamcore.estimators > docs/api/parameters.md`."""

from __future__ import annotations

from gamcore.estimators.additive_parameters import ClassifierParameters, RegressorParameters
from gamcore.estimators.multitask_parameters import MultiTaskParameters, MultiTaskRegressorParameters
from gamcore.estimators.parameters import table


def page() -> str:
    """Return the page."""
    lines = ["# Settings of the estimators", "", "Written by `python -m gamcore.estimators > docs/api/parameters.md`."]
    both, of_tasks = table(ClassifierParameters), table(MultiTaskParameters)
    parts = (
        ("GAMRegressor and GAMClassifier (`boosting`: the classifier alone)", both),
        ("GAMRegressor alone", [row for row in table(RegressorParameters) if row not in both]),
        ("MultiTaskTreesRegressor and MultiTaskTreesClassifier", of_tasks),
        ("MultiTaskTreesRegressor alone", [row for row in table(MultiTaskRegressorParameters) if row not in of_tasks]),
    )
    for title, rows in parts:
        lines += ["", f"## {title}", "", "| setting | default | meaning | in the papers |", "|---|---|---|---|"]
        lines += [f"| `{name}` | `{default}` | {meaning} | {paper} |" for name, default, meaning, paper in rows]
    return "\n".join(lines)


if __name__ == "__main__":
    print(page())
