"""Columns whose names speak of the past, such as late payments: nobody can change what they count any more."""

from __future__ import annotations

import re
from typing import Final

PAST: Final = frozenset({
    "accident", "accidents", "ago", "already", "arrears", "arrest", "arrests", "bankruptcies", "bankruptcy",
    "birth", "birthdate", "birthday", "born", "built", "chargeoff", "chargeoffs", "claim", "claims", "complaint",
    "complaints", "conviction", "convictions", "defaulted", "defaults", "delay", "delays", "delinq",
    "delinquencies", "delinquency", "delinquent", "delq", "derog", "dlq", "dob", "dpd", "earlier", "enrolled",
    "established", "ever", "failures", "former", "formerly", "founded", "had", "hired", "historic", "historical",
    "history", "inquiries", "issued", "joined", "last", "late", "lately", "missed", "offences", "offenses",
    "opened", "overdue", "past", "pastdue", "pdays", "poutcome", "previous", "previously", "prior", "priors",
    "recent", "recently", "refusals", "since", "violations", "yob",
})  # fmt: skip
"""Words in names of columns that count or date what has happened."""


def of_the_past(column: str) -> bool:
    """Return whether the name of a column speaks of the past."""
    apart = re.sub(r"([a-z])([A-Z])", r"\1 \2", column).lower()
    return not PAST.isdisjoint(re.findall(r"[a-z]+", apart))
