"""Columns whose names speak of the past, such as late payments: nobody can change what they count any more."""

from __future__ import annotations

import re
from typing import Final

PAST: Final = frozenset({
    "accident", "accidents", "ago", "already", "arrears", "arrest", "arrests", "bankruptcies", "bankruptcy",
    "chargeoff", "chargeoffs", "claim", "claims", "complaint", "complaints", "conviction", "convictions", "defaulted",
    "defaults", "delay", "delays", "delinq", "delinquencies", "delinquency", "delinquent", "delq", "derog", "dlq",
    "dpd", "earlier", "ever", "failures", "former", "formerly", "had", "historic", "historical", "history",
    "inquiries", "last", "late", "lately", "missed", "offences", "offenses", "overdue", "past", "pastdue", "pdays",
    "poutcome", "previous", "previously", "prior", "priors", "recent", "recently", "refusals", "since", "violations",
})  # fmt: skip
"""Words in names of columns that count or date what has happened."""


def of_the_past(column: str) -> bool:
    """Return whether the name of a column speaks of the past."""
    apart = re.sub(r"([a-z])([A-Z])", r"\1 \2", column).lower()
    return not PAST.isdisjoint(re.findall(r"[a-z]+", apart))
