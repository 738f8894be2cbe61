"""One table, as programs write it in eight ways."""

from __future__ import annotations

import csv
from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Dialect:
    """How a program writes a table. before : lines above it."""

    separator: str = ","
    decimal: str = "."
    thousands: str = ""
    day: str = "%Y-%m-%d"
    encoding: str = "utf-8"
    quotes: int = csv.QUOTE_MINIMAL
    end: str = "\n"
    before: str = ""
    missing: str = ""


DIALECTS = {
    "plain": Dialect(),
    "German": Dialect(";", ",", ".", "%d.%m.%Y", "cp1252", end="\r\n"),
    "French": Dialect(";", ",", "\u00a0", "%d/%m/%Y", "utf-8-sig"),
    "American": Dialect(",", ".", ",", "%m/%d/%Y", end="\r\n", before="Sales of all branches\n\n"),
    "Excel's Unicode text": Dialect("\t", encoding="utf-16", end="\r\n"),
    "bars, all in quotes": Dialect("|", quotes=csv.QUOTE_ALL, missing="NA"),
    "Swiss": Dialect(";", ".", "'", "%d-%b-%Y", end="\r"),
    "a database": Dialect("\t", day="%Y/%m/%d", missing=r"\N", before="\n"),
}


def sales() -> pd.DataFrame:
    """Amounts, some of them missing, with days and texts that need quotes."""
    rng = np.random.default_rng(0)
    amount = rng.lognormal(8, 1.5, 400).round(2)
    amount[rng.random(400) < 0.05] = np.nan
    day = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 700, 400), "D")
    branch = rng.choice(["Köln, Süd", "Zürich", 'the "old" one', "Århus"], 400)
    return pd.DataFrame({"branch": branch, "day": day, "amount": amount, "items": rng.integers(1, 20_000, 400)})


def written(frame: pd.DataFrame, dialect: Dialect) -> bytes:
    """Return the bytes of a table in a dialect."""

    def number(value: float, form: str) -> str:
        text = "" if pd.isna(value) else format(value, form).replace(",", "_").replace(".", dialect.decimal)
        return text.replace("_", dialect.thousands) or dialect.missing

    cells = pd.DataFrame({
        "branch": frame["branch"], "day": frame["day"].dt.strftime(dialect.day),
        "amount": [number(value, ",.2f") for value in frame["amount"]],
        "items": [number(value, ",d") for value in frame["items"]],
    })  # fmt: skip
    text = cells.to_csv(index=False, sep=dialect.separator, quoting=dialect.quotes, lineterminator=dialect.end)
    return (dialect.before.replace("\n", dialect.end) + text).encode(dialect.encoding)
