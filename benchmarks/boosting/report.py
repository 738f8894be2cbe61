"""Write docs/benchmarks/libraries.md from measurements: `python -m benchmarks.boosting.report --peers DIR --steps FILE
--scale FILE ...`.

Every number comes from the JSON files; what was not measured is left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.boosting import plots, prose, scale, standing
from benchmarks.boosting.peers import PREDICTIONS, TEST_SHARE, WARM_ROWS
from benchmarks.boosting.steps import FEATURES, N_BAGS, WHOLE
from benchmarks.harness.cells import NOISE, TRIES, load, load_all
from benchmarks.harness.contenders import HELD_OUT, MOST_JOBS, PATIENCE, PATIENT
from benchmarks.harness.page import markdown, show

Lines = Iterator[str]
VARIED = ["rows", "features", "bags", "groups", "threads"]
FEW_ROWS = {"features": scale.FEW_ROWS}
"""Rows of what is varied on fewer of them."""

UNTOLD = [
    *(name for name in standing.MODELS if name.startswith("ours-") and name.endswith("-1")),
    standing.EBM_EIGHT,
    standing.EBM_FEW_BINS,
    "xgboost-additive",
]
"""Variants that the tables leave out."""

OTHER_PRESETS = [f"ours-{preset}-2" for preset in ("fast", "accurate")]
"""Ours, whose metrics are told beside the presets."""

TELLING_MODELS = [standing.BASE, standing.EBM, "gpgam-64", "lightgbm", standing.ADDITIVE, "xgboost"]
"""A model of each kind, whose memory and predictions are told."""

LOSS_SHOWN = "logistic"


def say(text: str, **numbers: Any) -> Lines:
    """Return a paragraph of the page with its numbers filled in."""
    yield from text.format(**numbers).splitlines()
    yield ""


def named(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with the models' display names."""
    return frame.rename(index=prose.LABELS, columns=prose.LABELS)


def titled(title: str, frame: pd.DataFrame, digits: int = 3) -> Lines:
    """Return a table with its heading."""
    yield from ("", f"### {title}", "", *markdown(frame, digits), "")


def picture(doc: Path, name: str, words: str, figure: Any) -> Lines:
    """Save a plot in a folder beside the page, and return the lines that show it."""
    path = doc.parent / doc.stem / f"{name}.svg"
    plots.save(figure, path)
    yield from ("", f"![{words}]({path.relative_to(doc.parent).as_posix()})", "")


def measured_on(records: list[dict[str, Any]]) -> Lines:
    """Return the dates, machines and versions of all measurements."""
    dates = sorted({record["at"][:10] for record in records if "at" in record})
    machines = [record["machine"] for record in records if "machine" in record]
    if not machines:
        return
    spans = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    places = "; ".join(sorted({f"{known['processor']}, {known['cores']} cores" for known in machines}))
    versions: dict[str, set[str]] = {}
    for known in machines:
        for name in known.keys() - {"processor", "cores"}:
            versions.setdefault(name, set()).add(str(known[name]))
    shown = ", ".join(f"{name} {' and '.join(sorted(versions[name]))}" for name in sorted(versions))
    yield from (f"Measured {spans} on {places}: {shown}.", "")


