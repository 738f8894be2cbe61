"""Print the settings that the papers name, beside theirs: `python -m gamcore.estimators > docs/api/parameters.md`."""

from __future__ import annotations

from gamcore.estimators.additive_parameters import ClassifierParameters, RegressorParameters
from gamcore.estimators.multitask_parameters import MultiTaskParameters, MultiTaskRegressorParameters
from gamcore.estimators.parameters import table

BEGINNING = """# Settings beside the papers'

What each setting means and may be stands with its class: [additive models](additive.md), [several tasks](tasks.md).
Here are those that [the papers](../method/papers.md) have a name or value for, or expressly lack (*none*). The page is
written by `python -m gamcore.estimators > docs/api/parameters.md`."""


def page() -> str:
    """Return the page."""
    lines = [BEGINNING]
    both, of_tasks = table(ClassifierParameters), table(MultiTaskParameters)
    parts = (
        ("GAMRegressor and GAMClassifier (`boosting`: the classifier alone)", both),
        ("GAMRegressor alone", [row for row in table(RegressorParameters) if row not in both]),
        ("MultiTaskTreesRegressor and MultiTaskTreesClassifier", of_tasks),
        ("MultiTaskTreesRegressor alone", [row for row in table(MultiTaskRegressorParameters) if row not in of_tasks]),
    )
    for title, rows in parts:
        named = [f"| `{name}` | `{default}` | {paper} |" for name, default, paper in rows if paper]
        if named:
            lines += ["", f"## {title}", "", "| setting | default | in the papers |", "|---|---|---|", *named]
    return "\n".join(lines)


if __name__ == "__main__":
    print(page())
