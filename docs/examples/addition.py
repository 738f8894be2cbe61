"""An addition in one file: notes on rows, kept with a model and in its file.

It runs as a program. In `gamcore/additions/notes/addition.py`, beside an `__init__.py` that lists its names, models
also carry the notes through their files.
"""

import copy
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from gamcore.estimators.additive import AdditiveEstimator
from gamcore.io.attached import FilePart
from gamcore.io.checks import require
from gamcore.model.additive import AdditiveModel, Attachment

NAME: Final = "notes"
Additive = TypeVar("Additive", bound=AdditiveEstimator)


@dataclass(frozen=True)
class Notes(Attachment):
    """What people wrote about rows, by the row's key."""

    texts: dict[str, str]

    @property
    def summary(self) -> str:
        """Return what a reader of the model is told."""
        return f"{len(self.texts)} notes on rows"


def note(model: Additive, row: str, text: str) -> Additive:
    """Return a copy of a fitted model with a note on a row; an empty text takes the row's note away."""
    texts = {**notes_of(model), row: text}
    noted = copy.copy(model)
    noted.model_ = _with(model.model_, {key: value for key, value in texts.items() if value})
    return noted


def notes_of(model: AdditiveEstimator) -> dict[str, str]:
    """Return the notes of a model, by the row's key."""
    kept = model.model_.attachments.get(NAME)
    return dict(kept.texts) if isinstance(kept, Notes) else {}


def _with(model: AdditiveModel, texts: dict[str, str]) -> AdditiveModel:
    others = {name: kept for name, kept in model.attachments.items() if name != NAME}
    return replace(model, attachments={**others, NAME: Notes(texts)} if texts else others)


def _read(model: AdditiveModel, entry: dict[str, Any], arrays: object) -> AdditiveModel:
    texts = entry.get("texts")
    require(isinstance(texts, dict) and all(isinstance(text, str) for text in texts.values()), "its notes are no texts")
    return _with(model, dict(entry["texts"]))


FILE: Final = FilePart(write=lambda model, notes: ({"texts": notes.texts}, {}), read=_read)

if __name__ == "__main__":
    from sklearn.datasets import load_diabetes

    from gamcore import GAMRegressor

    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = note(GAMRegressor(random_state=0).fit(X, y), "patient 17", "Measured twice: the first was a mistake.")
    print(notes_of(model))