def peers(folder: Path, doc: Path) -> Lines:
    """Return the comparison with other libraries."""
    cells = load_all(folder)
    if not len(standing.measured(cells)):
        return
    seeds = cells["seed"].nunique()
    shares = {"train": 1 - TEST_SHARE, "held": HELD_OUT}
    counts = {
        "warm": WARM_ROWS,
        "jobs": MOST_JOBS,
        "patience": PATIENCE,
        "predictions": PREDICTIONS,
        "patient": PATIENT,
    }
    quiet = {"noise": NOISE, "again": TRIES - 1}
    splits = f"{seeds} random splits" if seeds > 1 else "one random split"
    yield from say(prose.PEERS, splits=splits, **shares, **counts, **quiet)
    yield from seconds(cells, doc)
    metrics = named(standing.wide(cells, "metric").drop(index=[*UNTOLD, *OTHER_PRESETS], errors="ignore"))
    yield from titled("Test metric: RMSE (less is better) or AUC (more is better)", metrics, 4)
    yield from titled("Memory and predictions, least and most over tables", named(other_ends(cells)))
    short = standing.short_of_seeds(cells)
    for title, frame in (
        ("Fewer splits", short),
        ("Not fitted", standing.faults(cells)),
        ("Timed in a noise", standing.disturbed(cells)),
    ):
        if len(frame):
            yield from titled(title, frame.replace({"model": prose.LABELS}))


def other_ends(cells: pd.DataFrame) -> pd.DataFrame:
    """Return a row per model of a kind: the least and the most memory and time to predict over tables."""
    columns = {"peak memory of a fit, MiB": "memory_mib", "milliseconds to predict": "predict_ms"}
    ends = {title: standing.wide(cells, value).agg(["min", "max"], axis=1) for title, value in columns.items()}
    models = [name for name in TELLING_MODELS if name in ends["milliseconds to predict"].index]
    return pd.DataFrame({title: [span(of_model.loc[name]) for name in models] for title, of_model in ends.items()},
                        index=pd.Index(models, name="model"))  # fmt: skip


def seconds(cells: pd.DataFrame, doc: Path) -> Lines:
    """Return the seconds of fits, and their ratios to ours."""
    spans = standing.spans(cells)
    yield from say(prose.SECONDS, base=prose.LABELS[standing.BASE], minutes=standing.minutes_apart(cells))
    table = standing.wide(cells, "seconds").drop(index=UNTOLD, errors="ignore")
    table["over ours"] = [over_ours(spans.loc[name]) if name in spans.index else "" for name in table.index]
    yield from markdown(named(table))
    yield from picture(doc, "seconds", "Seconds of a fit by table and model", plots.seconds(cells))
    if standing.EBM in spans.index:
        yield from picture(doc, "ratios", "Seconds of EBM over ours by table", plots.ratios(cells))


def over_ours(ratio: pd.Series) -> str:
    """Return the mean of the ratios of a model, where all tables have one, and in brackets their ends."""
    ends = " to ".join(dict.fromkeys(show(ratio[end]) for end in ("least", "most")))
    return f"{show(ratio[standing.MEAN_ROW])} ({ends})".lstrip()


def steps(path: Path) -> Lines:
    """Return how long a step of few and of many rows takes, and what for."""
    results = load(path)
    if not results:
        return
    points = pd.DataFrame(results["points"])
    points = points[(points["codes"] == "uniform") & (points["loss"] == LOSS_SHOWN)]
    parts = []
    for n_rows in (points["rows"].min(), points["rows"].max()):
        of_step = points[points["rows"] == n_rows].set_index("part")
        shares = " and ".join(
            f"{of_step.loc[part, 'share']:.0%}{' of it' if part == 'update' else ''} for {words}"
            for part, words in (("update", "the update"), ("histograms", "histograms"))
        )
        parts.append(f"{of_step.loc[WHOLE, 'ns a row']:.2f} ns a row at {n_rows:,} rows, {shares}")
    yield from say(prose.STEPS, bags=N_BAGS, features=FEATURES, parts="; ".join(parts))
    yield from noise([results])


def growth(path: Path, doc: Path) -> Lines:
    """Return how the cost of a step grows, and the figures of a large fit."""
    results = load(path).get("points", [])
    points, slopes, large = scale.tables(results)
    if len(points):
        base = ", ".join(counted(name, scale.BASE[name]) for name in VARIED)
        yield from say(prose.GROWTH, loss=points["loss"].iloc[0], base=base, slope_from=scale.SLOPE_FROM)
        yield from picture(doc, "steps", "Milliseconds of a step against rows", plots.steps(points, slopes))
        yield from markdown(grown(points, slopes))
        yield ""
    for fit in large.itertuples():
        about = {"rows": fit.rows, "features": fit.features, "frame": fit.frame_mib, "jobs": max(scale.THREADS)}
        yield from say(prose.LARGE, seconds=fit.seconds, rounds=fit.rounds, mib=fit.memory_mib, **about)
    yield from noise(results)


