"""What is asked of a table in pieces beside a fit: predictions, and any function of its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import fs

from gamcore.common.types import Bools
from gamcore.data.column_names import free_name
from gamcore.data.columns import TableError
from gamcore.distributed.crew import Crew
from gamcore.distributed.machine import OneMachine
from gamcore.distributed.pieces import Piece, naming, read
from gamcore.model.additive import AdditiveModel
from gamcore.model.output_names import EXPECTED, PREDICTION, chance_of, predicted

Result = TypeVar("Result")


def crew_of(client: Any, n_threads: int = 1) -> Crew:
    """Return who works on the pieces: a crew as it is, the workers of a Dask client, or threads of this machine."""
    if client is None:
        return OneMachine(n_threads)
    if hasattr(client, "scheduler_info"):
        from gamcore.distributed.cluster import OnCluster

        return OnCluster(client)
    crew: Crew = client
    return crew


def over_pieces(
    function: Callable[[pd.DataFrame], Result], X: Any, columns: Sequence[str] | None = None, client: Any = None
) -> list[Result]:
    """Return what a function returns of each piece that has rows, in their order.

    X : a table in pieces, as for `fit`. columns : those that are read, None for all. client : a Dask client, whose
    workers call the function; None for this machine.

    What adds up adds up exactly: `Matches.joined(over_pieces(strategies.matches, X))` is the reach of strategies.
    """
    crew = crew_of(client)
    try:
        pieces = crew.pieces(X)
        call = partial(_call, function, None if columns is None else tuple(columns))
        results = crew.sketch(call, pieces, [0] * len(pieces), lambda done, total: False)
        return [result.value for result in results if result is not None]
    finally:
        crew.close()


@dataclass(frozen=True)
class _Answer:
    """What a function returned, which may be None."""

    value: Any


def _call(function: Callable[[pd.DataFrame], Any], columns: Sequence[str] | None, first: int, piece: Piece) -> Any:
    frame = read(piece, columns)
    with naming(piece):
        return _Answer(function(frame)) if len(frame) else None


def gather(
    X: Any, columns: Sequence[str], client: Any = None, where: Callable[[pd.DataFrame], Bools] | None = None
) -> pd.DataFrame:
    """Return some columns of all rows in their order, or of the rows that `where` marks in each piece.

    What needs few columns is exact this way: the evidence of segments (`HeldOutRows`) in held-out rows, and what an
    experiment measured (`read_arms`). `where` sees these columns, and is called where the pieces are.
    """
    parts = over_pieces(partial(_marked, where), X, columns, client)
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(columns))


def _marked(where: Callable[[pd.DataFrame], Bools] | None, frame: pd.DataFrame) -> pd.DataFrame:
    return frame if where is None else frame.loc[np.asarray(where(frame), bool)]


def predict_pieces(model: Any, X: Any, client: Any = None, method: str = "predict", **given: str) -> NDArray[Any]:
    """Return the predictions of all rows, in their order: (n,), or (n, K) of `predict_proba`.

    method : that of the estimator which predicts. given : columns of what else it takes, exposure or task.
    """
    columns = [*map(str, model.feature_names_in_), *given.values()]
    return np.concatenate(over_pieces(partial(_predict, model, method, given), X, columns, client))


def write_predictions(
    model: Any, X: Any, to: str, client: Any = None, method: str = "predict", **given: str
) -> list[str]:
    """Write the table with its predictions as Parquet files, one per piece, and return their paths.

    to : an empty or new folder, or the URL of one, that whoever works on the pieces can write to. The predictions are
    the last column, called as in every scored file (`model.output_names`): "prediction", "rate" of a model with an
    exposure, "expected" with one; of several classes, `predict_proba` gives the chance of the last. A class of two is
    the "class". given : see `predict_pieces`.
    """
    crew = crew_of(client)
    place, folder = fs.FileSystem.from_uri(to) if "://" in to else (fs.LocalFileSystem(), to)
    place.create_dir(folder)
    if place.get_file_info(fs.FileSelector(folder)):
        raise TableError(f"{to} has files already: name a new folder.")
    try:
        pieces = crew.pieces(X)
        named = _named(model, method, given)
        write = partial(_write, partial(_predict, model, method, given), named, (place, folder))
        numbers = list(range(1, len(pieces) + 1))
        return [path for path in crew.sketch(write, pieces, numbers, lambda done, total: False) if path]
    finally:
        crew.close()


def _predict(model: Any, method: str, given: dict[str, str], frame: pd.DataFrame) -> NDArray[Any]:
    columns = {parameter: frame[name] for parameter, name in given.items()}
    answers: NDArray[Any] = getattr(model, method)(frame[list(model.feature_names_in_)], **columns)
    return answers


def _named(model: Any, method: str, given: dict[str, str]) -> str:
    """Return what the predictions of a method are called."""
    classes: Sequence[Any] = getattr(model, "classes_", ())
    if len(classes) > 2:
        return PREDICTION if method == "predict" else chance_of(classes[-1])
    if len(classes):
        return "class" if method == "predict" else PREDICTION
    inner = model.model_
    return EXPECTED if "exposure" in given else predicted(inner.given if isinstance(inner, AdditiveModel) else ())


def _write(
    predict: Callable[[pd.DataFrame], NDArray[Any]], named: str, to: tuple[Any, str], number: int, piece: Piece
) -> str | None:
    """Write a piece with its predictions, whole or not at all; return the path, None for no rows."""
    frame = read(piece)
    if not len(frame):
        return None
    with naming(piece):
        answers = predict(frame)
    name = free_name(map(str, frame.columns), named)
    frame = frame.assign(**{name: answers[:, -1] if answers.ndim == 2 else answers})
    table = pa.Table.from_pandas(frame, preserve_index=False)
    place, path = to[0], f"{to[1]}/part-{number:05d}.parquet"
    pq.write_table(table, f"{path}.part", filesystem=place)
    place.move(f"{path}.part", path)
    return path
