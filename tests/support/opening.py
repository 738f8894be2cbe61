"""Open mutated model files in a separate process: `python -m tests.support.opening SEED FIRST STEP [LEVEL ...]`, until
stopped.

It prints a line with the number before each file, and a line of JSON after it: level, outcome, message, and the peak
bytes allocated while it was read. The process may map 1 GiB more than at its start. What a model file never needs
(running or importing code, other processes, sockets, writing files) is refused while one is opened, and reported.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import traceback
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils._param_validation import InvalidParameterError

from gamcore import (
    ModelFileError,
    add_bands,
    fit_intervals,
    load_model,
    pair_ranking,
    pair_worth,
    predict_interval,
    smallest_changes,
    suggest_segments,
    uncertainty,
)
from gamcore import io as scoring
from gamcore.common.seam import ADDITIONS
from gamcore.estimators.base import to_saved
from gamcore.estimators.saved import from_saved
from gamcore.io.attached import FilePart
from gamcore.io.gamx import from_bytes, to_bytes
from gamcore.kernels.tree_predict import add_trees
from gamcore.multitask.model import TaskModel
from tests.support import golden
from tests.support.mutants import LEVELS, mutant, take_apart

ROOM = 2**30
MOST_FIT = 0.5
FORBIDDEN = (
    "exec", "compile", "import", "marshal.", "pickle.", "subprocess.", "os.", "socket.", "ctypes.", "code.", "shutil.",
)  # fmt: skip

events: list[str] = []
armed = False


def watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse what no model file needs; an audit hook."""
    if not armed:
        return
    written = event == "open" and (str(arguments[1] or "r") != "r" and set(str(arguments[1])) & set("wax+"))
    flags = arguments[2] if event == "open" and isinstance(arguments[2], int) else 0
    if written or flags & (os.O_WRONLY | os.O_RDWR) or event.startswith(FORBIDDEN):
        events.append(f"{event} {str(arguments)[:80]}")
        raise RuntimeError(f"A model file made {event} happen.")


@contextmanager
def watched() -> Iterator[None]:
    """Watch audit events inside the block."""
    global armed
    armed = True
    try:
        yield
    finally:
        armed = False


def cells(bins: list[Any]) -> Any:
    """Return 8 test values of a column for its features: known, unknown, missing, extreme, on every border."""
    kinds, own = {of.feature.kind for of in bins}, bins[0]
    if any(of.feature.part != "value" for of in bins) or "date" in kinds:
        days = ["2020-01-01", None, "1970-01-01", "2262-01-01", "1677-10-01", "2020-02-29", "2020-07-01", "1600-01-01"]
        return pd.to_datetime(days).astype("datetime64[s]")
    if "boolean" in kinds:
        return pd.array([True, False, None, True] * 2, dtype="boolean")
    if "category" in kinds:
        return np.resize(np.array([*own.levels[:3], *own.pooled[:2], "never seen", None, ""], object), 8)
    return [np.nan, 1e300, -1e300, 5e-324, 0.0, own.low, own.high, own.cuts[0] if own.cuts.size else 1.0]


def probe(model: Any) -> pd.DataFrame:
    """Make a table of difficult values with the columns of a model."""
    columns: dict[str, list[Any]] = {}
    for of_feature in model.bins:
        columns.setdefault(of_feature.feature.column, []).append(of_feature)
    return pd.DataFrame({name: cells(bins) for name, bins in columns.items()})


