"""Which models can be asked about the same rows, and the rows that neither has learned from."""

from __future__ import annotations

from dataclasses import dataclass

from gamcore.data.columns import TableError
from shapewise.store.workspace import ModelAbout
from shapewise.training import carry_over
from shapewise.training.dataset import Data, choose, columns_of
from shapewise.training.spec import Spec
from shapewise.ui.session import state
from shapewise.ui.session.current import InView

PARTIAL = {"sample", "added"}
"""Kinds of rows that a model has learned from where its table here has not all of them."""


def of(now: InView) -> list[ModelAbout]:
    """Return the other models of the project that predict what the model in view does, those of its table first."""
    model = now.model
    if model is None or now.project is None:
        return []
    alike = [one for one in now.project.models if one.id != model.id and _asks_the_same(one, model)]
    return sorted(alike, key=lambda one: one.table != model.table)


def _asks_the_same(one: ModelAbout, other: ModelAbout) -> bool:
    if not one.spec or one.of_tasks or one.spec.get("treatment"):
        return False
    first, second = Spec.from_dict(one.spec), Spec.from_dict(other.spec)
    names = ("target", "kind_of_target", "positive", "negative", "classes", "exposure")
    return all(getattr(first, name) == getattr(second, name) for name in names)


@dataclass(frozen=True)
class SharedRows:
    """Rows that neither of two models has learned from. table : their id, of which `owner` has held them out. learned :
    how many more the other model has learned from, as rows that are alike in its own table."""

    data: Data
    table: str
    owner: str
    learned: int


def shared_rows(model: ModelAbout, other: ModelAbout) -> SharedRows:
    """Return the rows of the same table that both have held out, or those of the newer table that the model of it has
    held out and the other one does not know from its own table; TableError where there are none."""
    owner, guest = (other, model) if _is_newer(other.table, model.table) else (model, other)
    read = {one.id: state.whole_data(one) for one in (owner, guest)}
    own, known = read[owner.id], read[guest.id]
    if own is None or known is None:
        raise TableError("The table of one of the models is gone, so what it has learned from is not known.")
    if any(PARTIAL & set(one.rows or {}) for one in (owner, guest)):
        raise TableError("One of the models has learned from more rows than are here, so none is surely new to it.")
    held, learned = own.held_out, 0
    if owner.table == guest.table:
        held = held & own.X.index.isin(known.X.index[known.held_out])
    else:
        table, spec = state.as_read(owner), Spec.from_dict(guest.spec)
        if lacking := [name for name in columns_of(spec, {}) if name not in table]:
            raise TableError(f"The newer table lacks {lacking[0]}, which {guest.name} reads: compare models of one "
                             "table.")  # fmt: skip
        inside, has_target, _ = choose(table, spec)
        held = held & (inside & has_target)[table.frame.index.get_indexer(own.X.index)]
        older = state.frame(guest.table).loc[known.X.index[~known.held_out]]
        again = held & carry_over.known_before(state.frame(owner.table).loc[own.X.index], older)
        held, learned = held & ~again, int(again.sum())
    if not held.any():
        raise TableError("There is no row that neither model has learned from: train both on one table.")
    return SharedRows(own.only(held), owner.table, owner.id, learned)


def _is_newer(table: str, other: str) -> bool:
    """Return whether a table is a later version of another."""
    return other in {one.id for one in carry_over.older(state.workspace().tables.listed(), table)}
