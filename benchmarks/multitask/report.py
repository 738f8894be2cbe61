"""The tables of the multi-task benchmark, from cells of its studies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import pandas as pd

from benchmarks.harness.page import markdown
from benchmarks.multitask.contenders import CONTENDERS, CRITERIA, OF_COLUMNS, OTHERS, PARTS, REFERENCE
from benchmarks.multitask.studies import RARE, SCENES, SIMILARITIES

Cells = Mapping[str, pd.DataFrame]
"""Cells by study, for those that were measured."""

IMBALANCED = tuple(f"imbalanced {similarity:g}" for similarity in SIMILARITIES)
IN_FAMILIES = ("default", *CRITERIA, *PARTS, *OF_COLUMNS, *OTHERS, *REFERENCE, "ridge", "lasso")
"""Models that are told of there; rMTFL and DIRTY are level with the LASSO, or behind it."""
APART = "neither"
"""A model that only sentences tell of."""

REAL: Final = {
    "school": ("School, RMSE", "pooled", "ridge"),
    "landmine": ("Landmine, mean AUC of tasks", "mean of tasks", "default"),
    "computer": ("Computer, RMSE", "pooled", "default"),
}
"""Real tables: a title, what is told of each model, and the model that others are compared with."""

PRINTED: Final = {
    "lasso": (0.824, 0.617, 0.693, 0.599), "rmtfl": (0.627, 0.590, 0.667, 0.681),
    "dirty": (0.834, 0.652, 0.694, 0.602), "global": (0.978, 0.971, 0.906, 0.760),
    "independent": (0.980, 0.951, 0.926, 0.776), "variance": (0.983, 0.974, 0.942, 0.788),
    "entropy": (0.986, 0.976, 0.940, 0.791),
}  # fmt: skip
"""Table 1 of Zhang and Li 2019: the AUC in both tasks of scene 1, then of scene 2."""

OTHER_FAMILIES = (("outlier", "outlier"), ("unrelated", "mean of tasks"), ("heterogeneous", "small"))


def against(cells: pd.DataFrame, measure: str, base: str) -> pd.DataFrame:
    """Return a row per model: the mean over runs, the mean difference to a model on the same runs, and its standard
    error."""
    wide = cells.pivot_table(index="seed", columns="model", values=measure)
    gaps = wide.sub(wide[base], axis=0)
    table = pd.DataFrame({"mean": wide.mean(), "gap": gaps.mean(), "se": gaps.sem()})
    return table.loc[[name for name in CONTENDERS if name in wide]]


def signed(gap: float, se: float) -> str:
    """Return a difference, and how many standard errors it is."""
    return f"{gap:+.3f} ({abs(gap) / se:.1f})" if se > 0 else f"{gap:+.3f}"


def labels(names: Iterable[str]) -> list[str]:
    return [CONTENDERS[name].label for name in names]


def standing(cells: pd.DataFrame, wanted: Sequence[str], base: str) -> pd.DataFrame:
    """Return a row per model: means of measures, and differences to `base`."""
    columns: dict[str, pd.Series] = {}
    for measure in wanted:
        each = against(cells, measure, base)
        columns[measure] = each["mean"].map("{:.4f}".format if each["mean"].max() < 1 else "{:.3f}".format)
        gaps = [signed(gap, se) for gap, se in zip(each["gap"], each["se"], strict=True)]
        columns[f"{measure}, to {CONTENDERS[base].label}"] = pd.Series(gaps, each.index)
    frame = pd.DataFrame(columns)
    return frame.set_axis(pd.Index(labels(frame.index), name="model"))


def parts_table(all_cells: Cells, columns: Iterable[tuple[str, str]], names: Iterable[str]) -> pd.DataFrame:
    """Return the RMSE of our default and what each change adds, one column per study and measure."""
    by_part = {}
    for study, measure in columns:
        if study in all_cells:
            each = against(all_cells[study], measure, "default")
            cells = {name: signed(row.gap, row.se) for name, row in each.iterrows()}
            by_part[f"{study}, {measure}"] = cells | {"default": f"{each.loc['default', 'mean']:.3f}"}
    frame = pd.DataFrame(by_part).reindex([name for name in names if name in set().union(*by_part.values())])
    return frame.set_axis(pd.Index(labels(frame.index), name="model"))


def provenance(cells: pd.DataFrame) -> str:
    """Return when and on what it was measured, and with which code."""
    machine = {name: value for each in cells["machine"] for name, value in each.items()}
    versions = ", ".join(f"{name} {value}" for name, value in machine.items() if name not in ("processor", "cores"))
    day = pd.to_datetime(cells["at"]).max()
    mixed = len(set(cells["code"].dropna())) > 1
    return (
        f"Measured {day:%Y-%m-%d} on {machine['processor']}, {machine['cores']} cores, one thread a fit: {versions}."
        + (" The code changed in between." if mixed else "")
    )


def page(cells: Cells) -> list[str]:
    """Return all tables with their headings."""
    everything = pd.concat(cells.values(), ignore_index=True)
    lines = ["", provenance(everything)]
    real = [study for study in REAL if study in cells]
    if real:
        runs = ", ".join(f"{study.capitalize()} {cells[study]['seed'].nunique()}" for study in real)
        lines += ["", "### Real tables", "", f"Splits: {runs}.", "", *markdown(pd.concat(of_real(cells, real), axis=1))]
    there = [(study, "small") for study in IMBALANCED if study in cells]
    if there:
        runs = ", ".join(f"{study}: {cells[study]['seed'].nunique()}" for study, _ in there)
        table = parts_table(cells, there, [name for name in IN_FAMILIES if name != APART])
        lines += ["", "### The small task, 10,000 rows beside 100", "", f"Replications: {runs}.", "", *markdown(table)]
    return [*lines, ""]


def other_families(cells: Cells) -> list[str]:
    """Return the table of the families that the page tells of in sentences."""
    there = [(study, measure) for study, measure in OTHER_FAMILIES if study in cells]
    return markdown(parts_table(cells, there, IN_FAMILIES)) if there else []


def of_real(cells: Cells, studies: Iterable[str]) -> Iterable[pd.DataFrame]:
    """Yield two columns per real table: a measure of each model, and its difference."""
    for study in studies:
        title, measure, base = REAL[study]
        frame = standing(cells[study], [measure], base).drop(index=CONTENDERS[APART].label, errors="ignore")
        yield frame.set_axis([title, f"to {CONTENDERS[base].label}"], axis=1)


def rare_page(cells: Cells) -> list[str]:
    """Return a table per scene of rare positives, a tenth of it beside the whole: the AUC in each task, and of the
    tenth its difference to ours."""
    there = {study: cells[study] for study in RARE if study in cells}
    lines = ["", provenance(pd.concat(there.values(), ignore_index=True))]
    for scene, place in zip(SCENES, (0, 2), strict=True):
        studies = [study for study in there if study.startswith(scene)]
        if studies:
            runs = "; ".join(f"{study}, {there[study]['seed'].nunique()}" for study in studies)
            table = pd.concat([rare_columns(study, there[study], place) for study in studies], axis=1)
            lines += ["", f"#### {scene.capitalize()}", "", f"Replications: {runs}.", "", *markdown(table.fillna(""))]
    return [*lines, ""]


def rare_columns(study: str, cells: pd.DataFrame, place: int) -> pd.DataFrame:
    """Return the columns of one study of rare positives. place : of its tasks among the printed figures."""
    table = standing(cells, ["task 1", "task 2"], "default")
    if study not in SCENES:
        return table.rename(columns=lambda name: name.replace("task 1", "a tenth, 1").replace("task 2", "a tenth, 2"))
    models = [name for name in CONTENDERS if name in set(cells["model"])]
    table = table[["task 1", "task 2"]].copy()
    for task in (1, 2):
        shown = [f"{PRINTED[name][place + task - 1]:.3f}" if name in PRINTED else "" for name in models]
        table.insert(table.columns.get_loc(f"task {task}"), f"task {task}, printed", shown)
    if "CPU seconds" in cells and cells["CPU seconds"].notna().all():
        on_cpu = cells.groupby("model")["CPU seconds"].median()
        table["CPU seconds"] = [f"{on_cpu[name]:.0f}" for name in models]
    return table