def answers(estimator: Any) -> list[np.ndarray]:
    """Ask a model everything about a table of difficult values; return its predictions, contributions and curves."""
    model, X = estimator.model_, probe(estimator.model_)
    names = [of_feature.feature.name for of_feature in model.bins]
    asked: dict[str, Any] = {}
    curves: list[Any] = []
    if isinstance(model, TaskModel):
        asked = {"task": np.resize(np.array([*model.tasks[:3], "nowhere"], object), len(X))}
        for name in names:
            estimator.agreement(name)
            curves += [estimator.explain_shape(name, task) for task in (None, *model.tasks[:2])]
        estimator.rounds()
        if model.owned.all(axis=0).any():
            estimator.similarity()
            estimator.outliers()
    else:
        curves = [estimator.explain_shape(name) for name in names]
        for pair in model.pairs:
            curves.append(estimator.explain_pair(*pair.features))
        smallest_changes(estimator, X.iloc[:1], 0.0)
        if model.intervals is not None and model.intervals.scale is not None:
            curves += [uncertainty(estimator).explain_shape(name) for name in names]
    for curve in curves:
        curve.frame()
        curve.on("points" if model.loss.name == "logistic" else "link").describe(target="target")
    estimator.importance().frame()
    found = [estimator.predict(X, **asked), estimator.explain_rows(X, **asked).contributions]
    if model.loss.name == "logistic":
        found += [estimator.predict_proba(X, **asked), estimator.decision_function(X, **asked)]
    if not isinstance(model, TaskModel) and model.intervals is not None and model.intervals.most_coverage > 0:
        ends = predict_interval(estimator, X, min(0.9, model.intervals.most_coverage))
        found.append(np.clip(ends, -sys.float_info.max, sys.float_info.max))  # an end may be infinite, but is a number
    return [np.asarray(one) for one in [*found, *(curve.scores for curve in curves)]]