def grown(points: pd.DataFrame, slopes: pd.DataFrame) -> pd.DataFrame:
    """Return the time and memory of a step at both ends of what is varied."""
    slope = slopes.set_index("threads")["slope"] if len(slopes) else pd.Series(dtype=float)
    rows = []
    for (changed, threads), part in points.groupby(["changed", "threads"], sort=False):
        ends = part.sort_values(str(changed)).iloc[[0, -1]]
        words = str(changed)
        if changed == "rows" and threads > 1:
            words = f"{changed}, {threads} threads"
        elif changed in FEW_ROWS:
            words = f"{changed}, {FEW_ROWS[changed]:,} rows"
        row = {"varied": words, "from": f"{ends[changed].iloc[0]:,}", "to": f"{ends[changed].iloc[1]:,}"}
        row |= {"microseconds a step": span(1e6 * ends["step_seconds"]), "MiB": span(ends["memory_mib"])}
        rows.append(row | {"slope": slope.get(threads) if changed == "rows" else None})
    return pd.DataFrame(rows).set_index("varied")


def span(ends: pd.Series) -> str:
    """Return the numbers at both ends."""
    return " to ".join(show(value) for value in ends)


def counted(name: str, number: int) -> str:
    """Return a number with its noun."""
    return f"{number:,} {name.removesuffix('s') if number == 1 else name}"


def noise(records: list[dict[str, Any]]) -> Lines:
    """Return how busy other processes kept the machine at worst."""
    worst = max((record.get("others_cores", 0.0) for record in records), default=0.0)
    if worst > NOISE:
        yield from say(prose.NOISE, worst=worst)


def live(path: Path) -> Lines:
    """Return the figures of live training in a browser."""
    results = load(path)
    if results:
        light, dark = (pd.Series(results["seconds"][theme]) for theme in ("light", "dark"))
        times = {"light": light.median(), "dark": dark.median(), "longest": max(light.max(), dark.max())}
        training = results["rows"]["training"]
        yield from say(prose.LIVE, table=results["table"], rows=training, changes=len(light), **times)


def page(asked: argparse.Namespace) -> Lines:
    """Return the whole page."""
    sources = [*asked.peers.glob("*.json"), asked.steps, asked.scale, asked.live]
    yield from say(prose.TITLE.lstrip())
    yield from measured_on([load(path) for path in sources])
    yield from peers(asked.peers, asked.doc)
    yield from growth(asked.scale, asked.doc)
    yield from steps(asked.steps)
    yield from live(asked.live)


def squeezed(lines: Lines) -> Lines:
    """Return the lines without consecutive empty ones."""
    before = ""
    for line in lines:
        if line or before:
            yield line
        before = line


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", type=Path, required=True, help="folder of the cells of benchmarks.boosting.peers")
    parser.add_argument("--steps", type=Path, required=True, help="file of benchmarks.boosting.steps")
    parser.add_argument("--scale", type=Path, required=True, help="file of benchmarks.boosting.scale")
    parser.add_argument("--live", type=Path, required=True, help="file of benchmarks.app.live")
    parser.add_argument("--doc", type=Path, required=True, help="the page, such as docs/benchmarks/libraries.md")
    asked = parser.parse_args()
    asked.doc.parent.mkdir(parents=True, exist_ok=True)
    asked.doc.write_text("\n".join(squeezed(page(asked))).rstrip() + "\n")
    print(f"Wrote {asked.doc}")


if __name__ == "__main__":
    main()
