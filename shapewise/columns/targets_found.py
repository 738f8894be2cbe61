"""Which column people will want to predict: what its name says, where it stands, and what it holds.

Each piece of evidence has a weight: those of a conditional logit (which column of a table is the target), rounded,
on the tables of `benchmarks/wild/labels.csv` that were developed on; the others measure them
(`python -m benchmarks.wild.guesses`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from gamcore.data.table import Table
from shapewise.columns.guesses import Guess
from shapewise.columns.row_design import Cue, cues, groups_among
from shapewise.columns.ties import repeats_amounts, said_together, sample_of, ties_by_rank
from shapewise.doctor.examine import ColumnReport
from shapewise.doctor.name_words import (
    AFTER,
    AMOUNTS,
    ARMS,
    ASKED,
    BEFORE,
    DUMMY,
    EXPOSURES,
    FATE_LEVELS,
    FATES,
    GIVEN,
    KINDS,
    LAGGED,
    MAYBE_ARMS,
    MEASURES,
    SPLITS,
    by_lower_case,
    changed_from,
    earlier_of,
    in_years,
    part_of,
    shares_word,
    square_of,
    words_in,
    words_of,
)  # fmt: skip

MOST_LEVELS: Final = 50
"""Levels beyond which a category cannot be predicted."""

CLASSES: Final = frozenset({"class", "label", "labels", "mode", "plan", "status"})
"""What is called so is the target, unless it is the class of something, or has as many values as a school has
classes."""

FEWEST_LETTERS: Final = 4
"""Letters of a word that is no part of another by chance."""

FEW_NUMBERS: Final = 12
AMOUNT_OF_FATE: Final = 0.5
"""What a word of what happened, or did not, says of a number of more values."""

NOT_AIMED_AT: Final = EXPOSURES | ARMS | MAYBE_ARMS | {"n", "trials", "ntrials"}
FINAL: Final = frozenset({"death", "died", "dead", "mortality", "survived", "survival"})
"""Fates after which there is no other."""

PRICES: Final = frozenset({"price", "prices", "pricing"})
QUANTITIES: Final = frozenset({"consumption", "demand", "sales", "quantity", "quantities", "qty"})
"""What is bought depends on what it costs, where a table has both."""

WEIGHTS: Final[dict[str, tuple[float, str]]] = {
    "asked": (3.75, "its name says so ({word})"),
    "fate": (4.25, "its name is that of an outcome ({word})"),
    "amount": (3.0, "its name is that of a measured result ({word})"),
    "measure": (0.75, "its name may be that of a measured result ({word})"),
    "ends": (1.5, "one of its levels is an outcome ({word})"),
    "latest": (1.25, "it is of the latest year ({word})"),
    "table": (2.0, "the table is named after it"),
    "first": (2.0, "it comes first among the candidates"),
    "last": (1.0, "it comes last among the candidates"),
    "end": (1.0, "it is the last column"),
    "yes or no": (-0.25, ""),
    "given": (-1.0, ""),
    "earlier": (-0.5, ""),
    "before": (-1.0, ""),
    "final": (0.5, ""),
    "costs": (-1.5, ""),
    "part": (-1.5, ""),
    "square": (-1.5, ""),
    "changed": (-0.5, ""),
    "dummy": (-1.5, ""),
    "copy": (-0.75, ""),
    "later": (-1.25, ""),
    "split": (-3.0, ""),
    "levels": (-0.5, ""),
    "many levels": (-3.0, ""),
    "few numbers": (-1.25, ""),
    "kind": (1.5, "the numbers may tell its levels apart ({word})"),
    "after": (1.25, "its name is that of something that comes last ({word})"),
    "planned": (-2.5, ""),
    "of a group": (-1.5, ""),
    "one of several": (-1.0, ""),
    "alike": (-1.5, ""),
    "count": (1.25, "it counts something"),
    "many values": (1.0, "it has many values"),
    "only class": (0.75, "it is the only column that is not a number"),
    "tied": (1.25, "it depends on more of the others than most do"),
    "said together": (-1.75, ""),
    "repeated": (-0.75, ""),
    "titled": (0.5, "the table's name has its name in it"),
}
"""Weight of each piece of evidence, and how it is told where it speaks for a column."""

AGAINST: Final = frozenset({"given", "earlier", "before", "square", "dummy", "costs", "part"})
"""Evidence of columns that are passed over in looking for the first and the last."""

SURE: Final = 1.25
SURE_BY_PLACE: Final = 2.25
"""Least distance of the likeliest column from the next, for it to be taken without asking: by its name, or by its place
alone."""

NAMED: Final = frozenset({"asked", "fate", "amount", "ends", "latest", "table"})
"""Evidence of names that say what happens, or is measured, in the end."""


def likely(
    table: Table, reports: Sequence[ColumnReport], possible: Sequence[ColumnReport], name: str = ""
) -> list[Guess]:
    """Return the columns that may be the target, the likeliest first.

    reports : of all columns. possible : of those that can be the target. name : of the table.
    """
    by_name = evidence(possible, cues(table, possible, groups_among(reports, len(table))), name)
    by_others = _beside_others(sample_of(table), reports, possible)
    by_column = {column: signs | by_others[column] for column, signs in by_name.items()}
    scored = {
        column: sum(WEIGHTS[kind][0] * strength for kind, (strength, _) in signs.items())
        for column, signs in by_column.items()
    }
    ranked = sorted(scored, key=lambda column: -scored[column])
    guesses = []
    for k, column in enumerate(ranked):
        following = scored[ranked[k + 1]] if k + 1 < len(ranked) else -math.inf
        least = SURE if NAMED & by_column[column].keys() else SURE_BY_PLACE
        sure = k == 0 and scored[column] - following >= least
        guesses.append(Guess("target", column, round(scored[column], 3), _why(by_column[column]), sure))
    return guesses


def _beside_others(
    part: Table, reports: Sequence[ColumnReport], possible: Sequence[ColumnReport]
) -> dict[str, dict[str, tuple[float, str]]]:
    """Return by column what its ties with the others say, as `evidence`. part : the rows to look at."""
    tied = ties_by_rank(part, possible)
    together = said_together(part, [r.name for r in reports if r.kind not in (None, "date")])
    by_column: dict[str, dict[str, tuple[float, str]]] = {}
    for r in possible:
        ties = {"tied": tied.get(r.name, 0.0), "said together": float(r.name in together),
              "repeated": float(r.kind == "number" and repeats_amounts(part, r.name))}  # fmt: skip
        by_column[r.name] = {kind: (strength, "") for kind, strength in ties.items() if strength}
    return by_column


def _why(signs: dict[str, tuple[float, str]]) -> str:
    """Return the evidence that speaks most for a column, in words."""
    speaking = sorted(
        (kind for kind in signs if WEIGHTS[kind][0] * signs[kind][0] > 0), key=lambda k: -WEIGHTS[k][0] * signs[k][0]
    )
    reasons = [WEIGHTS[kind][1].format(word=signs[kind][1]) for kind in speaking[:2]]
    return " and ".join(reasons) if reasons else "nothing speaks against it"


def evidence(
    reports: Sequence[ColumnReport], shown: Mapping[str, set[Cue]], name: str = ""
) -> dict[str, dict[str, tuple[float, str]]]:
    """Return by column what speaks for and against its being the target: strength, and the word that says so.

    shown : what the rows show of each. name : of the table.
    """
    names = [r.name for r in reports]
    columns = by_lower_case(names)
    words = Counter(word for column in names for word in set(words_in(column)))
    years = in_years(names)
    latest = {stem: max(year for other, (same, year) in years.items() if same == stem) for stem, _ in years.values()}
    titled = {word.removesuffix("s") for word in words_in(name)}
    by_column: dict[str, dict[str, tuple[float, str]]] = {}
    for r in reports:
        signs = _named(r, columns, words)
        dummy = r.distinct == 2 and DUMMY.fullmatch(r.name) is not None
        if r.name in years and not dummy:
            stem, year = years[r.name]
            signs["latest" if year == latest[stem] else "earlier"] = (1.0, str(year))
        if "only class" in shown[r.name] and r.name == names[-1] and (word := shares_word(r.name, KINDS)):
            signs = {kind: sign for kind, sign in signs.items() if kind != "given"} | {"kind": (1.0, word)}
            shown = {**shown, r.name: shown[r.name] - {"planned"}}  # as many of each kind were collected
        if titled & {word.removesuffix("s") for word in words_in(r.name) if len(word) > 2 and word.isalpha()}:
            signs["table"] = (1.0, "")
        if any(len(word) >= FEWEST_LETTERS and word in name.lower() for word in words_in(r.name)):
            signs["titled"] = (1.0, "")
        shape = {
            "dummy": dummy, "yes or no": r.distinct == 2, "copy": r.has("copy"),
            "later": r.has("later"), "final": "fate" in signs and signs["fate"][1] in FINAL,
            "costs": bool(shares_word(r.name, PRICES)) and not words.keys().isdisjoint(QUANTITIES),
            "part": bool(part_of(r.name, columns)) and "square" not in signs,
            "split": r.kind == "category" and {text.strip().lower() for text in r.example.split(",")} <= SPLITS,
            "levels": r.kind == "category" and 2 < r.distinct <= MOST_LEVELS,
            "many levels": r.kind == "category" and r.distinct > MOST_LEVELS,
            "few numbers": r.kind == "number" and 2 < r.distinct <= FEW_NUMBERS and not NAMED & signs.keys(),
        }  # fmt: skip
        by_column[r.name] = signs | dict.fromkeys((*filter(shape.get, shape), *shown[r.name]), (1.0, ""))
    open_ones = [name for name in names if not AGAINST & by_column[name].keys()] or names
    for kind, column in (("first", open_ones[0]), ("last", open_ones[-1])) if names else ():
        by_column[column][kind] = (1.0, "")
    if names:
        by_column[names[-1]]["end"] = (1.0, "")
    return by_column


def _named(report: ColumnReport, columns: Mapping[str, str], words: Counter[str]) -> dict[str, tuple[float, str]]:
    """Return what the name of a column says. columns : all, `by_lower_case`. words : how many columns have each word:
    what many share says less."""
    signs: dict[str, tuple[float, str]] = {}
    is_amount = report.kind == "number" and report.distinct > 2
    for kind, known in (("asked", ASKED), ("fate", FATES), ("amount", AMOUNTS), ("given", GIVEN | NOT_AIMED_AT),
                        ("measure", MEASURES)):  # fmt: skip
        word = shares_word(report.name, known)
        is_kind = word in CLASSES and (report.distinct > MOST_LEVELS or len(words_in(report.name)) > 1)
        if word and not is_kind and (report.kind == "number" or kind not in ("amount", "measure")):
            share = 1 / max(words[word], 1) ** 0.5 if kind != "given" else 1.0
            signs[kind] = (share * (AMOUNT_OF_FATE if kind == "fate" and is_amount else 1.0), word)
            break
    if report.kind == "category" and (levels := sorted(set(words_in(report.example)) & FATE_LEVELS)):
        signs["ends"] = (1.0, levels[0])
    if report.has("levels"):
        signs["given"] = (1.0, "")
    if words_of(report.name) & BEFORE or LAGGED.fullmatch(report.name) or earlier_of(report.name, columns):
        signs["before"] = (1.0, "")
    if (word := shares_word(report.name, AFTER)) and report.distinct > 2:
        signs["after"] = (1.0, word)
    if base := square_of(report.name, columns):
        signs["square"] = (1.0, base)
    elif base := changed_from(report.name, columns):
        signs["changed"] = (1.0, base)
    return signs
