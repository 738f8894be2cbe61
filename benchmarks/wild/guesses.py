"""The first guesses at strangers' tables against labels by hand: target, arm, exposure, IDs.

    python -m benchmarks.wild.guesses [--part PART] [--wrong]

`labels.csv` has what each table's documentation says, with the reason: names of columns, no data. Where several columns
are named, any is right. Words and weights of `shapewise/columns/targets_found.py` were set on the tables developed on;
those held out were counted a few times on the way, and the fresh ones were labelled before anything had met them. The
ones kept apart were labelled before any guess at them was seen, and counted once. Names of rows are IDs in all.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from benchmarks.wild.tables import Stranger, read
from gamcore.data.table import as_table
from shapewise.columns.roles import Roles, roles_of
from shapewise.doctor.examine import examine
from shapewise.ingest.read import read_file

LABELS: Final = Path(__file__).parent / "labels.csv"
PARTS: Final = ("developed", "held out", "fresh", "kept apart", "drawn last")
NAMES_OF_ROWS: Final = "rownames"
NOT_LEARNT: Final = ("id", "group", "leave out", "target", "exposure")


@dataclass(frozen=True)
class Label:
    """What the documentation of a table says of its columns; any of several is right."""

    table: Stranger
    target: tuple[str, ...]
    arm: tuple[str, ...]
    exposure: tuple[str, ...]
    id: tuple[str, ...]
    group: tuple[str, ...]
    part: str


@dataclass
class Guessed:
    """What came of a table: the place of the right target among the guesses (None: not among them), whether arm and
    exposure are right, asked, missed or invented ("" where there is none), and IDs that are features."""

    table: str
    part: str
    has_target: bool
    place: int | None
    asked: bool
    arm: str
    exposure: str
    learnt_ids: list[str]
    learnt_groups: list[str]
    first: list[str]


def labels() -> list[Label]:
    """Return all labelled tables."""
    with LABELS.open(newline="", encoding="utf-8") as file:
        return [
            Label(Stranger(*line["table"].split("/", 1)),
                  *(tuple(filter(None, line[role].split("|")))
                    for role in ("target", "arm", "exposure", "id", "group")),
                  part=line["part"])
            for line in csv.DictReader(file)
        ]  # fmt: skip


def guess(label: Label) -> Guessed:
    """Return what is guessed of a table, loaded from a CSV file as a user has it."""
    text = read(label.table).to_csv(index=False).encode()
    table = as_table(read_file(f"{label.table.item}.csv", text).frame)
    roles = roles_of(table, examine(table), name=label.table.item)
    ranked = [candidate.column for candidate in roles.targets]
    places = [ranked.index(name) for name in label.target if name in ranked]
    learnt = [name for name, role in roles.by_column.items() if role not in NOT_LEARNT]
    return Guessed(
        label.table.name, label.part, bool(label.target), min(places, default=None),
        roles.question("target") is not None, _verdict(roles, "arm", label.arm),
        _verdict(roles, "exposure", label.exposure), [name for name in learnt if name in (*label.id, NAMES_OF_ROWS)],
        [name for name in learnt if name in label.group], ranked[:3],
    )  # fmt: skip


def _verdict(roles: Roles, role: str, right: tuple[str, ...]) -> str:
    """Return whether a role is right, asked, wrong or missed; asked or invented where no column has it."""
    column, question = roles.column(role), roles.question(role)  # type: ignore[arg-type]
    if column is not None:
        return "right" if column in right else "wrong" if right else "invented"
    if question is not None:
        return "asked" if not right or {answer.column for answer in question.answers} & set(right) else "wrong"
    return "missed" if right else ""


def summary(guesses: list[Guessed]) -> str:
    """Return the shares of a set of tables, in a paragraph."""
    aimed = [guessed for guessed in guesses if guessed.has_target]
    first = sum(guessed.place == 0 for guessed in aimed)
    third = sum(guessed.place is not None and guessed.place < 3 for guessed in aimed)
    sure = [guessed for guessed in aimed if not guessed.asked]
    right = sum(guessed.place == 0 for guessed in sure)
    lines = [
        f"{len(guesses)} tables, {len(aimed)} with a target: right first {first} ({first / len(aimed):.1%}), "
        f"among three {third} ({third / len(aimed):.1%}); {len(sure)} guessed without asking, {right} of them right"
    ]
    for role in ("arm", "exposure"):
        verdicts = [getattr(guessed, role) for guessed in guesses]
        known = {word: verdicts.count(word) for word in ("right", "asked", "wrong", "missed", "invented")}
        lines.append(f"{role}: " + ", ".join(f"{word} {n}" for word, n in known.items()))
    ids = [f"{guessed.table}: {', '.join(guessed.learnt_ids)}" for guessed in guesses if guessed.learnt_ids]
    groups = sum(bool(guessed.learnt_groups) for guessed in guesses)
    lines.append(f"IDs among the features: {len(ids)} tables {ids}; names of groups: {groups} tables")
    return "\n".join(lines)


def main() -> None:
    """Guess at the labelled tables, and print what came of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--part", choices=PARTS, help="one part only")
    parser.add_argument("--wrong", action="store_true", help="print each table that is not right")
    parser.add_argument("--json", type=Path, help="file for what came of each table")
    asked = parser.parse_args()
    guesses = []
    for label in labels():
        if asked.part in (None, label.part):
            guesses.append(guess(label))
            print(label.table.name, file=sys.stderr)
    if asked.wrong:
        for guessed in guesses:
            if (
                (guessed.has_target and guessed.place != 0)
                or guessed.arm in ("wrong", "missed", "invented")
                or guessed.exposure in ("wrong", "missed")
            ):
                print(guessed.table, guessed.place, guessed.first, f"arm {guessed.arm}", f"exposure {guessed.exposure}")
    for name in PARTS:
        if part := [guessed for guessed in guesses if guessed.part == name]:
            print(f"{name}: {summary(part)}")
    if asked.part is None:
        print(f"all: {summary(guesses)}")
    if asked.json:
        asked.json.write_text(json.dumps([asdict(guessed) for guessed in guesses], indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
