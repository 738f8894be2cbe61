"""Compare multi-task trees, their variants and other models: `python -m benchmarks.multitask.methods --data DIR`.

A cell is one model on one split or replication; each fits a new model. Cells of our models are measured again if the
code has changed. Every fit runs on one thread. The tables go between marks of a page (`--doc`); the text around
them is written by hand.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Final

import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.harness.cells import Cell, keep, load, load_all
from benchmarks.harness.machine import code, describe
from benchmarks.harness.page import markdown, publish
from benchmarks.multitask.contenders import CONTENDERS, contenders
from benchmarks.multitask.report import other_families, page, rare_page
from benchmarks.multitask.speed import measure_speed, speed_table
from benchmarks.multitask.studies import RARE, SCENES, STUDIES, Trial, measures

MARKS = ("<!-- measured -->", "<!-- /measured -->")
SPEED: Final = "speed"


def known(study: str, name: str, seed: int) -> Cell:
    """Return the fields of a cell that are known before it is measured."""
    cell = {"study": study, "model": name, "seed": seed, "parameters": dict(CONTENDERS[name].parameters)}
    return cell | ({"code": code()} if CONTENDERS[name].ours else {})


def measure_cell(trial: Trial, study: str, name: str, seed: int) -> Cell:
    """Fit and test one model."""
    started, on_cpu = time.perf_counter(), time.process_time()
    with threadpool_limits(1), warnings.catch_warnings(action="ignore"):  # paths of a LASSO that stop short
        score = CONTENDERS[name].run(trial, seed)
    seconds = {"seconds": time.perf_counter() - started, "CPU seconds": time.process_time() - on_cpu}
    return seconds | {"measures": measures(trial, score, STUDIES[study].parts), "machine": describe()}


def measure_study(asked: argparse.Namespace, study: str) -> None:
    """Measure every missing cell of a study."""
    for seed in range(asked.runs or STUDIES[study].runs):
        trial = None
        for name in (name for name in contenders(study) if not asked.models or name in asked.models):
            out = folder(asked.json, study) / f"{name}-{seed}.json"
            about = known(study, name, seed)
            if about.items() <= load(out).items():
                continue
            trial = trial or STUDIES[study].make(asked.data, seed)
            keep(out, about | measure_cell(trial, study, name, seed))
            print(f"{study:16}{name:20}{seed}", flush=True)


def folder(json: Path, study: str) -> Path:
    """Return where the cells of a study are kept."""
    return json / study.replace(" ", "-")


def read_cells(json: Path, study: str) -> pd.DataFrame:
    """Return the cells of a study, one column per measure, without models that the study no longer has."""
    cells = load_all(folder(json, study))
    if not len(cells):
        return cells
    return cells.join(pd.DataFrame(cells["measures"].tolist()))[lambda all_: all_["model"].isin(contenders(study))]


def show_speed(asked: argparse.Namespace) -> list[str]:
    """Measure speed if the code has changed, and return its lines."""
    out = asked.json / "speed.json"
    if load(out).get("code") != code():
        keep(out, {"code": code(), "machine": describe("lightgbm"), "cells": measure_speed()})
    cell = load(out)
    machine = cell["machine"]
    about = (
        f"Measured {cell['at'][:10]} on {machine['processor']}, {machine['cores']} cores: "
        f"lightgbm {machine['lightgbm']}, numba {machine['numba']}, numpy {machine['numpy']}."
    )
    return ["", about, "", *markdown(speed_table(cell["cells"])), ""]


def main() -> None:
    """Measure what is missing, print the tables, and put them on a page where one is named."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--data", type=Path, required=True, help="folder of the real tables (Parquet)")
    help_words = "folder of the cells; existing ones are kept"
    options.add_argument("--json", type=Path, default=Path("results/multitask"), help=help_words)
    usual = [*(study for study in STUDIES if study not in SCENES), SPEED]  # linear models of those take hours
    options.add_argument("--studies", nargs="*", default=usual, choices=[*STUDIES, SPEED])
    options.add_argument("--runs", type=int, help="splits or replications of each study; more where none is named")
    options.add_argument("--models", nargs="*", choices=CONTENDERS, help="measure only these")
    options.add_argument("--doc", type=Path, help="a page that has the tables between marks")
    asked = options.parse_args()
    for study in asked.studies:
        if study != SPEED:
            measure_study(asked, study)
    cells_by_study = {study: read_cells(asked.json, study) for study in STUDIES}
    there = {study: cells for study, cells in cells_by_study.items() if len(cells)}
    if SPEED in asked.studies:
        print("\n".join(show_speed(asked)))
    usual_cells = {study: cells for study, cells in there.items() if study not in RARE}
    if len(usual_cells) < len(there):
        print("\n".join(rare_page(there)))
    if usual_cells:
        print("\n".join(other_families(usual_cells)))
        publish(page(usual_cells), asked.doc, MARKS)


if __name__ == "__main__":
    main()
