"""Training on a cluster: its workers code a dataset that they can read, or get the codes of a table stored here.

Either way the workers hold the coded rows, and each refit is a task of theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from gamcore.boosting.rows.source import relative_weight
from gamcore.boosting.rows.sums import PartInMemory, joined
from gamcore.boosting.running.progress import Callback
from gamcore.common.types import Bools
from gamcore.distributed.pieces import PIECE_ROWS, naming, read, starts_of
from gamcore.estimators.gam import Estimator
from gamcore.estimators.pieces import teller
from shapewise.datasets.dataset import shown_pieces
from shapewise.datasets.pieces import ShownPiece
from shapewise.errors import StoreError
from shapewise.store.batches import count_rows
from shapewise.store.workspace import Workspace
from shapewise.training.dataset import Data
from shapewise.training.large import check_kind, coded
from shapewise.training.large_fit import Prepared
from shapewise.training.large_pass import Noted, RowCoder
from shapewise.training.spec import Spec

if TYPE_CHECKING:
    from gamcore.distributed.cluster import OnCluster, PartsOnCluster


@dataclass(frozen=True)
class ClusterPlace:
    """Whose workers train, on which table of a workspace."""

    crew: OnCluster
    space: Workspace
    table: str


def fit_on_cluster(
    place: ClusterPlace, sample: pd.DataFrame, spec: Spec, held_out_by: dict[str, str], callback: Callback | None = None
) -> tuple[Estimator, Data, dict[str, int]]:
    """Fit a model to all training rows of a table; return it, the rows of the sample, and counts of rows (`Prepared`).

    sample : rows of the table in their order, or all; metrics are measured on its held-out rows.
    """
    check_kind(spec)
    about, crew = place.space.tables.about(place.table), place.crew
    prepared = Prepared.of(sample, spec, held_out_by, about.rows, n_jobs=1, callback=callback)
    parts, noted = (_coded_there if about.dataset else _coded_here)(place, prepared, callback)
    if spec.weight:
        parts = parts.each(partial(_relative, noted.weights.mean))
    most = crew.most_rows(len(prepared.coder.bins), prepared.model.outer_bags)
    counts = prepared.fit(prepared.source(parts, noted, most, crew.room, parts_first=True), noted)
    return prepared.model, prepared.data, counts


def in_pieces(data: Data, kept: Bools) -> tuple[list[pd.DataFrame], dict[str, str]]:
    """Return some rows as pieces of a table, and the names of the columns that are no features, by what they are."""
    others = {"y": data.y[kept].to_numpy(), **data.of_rows(kept)}
    names = {role: f"{role} of the training" for role in others}
    while set(names.values()) & set(data.X.columns):
        names = {role: f"{name}'" for role, name in names.items()}
    frame = data.X[kept].assign(**{names[role]: values for role, values in others.items()})
    return [frame.iloc[first : first + PIECE_ROWS] for first in range(0, len(frame), PIECE_ROWS)], names


def _coded_there(place: ClusterPlace, prepared: Prepared, callback: Callback | None) -> tuple[PartsOnCluster, Noted]:
    """Let the workers code the rows of a dataset."""
    spec = prepared.coder.spec
    pieces = shown_pieces(place.space, place.table, place.crew, list(prepared.like.columns), spec.codes_of(place.table))
    starts = starts_of([piece.n_rows for piece in pieces])
    parts, notes = place.crew.keep(partial(_code, prepared.coder), pieces, starts, teller(callback))
    noted = sum(notes, Noted.nothing(len(prepared.coder.bins)))
    counted = noted.counts["training"]
    if parts.n_rows > counted or (parts.n_rows < counted and not spec.weight):  # rows of no weight are left out
        raise StoreError(
            "The workers of the cluster do not agree on how many rows there are: see that all have the same version, "
            "then train again."
        )
    return parts, noted


def _code(coder: RowCoder, first: int, piece: ShownPiece) -> tuple[PartInMemory, Noted]:
    frame = read(piece)
    with naming(piece):
        return coder.code(frame, first, piece.places(first))


def _coded_here(place: ClusterPlace, prepared: Prepared, callback: Callback | None) -> tuple[PartsOnCluster, Noted]:
    """Code the rows of a stored table, and send them to the workers."""
    path, noted = place.space.tables.path(place.table), Noted.nothing(len(prepared.coder.bins))
    sent: list[PartInMemory] = []
    waiting: list[PartInMemory] = []
    for part, of_part in coded(path, count_rows(path), prepared, callback):
        noted += of_part
        waiting.append(part)
        if sum(part.y.size for part in waiting) >= PIECE_ROWS:
            sent, waiting = [*sent, joined(waiting)], []
    return place.crew.send([*sent, *([joined(waiting)] if waiting else [])]), noted


def _relative(mean: float, part: PartInMemory) -> PartInMemory:
    """Return a part with weights that boosting can use. mean : of all weights."""
    assert part.weight is not None
    return part._replace(weight=relative_weight(part.weight, mean))
