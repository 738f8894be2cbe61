"""Tables 1 to 3 of Lou et al. 2020 beside ours: `python -m benchmarks.boosting.alphas --data DIR --json DIR`.

Bagging, and subagging at each alpha, with the paper's settings: 100 bags, three leaves, a learning rate of .01, at most
10,000 rounds, splits of 64% for training, 16% for validation and 20% for testing. Row-level subsamples are summed by
dense membership (`mask`), which gives what the paper's order of samples gives. A cell is one table, variant and split;
cells are kept, so a stopped run can be resumed. *superconductor* and *credit* are printed only. At `--rate .1`, a fit
takes about an eighth of the rounds; of a table with cells of several rates, those of the rate with the most are shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pandas as pd

from benchmarks.boosting.accuracy import PAPER, measure
from benchmarks.harness.arguments import parser
from benchmarks.harness.cells import keep, load_all
from benchmarks.harness.machine import describe
from benchmarks.harness.page import markdown, publish
from gamcore import warmup
from tests.support.real_tables import BINARY, REGRESSION, RealTable, read

MARKS: Final = ("<!-- alphas -->", "<!-- /alphas -->")
ALPHAS: Final = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8)
PRINTED: Final = Path(__file__).with_name("lou_2020.csv")
SIZES: Final = {
    "compact": (8192, 22), "pole": (15000, 49), "bike": (17379, 15), "calhousing": (20640, 9),
    "superconductor": (21263, 82), "magic": (19020, 11, 64.84), "letter": (20000, 17, 49.70),
    "bank": (45221, 13, 11.70), "adult": (48842, 15, 76.07), "credit": (150_000, 11, 6.68),
}  # fmt: skip
"""As printed: rows, columns with the target, percent of positives."""

RATE: Final = 0.01
SETTINGS: Final = {**PAPER, "learning_rate": RATE, "max_rounds": 10_000, "early_stopping_rounds": 100}
FASTER: Final = {"early_stopping_rounds": 20}
"""At other rates: twice as far, in steps of .1, as 100 rounds of .01 go."""


def variants(binary: bool, alphas: list[float], rate: float) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the variants under the paper's names; for numbers, MART and LogitBoost are the same."""
    for boosting in ("mart", "logit") if binary else ("mart",):
        name = {"mart": "MART", "logit": "Logit"}[boosting]
        chosen = {**SETTINGS, "learning_rate": rate, **(FASTER if rate != RATE else {}),
                  **({"boosting": boosting} if binary else {})}  # fmt: skip
        yield f"{name}-bagging", {**chosen, "ensemble": "bagging"}
        for alpha in alphas:
            of_rows = {"ensemble": "subagging", "histogram": "mask", "subsample": alpha}
            yield f"{name}-subagging-{alpha:.2f}", {**chosen, **of_rows}


def size(table: RealTable) -> tuple[float, ...]:
    """Return rows, columns with the target and, for two classes, the percentage of positives."""
    return (*(table.X.shape[0], table.X.shape[1] + 1), *((100.0 * float(table.y.mean()),) if table.binary else ()))


def sizes(folder: Path) -> pd.DataFrame:
    """Return the sizes of the tables, as printed and here."""
    here = {name: size(read(folder, name)) for name in (*REGRESSION, *BINARY)}
    rows = {}
    for name, printed in SIZES.items():
        pairs = zip(("rows", "columns", "% positive"), range(3), strict=True)
        both = [(what, [each[k] if k < len(each) else None for each in (printed, here.get(name, ()))])
                for what, k in pairs]  # fmt: skip
        rows[name] = {f"{what}, {where}": value for what, values in both
                      for where, value in zip(("printed", "here"), values, strict=True)}  # fmt: skip
    frame = pd.DataFrame(rows).T.rename_axis("table").astype(float)
    return frame.map(lambda value: "" if pd.isna(value) else f"{value:,.2f}".removesuffix(".00"))


