"""A row's parts, suggested segments, and what leaves the app: SQL, scored files, the report."""

from __future__ import annotations

import html
import re
import sqlite3
from collections.abc import Iterable, Iterator
from functools import reduce
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from pptx import Presentation

from benchmarks.wild.faults import Fault
from benchmarks.wild.rows import views
from gamcore.decide.rules_code import kinds_of
from gamcore.estimators.additive import single_model
from gamcore.estimators.base import n_scores
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from gamcore.io.score_sql import to_sql
from gamcore.model.output_names import chance_of
from gamcore.model.output_names import predicted as prediction_name

CLOSE: Final = 1e-9
MOST_ROWS: Final = 300
BAD: Final = re.compile(r"(?<![\w.-])(?:nan|inf|NaN|NaT|None)(?![\w-])|(?<![\w.#-])\d+(?:\.\d+)?e[-+]?\d+\b")
FAILED: Final = re.compile(r"\b[A-Z]\w*(?:Error|Exception): [^<]{0,200}")


def predicted(estimator: GAMRegressor | GAMClassifier, X: pd.DataFrame) -> Any:
    """Return predictions (n,), or the chances (n, K) of several classes."""
    if isinstance(estimator, GAMRegressor):
        return estimator.predict(X)
    chances = estimator.predict_proba(X)
    return chances if n_scores(estimator) > 1 else chances[:, 1]


def parts(estimator: GAMRegressor | GAMClassifier, X: pd.DataFrame) -> Iterator[Fault]:
    """Yield rows whose parts do not add up to their score, or whose score is not the prediction."""
    given = X.iloc[:MOST_ROWS]
    for label, view in views(estimator):
        row_parts = view.explain_rows(given)
        total = row_parts.intercept + row_parts.contributions.sum(axis=1)
        off = ~np.isclose(total, row_parts.scores, rtol=CLOSE, atol=CLOSE)
        if off.any():
            k = int(off.argmax())
            yield Fault("sum", label, f"row {k}: parts add up to {total[k]!r}", f"score {row_parts.scores[k]!r}")
        if not label:
            predictions, right = view.loss.inverse_link(row_parts.scores), predicted(estimator, given)
            off = ~np.isclose(predictions, right, rtol=CLOSE, atol=CLOSE)
            if off.any():
                k = int(off.argmax())
                yield Fault("sum", said=f"row {k}: score says {predictions[k]!r}", right=f"predicted {right[k]!r}")
        plot = row_parts.describe(0, "the target", "link")
        steps = plot.numbers["score"].to_numpy(float)
        if not np.isclose(steps[:-1].sum(), steps[-1], rtol=1e-6, atol=1e-9):
            yield Fault("sum", label, f"{plot.title}: parts add up to {steps[:-1].sum()!r}", f"score {steps[-1]!r}")
        if BAD.search(plot.title.split(":")[0]):
            yield Fault("digits", label, plot.title, "a number as people write it")


def _predictions_among(columns: Iterable[str], estimator: GAMRegressor | GAMClassifier) -> list[str]:
    """Return the columns that hold predictions, or chances of several classes; a table may have such names, too."""
    start = chance_of("") if n_scores(estimator) > 1 else prediction_name(single_model(estimator).given)
    return [name for name in columns if name.startswith(start)]


def sql(estimator: GAMRegressor | GAMClassifier, X: pd.DataFrame) -> Iterator[Fault]:
    """Yield where a model's SQL on SQLite predicts otherwise than the model."""
    given = X.iloc[:MOST_ROWS].reset_index(drop=True)
    query = to_sql(estimator, "t", kinds=kinds_of(given, list(given.columns)), columns=list(given.columns))
    stored = pd.DataFrame({name: _for_sqlite(given[name]) for name in given}, dtype=object)
    with sqlite3.connect(":memory:") as base:
        stored.to_sql("t", base, index=False)
        answered = pd.read_sql_query(query, base)
    new = answered.iloc[:, len(given.columns) :]
    right = np.asarray(predicted(estimator, given))
    predictions = new[_predictions_among(new, estimator)]
    yield from compare("SQL", predictions.to_numpy(float), right.reshape(len(given), -1))


def _for_sqlite(series: pd.Series) -> list[Any]:
    """Return a column's cells as SQLite stores them, dates as text."""
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        return [None if pd.isna(moment) else moment.isoformat(" ") for moment in series]
    return [None if pd.isna(cell) else cell for cell in series.astype(object)]


def compare(kind: str, predictions: Any, right: Any) -> Iterator[Fault]:
    """Yield the first difference between two tables of predictions (n, K), if there is one."""
    if predictions.shape != right.shape:
        yield Fault(kind, said=f"{predictions.shape} predictions", right=f"{right.shape}")
        return
    off = ~np.isclose(predictions, right, rtol=CLOSE, atol=CLOSE)
    if off.any():
        k = int(np.flatnonzero(off.any(axis=1))[0])
        yield Fault(
            kind,
            said=f"row {k}: {predictions[k].tolist()} ({int(off.any(axis=1).sum())} rows)",
            right=str(right[k].tolist()),
        )


def scored(estimator: GAMRegressor | GAMClassifier, X: pd.DataFrame, path: Path) -> Iterator[Fault]:
    """Yield where a scored file has other predictions than the model. X : the rows of the whole table."""
    file = pd.read_csv(path, dtype=str, keep_default_na=False)
    if len(file) != len(X):
        yield Fault("scored", said=f"{len(file)} rows", right=f"{len(X)} rows")
        return
    given = X.iloc[:MOST_ROWS]
    right = np.asarray(predicted(estimator, given)).reshape(len(given), -1)
    names = _predictions_among(file, estimator)[-right.shape[1] :]
    yield from compare("scored", file.loc[: len(given) - 1, names].to_numpy(float), right)


def report(page: bytes, known: set[str]) -> Iterator[Fault]:
    """Yield what a report's page says that no page should. known : texts of the table, which it may have."""
    text = page.decode("utf-8")
    text = re.sub(r"<(style|script)\b.*?</\1>", " ", text, flags=re.DOTALL)
    alts = re.findall(r'(?:alt|aria-label|title)="([^"]*)"', text)
    for failed in FAILED.findall(text):
        yield Fault("report", said=html.unescape(failed), right="a part that can be made")
    yield from of_lines((html.unescape(line) for line in [*alts, *re.split(r"<[^>]*>", text)]), known)


def slides(file: bytes, known: set[str]) -> Iterator[Fault]:
    """Yield what texts, tables, charts and notes of slides say that no slide should. known : texts of the table."""
    lines: list[str] = []
    for slide in Presentation(BytesIO(file)).slides:
        lines += slide.notes_slide.notes_text_frame.text.splitlines() if slide.has_notes_slide else []
        for shape in slide.shapes:
            lines += shape.text_frame.text.splitlines() if shape.has_text_frame else []
            lines += [cell.text for row in shape.table.rows for cell in row.cells] if shape.has_table else []
            lines += [str(label) for label in shape.chart.plots[0].categories] if shape.has_chart else []
    yield from of_lines(lines, known)


def of_lines(lines: Iterable[str], known: set[str]) -> Iterator[Fault]:
    """Yield lines with a number that is none, or an exponent. known : texts of the table, which they may have."""
    odd = sorted((name for name in known if BAD.search(name)), key=len, reverse=True)
    for line in dict.fromkeys(line.strip() for line in lines):
        match = BAD.search(reduce(lambda rest, name: rest.replace(name, "…"), odd, line))
        if match:
            yield Fault("report", said=line[:300], right=f"no {match[0]}")
