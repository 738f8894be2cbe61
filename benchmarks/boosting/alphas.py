"""Tables 2 and 3 of Lou et al. 2020 beside ours: `python -m benchmarks.boosting.alphas --data DIR --json DIR`.

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
from benchmarks.harness.page import markdown
from gamcore import warmup
from tests.support.real_tables import BINARY, REGRESSION, read

ALPHAS: Final = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8)
PRINTED: Final = Path(__file__).with_name("lou_2020.csv")
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


def sweep(cells: pd.DataFrame) -> pd.DataFrame:
    """Return a row per table and boosting: bagging, as printed and as ours, and the alpha that differs most from it on
    the same splits, by how much, in its standard error, too."""
    printed = pd.read_csv(PRINTED, dtype=str, keep_default_na=False).set_index("variant")
    rows = []
    for name in [name for name in printed if len(cells) and name in set(cells["table"])]:
        own = cells[cells["table"] == name]
        for boosting in dict.fromkeys(own["variant"].str.split("-").str[0]):
            base, of_table = f"{boosting}-bagging", printed[name][printed.index.str.startswith(boosting)]
            wide = own.pivot_table(index="seed", columns="variant", values="value").filter(like=f"{boosting}-")
            if base not in wide or wide.shape[1] < 2:
                continue
            gaps = wide.drop(columns=base).sub(wide[base], axis=0)
            at = gaps.mean().abs().idxmax()
            rows.append(
                {"table": name, "boosting": boosting, "bagging, printed": of_table[base],
                 "bagging": f"{wide[base].mean():.4f} ± {wide[base].std():.4f}",
                 "farthest alpha": at.rpartition("-")[2], "to bagging": f"{gaps[at].mean():+.4f}",
                 "standard error": gaps[at].sem()}
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


def lines(folder: Path) -> list[str]:
    """Return the table as Markdown."""
    return ["", *markdown(sweep(read_cells(folder))), ""]


def main() -> None:
    """Measure the missing cells, then print the tables."""
    options = parser(__doc__, [*REGRESSION, *BINARY])
    options.add_argument("--alphas", type=float, nargs="*", default=list(ALPHAS))
    options.add_argument("--splits", type=int, default=5)
    options.add_argument("--rate", type=float, default=RATE, help="learning rate")
    options.add_argument("--n-jobs", type=int, default=1)
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
    print("\n".join(lines(asked.json)))


if __name__ == "__main__":
    main()