def beside(cells: pd.DataFrame, names: tuple[str, ...]) -> pd.DataFrame:
    """Return the printed columns of some tables, with ours beside those that we have: mean and deviation over splits,
    and how many there are where some are lacking."""
    printed = pd.read_csv(PRINTED, dtype=str, keep_default_na=False).set_index("variant")
    most = cells["seed"].nunique() if len(cells) else 0
    columns = {}
    for name in names:
        columns[f"{name}, printed"] = printed[name]
        own = cells[cells["table"] == name] if len(cells) else cells
        if len(own):
            by = own.groupby("variant")["value"].agg(["mean", "std", "count"])
            rate = own["rate"].iloc[0]
            columns[f"{name}, ours" + ("" if rate == RATE else f", rate {rate:g}")] = pd.Series(
                {variant: _shown(row, most) for variant, row in by.iterrows()}
            )
    frame = pd.DataFrame(columns).reindex(printed.index).fillna("")
    return frame[frame.ne("").any(axis=1)]


def _shown(row: pd.Series, most: int) -> str:
    spread = f" ± {row['std']:.4f}" if row["count"] > 1 else ""
    few = "" if row["count"] == most else f" ({row['count']:.0f})"
    return f"{row['mean']:.4f}{spread}{few}"


def against_bagging(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the largest difference to bagging on the same splits, of any alpha, in its standard errors, too."""
    rows = []
    for (name, boosting), part in cells.assign(boosting=cells["variant"].str.split("-").str[0]).groupby(
        ["table", "boosting"], sort=False
    ):
        wide = part.pivot_table(index="seed", columns="variant", values="value")
        base = f"{boosting}-bagging"
        if base not in wide or wide.shape[1] < 2:
            continue
        gaps = wide.drop(columns=base).sub(wide[base], axis=0)
        mean = gaps.mean()
        at = mean.abs().idxmax()
        rows.append(
            {"table": name, "boosting": boosting, "at": at, "to bagging": f"{mean[at]:+.4f}",
             "standard error": gaps[at].sem(), "deviation over splits": wide[base].std(), "splits": gaps[at].count()}
        )  # fmt: skip
    return pd.DataFrame(rows).set_index("table") if rows else pd.DataFrame()


def read_cells(folder: Path) -> pd.DataFrame:
    """Return the kept cells, with their metric as `value`."""
    cells = load_all(folder)
    if len(cells):
        none = pd.Series(float("nan"), cells.index)
        cells["value"] = cells.get("auc", none).fillna(cells.get("rmse", none))
        cells["rate"] = [parameters["learning_rate"] for parameters in cells["parameters"]]
        usual = cells.groupby("table")["rate"].agg(lambda rates: rates.value_counts().idxmax())
        cells = cells[cells["rate"] == cells["table"].map(usual)]
    return cells


def lines(data: Path, folder: Path) -> list[str]:
    """Return all tables as Markdown."""
    cells = read_cells(folder)
    written = ["", "#### Table 1: sizes", "", *markdown(sizes(data)), ""]
    for title, names in (("Table 2: RMSE", list(SIZES)[:5]), ("Table 3: AUC", list(SIZES)[5:])):
        written += [f"#### {title}", "", *markdown(beside(cells, tuple(names))), ""]
    gaps = against_bagging(cells) if len(cells) else pd.DataFrame()
    return (
        [*written, "#### The alpha that differs most from bagging", "", *markdown(gaps), ""] if len(gaps) else written
    )


def main() -> None:
    """Measure the missing cells, then print the tables."""
    options = parser(__doc__, [*REGRESSION, *BINARY])
    options.add_argument("--alphas", type=float, nargs="*", default=list(ALPHAS))
    options.add_argument("--splits", type=int, default=5)
    options.add_argument("--rate", type=float, default=RATE, help="learning rate")
    options.add_argument("--n-jobs", type=int, default=1)
    options.add_argument("--doc", type=Path, help="a page between whose marks the tables go")
    asked = options.parse_args()
    warmup()
    for seed in range(asked.splits):
        for name in asked.tables:
            table = read(asked.data, name)
            for variant, parameters in variants(table.binary, asked.alphas, asked.rate):
                faster = "" if asked.rate == RATE else f"-rate-{asked.rate:g}"
                path = asked.json / f"{name}-{variant}-{seed}{faster}.json"
                if not path.exists():
                    cell = measure(table, parameters, seed, asked.n_jobs)
                    about = {"table": name, "variant": variant, "seed": seed, "parameters": parameters}
                    keep(path, about | cell | {"machine": describe()})
                    print(path.stem, flush=True)
    written = lines(asked.data, asked.json)
    publish(written, asked.doc, MARKS)


if __name__ == "__main__":
    main()
