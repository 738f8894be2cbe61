"""Fitting to a table in pieces: sketch it, learn the bins, code it where its pieces are, and boost from there."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from gamcore.boosting.rows.in_parts import RowsInParts
from gamcore.boosting.running.progress import Callback, Progress
from gamcore.data.binning import Bins, most_levels
from gamcore.data.columns import TableError
from gamcore.data.own_bins import own_bins
from gamcore.data.targets import read_class_target
from gamcore.distributed.coding import Coding, bucket_sizes
from gamcore.distributed.crew import Crew, Tell
from gamcore.distributed.mapping import crew_of
from gamcore.distributed.pieces import Piece, starts_of
from gamcore.distributed.sketch import Roles, Sketch, bins_of, features_of, of_all, rows_of, sketch_piece
from gamcore.estimators.additive import AdditiveEstimator, fit_source
from gamcore.estimators.additive_parameters import AUTO
from gamcore.estimators.base import check_parameters, loss_of, n_threads
from gamcore.estimators.progress_bar import listening
from gamcore.kernels import N_CODES

Model = TypeVar("Model", bound=AdditiveEstimator)


def roles_of(model: AdditiveEstimator, y: Any, columns: dict[str, Any], init_score: Any = None) -> Roles:
    """Return the columns of a fit; TableError where one is not named, or a setting is not for tables in pieces."""
    if init_score is not None:
        raise TableError("init_score is for a table in memory: leave it out where the table comes in pieces.")
    check_named({"y": y, **columns}, ("y",))
    if model.bands and not (loss_of(model).is_additive and model.interactions == 0):
        raise TableError(
            "Bands of a table in pieces come from counts of all rows, which need objective='squared' and "
            "interactions=0: choose these, or bands=0."
        )
    if getattr(model, "keep_tables", False):
        raise TableError("Counts of rows are kept of tables in memory: leave keep_tables out.")
    return Roles(
        y,
        None if loss_of(model).is_binary else loss_of(model),
        weight=columns.get("sample_weight"),
        groups=columns.get("groups"),
        exposure=columns.get("exposure"),
        categorical=categories_of(model.categorical_features),
    )


def categories_of(chosen: Sequence[Any] | Literal["infer"]) -> frozenset[str]:
    """Return the names of the columns that are categories; TableError where they are given by place."""
    if isinstance(chosen, str):
        return frozenset()
    if by_place := [key for key in chosen if not isinstance(key, str)]:
        raise TableError(
            f"categorical_features has {by_place[0]!r}: give names where the table comes in pieces, whose columns are "
            "not all features."
        )
    return frozenset(chosen)


def check_named(columns: dict[str, Any], needed: Sequence[str]) -> None:
    """Raise TableError where a parameter is not the name of a column. needed : those that must be given."""
    for parameter, name in columns.items():
        if not (isinstance(name, str) or (name is None and parameter not in needed)):
            raise TableError(
                f"{parameter} must be the name of a column where the table comes in pieces, such as a path or a list "
                f"of frames, not {name if name is None else type(name).__name__}."
            )


def check_alone(client: Any) -> None:
    """Raise TableError where a table in memory is to be learned by others."""
    if client is not None:
        raise TableError("client= is for a table in pieces: give a list of frames, such as [X], and names of columns.")


def fit_pieces(model: Model, X: Any, roles: Roles, client: Any) -> Model:
    """Fit to all rows of a table in pieces; see `GAMRegressor.fit`."""
    check_parameters(model)
    crew = crew_of(client, n_threads(model.n_jobs))
    try:
        with listening(model.callback) as callback:
            source, sketch, classes = _coded(model, crew, X, roles, callback)
        names = pd.DataFrame([[np.nan] * len(sketch.names)], columns=list(sketch.names))
        fit_source(model, names, classes, source, halves=model.bands)
        return model
    finally:
        crew.close()


def _coded(
    model: AdditiveEstimator, crew: Crew, X: Any, roles: Roles, callback: Callback | None
) -> tuple[RowsInParts, Sketch, NDArray[Any] | None]:
    """Return the coded rows, what the pieces say together, and the classes of the target, None for a number."""
    pieces, starts, sketch = sketched(crew, X, roles, callback)
    classes = read_class_target(np.array(sorted(sketch.classes)))[1] if roles.loss is None else None
    model._learn_classes(classes)
    loss = loss_of(model)
    seed = int(check_random_state(model.random_state).randint(2**31 - 1))
    coding = Coding(
        roles, _bins(model, sketch, roles), loss, classes=classes, mean_weight=sketch.weights.mean, seed=seed
    )
    parts = crew.code(coding, pieces, starts, teller(callback))
    source = RowsInParts(
        parts,
        coding.bins,
        parts.sum(bucket_sizes),
        crew.most_rows(len(coding.bins), model.outer_bags),
        loss,
        weighted=roles.weight is not None,
        clustered=roles.groups is not None,
        exposed=roles.exposure is not None,
        room=crew.room,
        parts_first=True,
    )
    return source, sketch, classes


def sketched(crew: Crew, X: Any, roles: Roles, callback: Callback | None) -> tuple[list[Piece], list[int], Sketch]:
    """Return the pieces of a table, the number of the first row of each that counts, and what they say together."""
    pieces = crew.pieces(X)
    sizes = _sizes(crew, pieces, teller(callback))
    sketches = crew.sketch(partial(sketch_piece, roles, sum(sizes)), pieces, starts_of(sizes), teller(callback))
    sketch = of_all(sketches)
    if roles.loss is not None:
        refusal = roles.loss.refusal(np.array([sketch.targets.least, sketch.targets.most]))
        if refusal:
            raise TableError(refusal)
    return pieces, starts_of([part.n_rows for part in sketches]), sketch


def _sizes(crew: Crew, pieces: Sequence[Piece], tell: Tell) -> list[int]:
    """Return the rows of each piece; those that are not known are read."""
    if all(piece.n_rows is not None for piece in pieces):
        return [piece.n_rows or 0 for piece in pieces]
    return crew.sketch(rows_of, pieces, [0] * len(pieces), tell)


def _bins(model: AdditiveEstimator, sketch: Sketch, roles: Roles) -> tuple[Bins, ...]:
    features = features_of(sketch, model.categorical_features, model.date_parts)
    max_bins = N_CODES if model.max_bins == AUTO else int(model.max_bins)
    own = own_bins(model.bins, features)
    return bins_of(sketch, features, roles, max_bins, own, max_levels=most_levels(max_bins))


def teller(callback: Callback | None) -> Tell:
    """Return what tells of pieces as progress."""
    began = time.monotonic()

    def tell(done: int, total: int) -> bool:
        progress = Progress.of_step("reading the table", done, total, time.monotonic() - began)
        return bool(callback and callback(progress))

    return tell
