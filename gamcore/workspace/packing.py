"""The child process that makes a pack: `python -m gamcore.workspace.packing PACK_FOLDER`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any, Final

from gamcore.estimators import GAMClassifier, GAMRegressor, from_saved
from gamcore.export.report import to_report
from gamcore.modelfile import ModelFileError
from gamcore.table import TableError
from gamcore.workspace import child, jobs
from gamcore.workspace.card import card
from gamcore.workspace.files import read_json, write_bytes, write_json
from gamcore.workspace.recipes import from_dict
from gamcore.workspace.review import review_of
from gamcore.workspace.scored import ScoreError, score, to_file
from gamcore.workspace.store import StoreError, Workspace

REPORT_SECONDS: Final = 0.1
OWN: Final = 0.3
"""Share of a report's time that reading the model takes; drawing is the rest."""


class _Teller:
    """Says how far the work is, at most ten times a second, and looks for a reason to stop."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._last = folder, 0.0

    def __call__(self, share: float, words: str) -> None:
        child.look_for_a_stop(self._folder)
        if time.monotonic() - self._last >= REPORT_SECONDS:
            self._last = time.monotonic()
            write_json(self._folder / "progress.json", {"share": min(share, 1.0), "words": words})


def main(folder: Path) -> int:
    """Make one pack; the exit code is 0 where it ended as it should."""
    told = read_json(folder / "about.json")

    def work() -> dict[str, Any]:
        space = jobs.space_of(folder)
        made = _make(space, told["work"], told["about"], _Teller(folder))
        space.check_room(len(made))
        write_bytes(folder / f"out.{told['about']['kind']}", made)
        return {}

    return child.work_on(folder, work, (TableError, StoreError, ScoreError, ModelFileError), "Making the file")


def _make(space: Workspace, work: str, about: dict[str, Any], tell: _Teller) -> bytes:
    if work == "report":
        recipe = from_dict(about["recipe"])
        report = review_of(space, recipe, about["model"], lambda share, words: tell(OWN * share, f"Reading: {words}"))
        return to_report(report, about["kind"], lambda share, words: tell(OWN + (1 - OWN) * share, f"Drawing: {words}"))
    frame = space.read_table(about["table"])
    estimator = from_saved(space.load_model(about["model"]))
    if not isinstance(estimator, GAMRegressor | GAMClassifier):
        raise StoreError("Tables are scored by models of one target: choose another.")
    scored = score(frame, estimator, about["top"], lambda share: tell(0.8 * share, "Scoring the rows"))
    tell(0.8, "Writing the file")
    return to_file(scored, about["kind"], card(space, about["model"]).text())


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
