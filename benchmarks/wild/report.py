"""What came of all tables, as a summary and as a page."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, Final

import pandas as pd

from benchmarks.harness.cells import Cell, load
from benchmarks.harness.page import markdown
from benchmarks.wild.children import path_of
from benchmarks.wild.faults import DOUBTS, KINDS
from benchmarks.wild.tables import Stranger

MARKS: Final = ("<!-- measured -->", "<!-- /measured -->")
EXAMPLES: Final = 3


def cells_of(tables: list[Stranger], folder: Path) -> list[Cell]:
    """Return the cells of tables that were met."""
    return [cell for table in tables if (cell := load(path_of(table, folder)))]


def kinds_of(cell: Cell) -> Counter[str]:
    """Return how many faults and doubts of each kind a table has."""
    return Counter(fault["kind"] for fault in cell["faults"])


def lines(cells: list[Cell], what: str) -> list[str]:
    """Return the summary: shares of tables, faults and doubts by kind. what : the command."""
    whole = [cell for cell in cells if not any(kind in KINDS for kind in kinds_of(cell))]
    refused = [cell for cell in cells if cell["refused"]]
    checked: Counter[str] = Counter()
    for cell in cells:
        checked.update(cell.get("checked", {}))
    words = ", ".join(f"{n:,} {name}" for name, n in checked.items())
    by_kind = _by_kind(cells)
    return [
        f"`{what}`", "",
        f"{len(cells)} tables, **{len(whole)} without any fault** ({len(whole) / max(len(cells), 1):.1%}); "
        f"{len(refused)} where the app refused something in a sentence of its own. Checked: {words}.",
        "", *markdown(by_kind[by_kind["found"] > 0], 4), "",
        f"Looked for, and not found: {(by_kind['found'] == 0).sum()} other kinds (`benchmarks/wild/faults.py`).",
    ]  # fmt: skip


def _by_kind(cells: list[Cell]) -> pd.DataFrame:
    """Return a row per kind of fault: how many were found, in how many tables."""
    each = [kinds_of(cell) for cell in cells]
    rows = [
        (kind, words, sum(counts[kind] for counts in each), sum(counts[kind] > 0 for counts in each))
        for kind, words in (KINDS | {kind: f"(a doubt) {words}" for kind, words in DOUBTS.items()}).items()
    ]
    frame = pd.DataFrame(rows, columns=["kind", "what it is", "found", "tables"])
    return frame.set_index("kind")


def details(cells: list[Cell], most: int = EXAMPLES) -> list[str]:
    """Return examples of every kind of fault, and all refusals, for those who mend them."""
    by_kind: dict[str, list[tuple[str, dict[str, Any]]]] = defaultdict(list)
    for cell in cells:
        for fault in cell["faults"]:
            by_kind[fault["kind"]].append((cell["table"], fault))
    out = []
    for kind in [*KINDS, *DOUBTS]:
        for table, fault in by_kind[kind][:most]:
            out.append(f"{kind}: {table}, {fault['column']}: {fault['said']!r}; right: {fault['right']}")
    for cell in cells:
        out += [f"refused: {cell['table']}, {stage}: {words}" for stage, words in cell["refused"].items()]
    return out
