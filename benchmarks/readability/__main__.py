"""The price of readability: `python -m benchmarks.readability --data DIR --json DIR [--doc FILE]`.

Ours beside EBM, LightGBM, XGBoost and CatBoost on the same splits, each fit in one thread. A cell is one table, model
and split, kept as one JSON file, so that a stopped run goes on where it was; `--minutes` ends it after the cell under
way. Tables are measured from small to large and split by split, so that a run without time for all has a whole table
of fewer splits. The page is written from the cells alone, and beside it, packed in one file, are the cells: a run in an
empty folder goes on from these.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.boosting.peers import split
from benchmarks.harness.arguments import parser
from benchmarks.harness.cells import Cell, keep, load, load_all, pack, unpack
from benchmarks.harness.contenders import Contender
from benchmarks.harness.machine import code, describe
from benchmarks.harness.page import publish
from benchmarks.readability.models import EBM, LIBRARIES, OURS, SEARCHED, TRIALS, defaults, loss_of, search, searched
from benchmarks.readability.page import MARKS, lines
from benchmarks.readability.tables import by_size, names, read, some_rows
from gamcore import warmup
from tests.support.real_tables import RealTable

MOST_ROWS: Final = 10_000
SPLITS: Final = 5
FEW: Final = 300


class Study:
    """Cells of a folder, measured where they are missing."""

    def __init__(self, data: Path, folder: Path, most_rows: int = MOST_ROWS, trials: int = TRIALS) -> None:
        self.data, self.folder, self.most_rows, self.trials = data, folder, most_rows, trials
        self._warm: set[tuple[str, bool]] = set()

    def path(self, table: str, model: str, seed: int | str) -> Path:
        """Return where a cell is kept."""
        return self.folder / f"{table}-{model.replace(', ', '-')}-{seed}.json"

    def rows(self, table: RealTable, seed: int) -> tuple[Any, Any, Any, Any]:
        """Return the features to fit and to test, then the targets; at most so many rows to fit."""
        X, X_test, y, y_test = split(table, seed)
        X, y = some_rows(X, y, self.most_rows, seed)
        return X, X_test, y, y_test

    def fitted_rows(self, table: RealTable, seed: int) -> int:
        """Return how many rows are fitted: a cell of as many is kept, whatever the limit was when it was measured."""
        return min(self.most_rows, len(split(table, seed)[2]))

    def measure(self, name: str, model: str, seed: int) -> None:
        """Keep a cell, unless it is there with as many rows and, if it is ours, of the same code; one whose search is
        missing asks for it first."""
        path, table = self.path(name, model, seed), read(self.data, name)
        known: Cell = {"fitted_rows": self.fitted_rows(table, seed)} | ({"code": code()} if model in OURS else {})
        if known.items() <= load(path).items():
            return
        about: Cell = {"table": name, "model": model, "seed": seed, "binary": table.binary, "rows": len(table.y)}
        about |= {"columns": table.X.shape[1]} | known
        try:
            contender = self.contender(table, model)
            about |= {"machine": describe(*contender.packages)} | self.cell(table, contender, model, seed)
        except Exception as error:  # whatever fails in any library: the text is the result
            about |= {"error": f"{type(error).__name__}: {error}"[:300]}
        keep(path, about)
        print(path.stem, about.get("error", ""), flush=True)

    def contender(self, table: RealTable, model: str) -> Contender:
        """Return a model by name."""
        if not model.endswith(SEARCHED):
            return defaults(table.binary)[model]
        library = model.removesuffix(SEARCHED)
        path = self.path(table.name, library, "search")
        known: Cell = {"table": table.name, "library": library, "fitted_rows": self.fitted_rows(table, 0)}
        known |= {"trials": self.trials}
        if not known.items() <= load(path).items():
            X, _, y, _ = self.rows(table, 0)
            keep(path, known | search(library, X, y, table.binary, 0, self.trials))
        return searched(library, load(path)["choice"])

    def cell(self, table: RealTable, contender: Contender, model: str, seed: int) -> Cell:
        """Fit one model and score it; compiled code is made ready first."""
        X_all, X_given, y, y_test = self.rows(table, seed)
        X, X_test = contender.prepare(X_all, X_given)
        if (model, table.binary) not in self._warm:
            contender.fit(contender.make(table.binary, seed, warming=True), X[:FEW], y[:FEW], seed)
            self._warm.add((model, table.binary))
        fitted = contender.make(table.binary, seed)
        started = time.process_time()
        contender.fit(fitted, X, y, seed)
        seconds = time.process_time() - started
        predicted = np.asarray(contender.ask(fitted, X_test), float)
        return {
            "seconds": seconds, "metric": table.score(X_given, y_test, predicted),
            "loss": loss_of(y_test, predicted, table.binary), "spread": float(np.std(y_test)),
            "test_rows": len(y_test), "size": contender.rounds(fitted),
            "triples": len(getattr(getattr(fitted, "model_", None), "triples", ())),
        }  # fmt: skip


def plan(tables: list[str], splits: int) -> Iterator[tuple[str, str, int]]:
    """Yield cells in the order of a run: what is cheap before what is slow, and one split of all tables before the
    next."""
    quick = [name for name in defaults(True) if name not in ("CatBoost", EBM)]
    lightgbm, xgboost, catboost = (library + SEARCHED for library in LIBRARIES)
    stages = [(quick, 0), ([lightgbm], 0), (["CatBoost"], 0), ([*quick, lightgbm], 1)]
    stages += [([xgboost], 0), (["CatBoost", xgboost], 1)]
    stages += [([*quick, "CatBoost", lightgbm, xgboost], seed) for seed in range(2, splits)]
    stages += [([model], seed) for model in (EBM, catboost) for seed in range(splits)]
    for models, seed in stages:
        for table in tables if seed < splits else ():
            for model in models:
                yield table, model, seed


def main() -> None:
    """Measure the missing cells, then write the page."""
    options = parser(__doc__, [])
    options.add_argument("--splits", type=int, default=SPLITS)
    options.add_argument("--rows", type=int, default=MOST_ROWS, help="most rows for fitting, drawn at random")
    options.add_argument("--minutes", type=float, default=np.inf, help="after which no cell is begun")
    options.add_argument("--doc", type=Path, help="the page to be written, such as docs/benchmarks/readability.md")
    asked = options.parse_args()
    packed = asked.doc.with_suffix(".jsonl") if asked.doc else None
    if packed:
        unpack(packed, asked.json)
    ends = time.monotonic() + 60 * asked.minutes
    if asked.minutes > 0:
        warmup()
        warnings.simplefilter("ignore")
        study = Study(asked.data, asked.json, asked.rows)
        tables = by_size(asked.data, asked.tables or names())
        for table, model, seed in plan(tables, asked.splits):
            if time.monotonic() > ends:
                break
            study.measure(table, model, seed)
    publish(lines(load_all(asked.json)), asked.doc, MARKS)
    if packed:
        pack(asked.json, packed)


if __name__ == "__main__":
    main()
