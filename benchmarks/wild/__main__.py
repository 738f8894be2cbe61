"""Meet strangers: `python -m benchmarks.wild --tables 500 --json DIR --doc docs/benchmarks/wild.md`.

Tables that R packages ship (`pip install "shapewise[wild]"`) are written as files in eight dialects, and each goes
through the app as a user would take it: loaded, looked at, trained by the first proposal, read, and taken elsewhere.
All that is said is checked by brute force against the rows. A run can be resumed: cells that are there are kept.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

from benchmarks.harness.page import put_between
from benchmarks.wild.children import LIMIT, meet_all
from benchmarks.wild.report import MARKS, cells_of, details, lines
from benchmarks.wild.tables import FEWEST_ROWS, MOST_COLUMNS, MOST_ROWS, Stranger, sample, strangers


def main() -> None:
    """Meet a sample of tables, print what came of them, and write it on a page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", type=int, default=500, help="how many, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="of the drawing; more tables begin with the same ones")
    parser.add_argument("--rows", type=int, default=MOST_ROWS, help="at most so many rows; fewer make another sample")
    parser.add_argument("--columns", type=int, default=MOST_COLUMNS, help="at most so many columns")
    parser.add_argument("--only", nargs="*", default=[], help="these instead of a sample, such as MASS/Aids2")
    parser.add_argument("--json", type=Path, default=Path("wild"), help="folder of the cells; existing ones are kept")
    parser.add_argument("--doc", type=Path, help="page that gets the summary")
    parser.add_argument("--limit", type=float, default=LIMIT, help="processor seconds for a table")
    parser.add_argument("--seconds", type=float, default=math.inf, help="after which no further table is begun")
    parser.add_argument("--examples", type=int, default=3, help="faults of each kind that are printed")
    asked = parser.parse_args()
    chosen = sample(strangers((FEWEST_ROWS, asked.rows), asked.columns), asked.tables, asked.seed)
    if asked.only:
        chosen = [Stranger(*name.split("/", 1)) for name in asked.only]
    meet_all(chosen, asked.json, asked.limit, _tell, asked.seconds)
    cells = cells_of(chosen, asked.json)
    smaller = {"rows": (asked.rows, MOST_ROWS), "columns": (asked.columns, MOST_COLUMNS)}
    less = "".join(f" --{name} {most}" for name, (most, usual) in smaller.items() if most != usual)
    summary = lines(cells, f"python -m benchmarks.wild --tables {asked.tables} --seed {asked.seed}{less}")
    print("\n".join([*details(cells, asked.examples), "", *summary]))
    if asked.doc:
        put_between(asked.doc, MARKS, summary)


def _tell(table: Stranger, seconds: float) -> None:
    print(f"{table.name}: {seconds:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
