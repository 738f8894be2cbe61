"""Specifications of models that have what a black box knew: more pairs and triples, or the pairs of a crossing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gamcore import PriceOfReadability
from gamcore.data.columns import TableError
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from shapewise.columns.steps import Computed
from shapewise.columns.stored import steps_of
from shapewise.store.workspace import Workspace, clean_name
from shapewise.training.carry_over import carried
from shapewise.training.derived import keep
from shapewise.training.spec import Spec

Names = tuple[str, ...]


def with_interactions(spec: Spec, estimator: GAMRegressor | GAMClassifier, more: Sequence[Names]) -> Spec:
    """Return a specification with the pairs and triples of a model and more."""
    names = [bins.feature.name for bins in estimator.model_.bins]
    there = [tuple(names[j] for j in term.features) for term in estimator.model_.all_terms]
    known = {frozenset(term) for term in there}
    wanted = [*there, *(term for term in more if frozenset(term) not in known)]
    sizes = {"interactions": 2, "triples": 3}
    listed = {name: [list(term) for term in wanted if len(term) == size] for name, size in sizes.items()}
    return replace(spec, changes={**spec.changes, **{name: terms for name, terms in listed.items() if terms}})


def with_crossing(
    space: Workspace, spec: Spec, estimator: GAMRegressor | GAMClassifier, price: PriceOfReadability
) -> Spec:
    """Return a specification of a newer version of the table, which has a column of two features together, with the
    pairs of that column."""
    about = space.tables.about(spec.table)
    names = space.tables.columns(spec.table)
    if any("`" in name or name not in names for name in price.crossing):
        raise TableError("A part of a date, or a name with a backtick, cannot be crossed: compute the column on Data.")
    formula = f"cross({', '.join(f'`{name}`' for name in price.crossing)})"
    steps = steps_of(about.steps)
    there = next((step.column for step in steps if isinstance(step, Computed) and step.formula == formula), None)
    column = there or _free(" by ".join(price.crossing), names)
    then = space.tables.read(spec.table)
    table = about if there else keep(space, about, [*steps, Computed(column, formula)])[0]
    on_new = carried(spec, then, table.id, space.tables.read(table.id))
    if on_new.spec is None:
        raise TableError(on_new.why)
    crossed = with_interactions(on_new.spec, estimator, [(column, third) for third in price.thirds])
    features = crossed.features if column in crossed.features else [*crossed.features, column]
    return replace(crossed, features=features, name=clean_name(f"{spec.name} · {column}"))


def _free(name: str, taken: Sequence[str]) -> str:
    """Return a name that no column has."""
    wanted = name[:70]
    return next(free for k in range(1, len(taken) + 2) if (free := wanted if k == 1 else f"{wanted} {k}") not in taken)
