"""Models for other programs: SQL, Python without dependencies, JSON. All predict as the model does."""

from gamcore.io.formula import Formula, ScoringError, TaskFormula, formula_of
from gamcore.io.score_json import from_json, to_dict, to_json
from gamcore.io.score_python import to_python
from gamcore.io.score_sql import to_sql

__all__ = [
    "Formula", "ScoringError", "TaskFormula", "formula_of", "from_json", "to_dict", "to_json", "to_python", "to_sql",
]  # fmt: skip
