"""Columns of the past: nobody can change any more what they count, as late payments, or when something was."""

from __future__ import annotations

import re
from typing import Final

from gamcore.data.binning import Bins
from gamcore.data.years import are_years

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


def of_the_past(bins: Bins) -> bool:
    """Return whether a feature is of the past: a date, years, or a column whose name speaks of what has happened."""
    kind, apart = bins.feature.kind, re.sub(r"([a-z])([A-Z])", r"\1 \2", bins.feature.column).lower()
    is_time = kind == "date" or (kind == "number" and are_years(bins.display))
    return is_time or not PAST.isdisjoint(re.findall(r"[a-z]+", apart))
