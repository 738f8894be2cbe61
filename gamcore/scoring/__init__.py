"""A model for other programs: as SQL, as Python without dependencies, as JSON. All predict as the model does."""

from gamcore.scoring.formula import Formula, ScoringError, TaskFormula, formula_of
from gamcore.scoring.jsonmodel import from_json, to_dict, to_json
from gamcore.scoring.python import to_python
from gamcore.scoring.sql import to_sql

__all__ = [
    "Formula", "ScoringError", "TaskFormula", "formula_of", "from_json", "to_dict", "to_json", "to_python", "to_sql",
]  # fmt: skip