def same(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    """Return whether all answers are bitwise equal."""
    return all(
        a.shape == b.shape and (a.tobytes() == b.tobytes() if a.dtype != object else a.tolist() == b.tolist())
        for a, b in zip(one, other, strict=True)
    )


def body(data: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the content of a file without "about": unusable parameters are not written again."""
    manifest, members = take_apart(data)
    del manifest["about"]
    return manifest, members


def use(estimator: Any) -> None:
    """Ask a model everything before and after it is written and read; AssertionError if answers differ."""
    first = answers(estimator)
    assert all(np.isfinite(one).all() for one in first[1:] if one.dtype.kind == "f"), "an answer is not finite"
    written = to_bytes(to_saved(estimator))
    again = from_saved(from_bytes(written))
    assert body(to_bytes(to_saved(again))) == body(written), "written twice, it differs"
    assert same(first, answers(again)), "read again, it answers otherwise"


def stop_after(seconds: float) -> Callable[[Any], bool]:
    """Return a callback that ends a fit, whatever number of rounds its parameters ask for."""
    until = time.monotonic() + seconds
    return lambda _: time.monotonic() > until


def rows(model: Any, n: int = 60) -> tuple[pd.DataFrame, Any]:
    """Make rows with a model's columns, and a target of its kind."""
    rng, X = np.random.default_rng(0), {}
    for of_feature in model.bins:
        X.setdefault(of_feature.feature.column, rng.choice(cells([of_feature]), n))
    y = rng.normal(size=n)
    return pd.DataFrame(X), np.where(y > 0, 1, 0) if model.loss.name == "logistic" else y


def computations(estimator: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield all that a loaded estimator can compute, by name: refits, rankings, exports."""
    model = estimator.model_
    X, y = rows(model)
    if model.loss.name == "logistic":
        y = np.asarray(estimator.classes_)[y]
    stop = stop_after(MOST_FIT)
    if isinstance(model, TaskModel):
        task = np.resize(np.array([*model.tasks[:2]], object), len(X))
        yield "fit", lambda: clone(estimator).set_params(callback=stop, task_column=False).fit(X, y, task=task)
        yield "additive model", lambda: estimator.additive_model(model.tasks[0])
        return
    yield "add bands", lambda: add_bands(estimator, X, y, n_refits=10, callback=stop)
    yield "rank pairs", lambda: pair_ranking(estimator, X, y)
    yield "pair worth", lambda: pair_worth(estimator, X, y)
    yield "segments", lambda: suggest_segments(estimator, X, y)
    yield "fit", lambda: clone(estimator).set_params(callback=stop).fit(X, y)
    if not model.loss.is_binary:
        yield "intervals", lambda: predict_interval(fit_intervals(estimator, X, y), X, 0.8)
    yield "sql", lambda: scoring.to_sql(estimator, table="t")
    yield "json", lambda: scoring.from_json(scoring.to_json(estimator)).predict(X)
    yield "python", lambda: scoring.to_python(estimator)


def is_in_words(error: Exception) -> bool:
    """Return whether an error is one of this project's own, raised by it, or by a parameter check."""
    if isinstance(error, InvalidParameterError) or type(error).__module__.startswith("gamcore."):
        return True
    places = traceback.extract_tb(error.__traceback__)
    return type(error) in (ValueError, KeyError) and f"{os.sep}gamcore{os.sep}" in places[-1].filename


def compute(estimator: Any) -> None:
    """Let a model compute all that it can; whatever it cannot must be refused with a clear message."""
    for what, act in computations(estimator):
        try:
            act()
        except Exception as error:
            if not is_in_words(error):
                raise RuntimeError(f"{what}: {type(error).__name__}: {error}"[:300]) from error


def attempt(path: Path, deep: bool) -> dict[str, Any]:
    """Open a file and use its model; with `deep`, also compute all that it can."""
    told: dict[str, Any] = {"outcome": "opened", "message": ""}
    events.clear()
    tracemalloc.start()
    try:
        with watched():
            estimator = load_model(path)
    except ModelFileError as error:
        told |= {"outcome": "refused", "message": str(error)}
    except BaseException as error:
        told |= {"outcome": "error", "message": f"{type(error).__name__}: {error}"[:300]}
    told["peak"] = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    if told["outcome"] == "opened":
        try:
            with watched():
                use(estimator)
            if deep:  # unwatched: compilation and imports here are not due to the file
                compute(estimator)
        except Exception as error:
            told |= {"outcome": "misbehaved", "message": f"{type(error).__name__}: {error}"[:300]}
    if events:
        told |= {"outcome": "event", "message": events[0]}
    return told


def limit() -> None:
    """Map no more than 1 GiB from here on."""
    import resource

    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (mapped + ROOM, mapped + ROOM))


def prove() -> None:
    """Check that the guards work: forbidden events are refused, and bounds-checked kernels check."""
    for text in ("compile('1', '', 'eval')", "import this", "open('/dev/null', 'w')"):
        code = compile(text, "", "exec")
        try:
            with watched():
                exec(code)
        except RuntimeError:
            continue
        raise AssertionError(f"{text} was not refused")
    if os.environ.get("NUMBA_BOUNDSCHECK") != "1":
        return
    trees = from_bytes(golden.read("1.3-multitask-regressor")).model.forest.trees
    try:
        add_trees(np.zeros((0, 1), np.uint8), np.zeros(1, np.int64), trees, 0, trees.ends.size - 1, np.zeros(1))
    except IndexError:
        return
    raise AssertionError("kernels do not check their indices")


def main(seed: int, first: int, step: int, *levels: str) -> None:
    """Open one mutant after another, changed at these levels, or at any if none is given."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    for name in golden.NAMES:  # import and compile everything that first use needs
        use(from_saved(from_bytes(golden.read(name))))
        compute(from_saved(from_bytes(golden.read(name))))
    ADDITIONS.declared(FilePart)
    sys.addaudithook(watch)
    prove()
    limit()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.gamx"
        for number in count(first, step):
            source, level, data = mutant(seed, number, levels or tuple(LEVELS))
            path.write_bytes(data)
            print(number, flush=True)
            deep = level == "parameters" or number % 4 == 0
            told = {"number": number, "source": source, "level": level, "bytes": len(data), **attempt(path, deep)}
            print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]), *sys.argv[4:])
