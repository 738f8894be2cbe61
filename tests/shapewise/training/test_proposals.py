"""Any table that the reader lets in is examined, and what Train proposes for it first can be trained."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore.data.table import Table
from shapewise.columns.roles import roles_of
from shapewise.doctor.examine import examine
from shapewise.doctor.leaks import leaks
from shapewise.training.dataset import check_rows, held_out_rows, read_data
from shapewise.training.proposals import classes_first, first_kind, first_target, positive_first
from shapewise.training.spec import Spec, target_levels
from shapewise.training.train import fit

TABLE = "00000abc"


def likely_targets(frame):
    return [guess.column for guess in roles_of(Table.of(frame), examine(frame)).targets]


def column(rng, n, kind):
    """A column of some kind, as strangers' tables have them."""
    return {
        "number": lambda: rng.normal(size=n),
        "amount": lambda: np.where(rng.random(n) < 0.4, 0.0, rng.lognormal(2, 1, n)),
        "few numbers": lambda: rng.choice([1.0, 2.0, 3.0, 17.0], n, p=[0.5, 0.29, 0.2, 0.01]),
        "count": lambda: rng.poisson(0.2, n),
        "rare": lambda: np.where(np.arange(n) < int(rng.integers(1, 4)), "rare", "usual"),
        "rare class": lambda: np.where(np.arange(n) < 1, "minivan", rng.choice(["suv", "compact", "pickup"], n)),
        "many levels": lambda: rng.choice([f"level {k}" for k in range(87)], n),
        "a few texts": lambda: rng.choice(["red", "blue", None], n),
        "unused levels": lambda: pd.Categorical(rng.choice(["a", "b"], n), ["a", "b", "gone"]),
        "boolean": lambda: rng.random(n) < 0.01,
        "constant": lambda: np.full(n, 7.0),
        "missing": lambda: np.full(n, np.nan),
        "open ends": lambda: rng.choice(np.array(["0001-01-01", "2024-05-01", "9999-12-31"], "datetime64[us]"), n),
        "id": lambda: np.arange(n),
    }[kind]()


KINDS = (
    "number", "amount", "few numbers", "count", "rare", "rare class", "many levels", "a few texts", "unused levels",
    "boolean", "constant", "missing", "open ends", "id",
)  # fmt: skip


def tables(seed):
    rng = np.random.default_rng(seed)
    n, kinds = int(rng.integers(60, 400)), rng.choice(KINDS, int(rng.integers(2, 6)))
    return pd.DataFrame({f"{kind} {k}": column(rng, n, kind) for k, kind in enumerate(kinds)})


def proposed(frame, target=None):
    """The specification that Train would show first, None where no column can be a target."""
    rows, reports, held = Table.of(frame), examine(frame), held_out_rows(frame, TABLE)
    target = target or first_target(rows, likely_targets(frame), held)
    if target is None:
        return None
    goal = first_kind(rows, target, held)[0]
    levels = target_levels(frame[target]) if goal in ("binary", "classes") else []
    positive = [positive_first(frame[target], held, levels)] if goal == "binary" else None
    classes = classes_first(frame[target], held) if goal == "classes" else None
    usable = [r for r in reports if r.kind is not None and r.name != target]
    asked = [[level] for level in classes or []] or [positive]
    suspects = {name for level in asked for name in leaks(frame, target, level, [r.name for r in usable])}
    features = [r.name for r in usable if r.role == "feature" and r.name not in suspects] or [r.name for r in usable]
    return Spec(TABLE, target, "first", features, goal=goal, positive=positive, classes=classes,
                changes={"max_rounds": 3, "outer_bags": 2}) if features else None  # fmt: skip


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(60))
def test_a_first_proposal_is_never_refused(seed):
    frame = tables(seed)
    spec = proposed(frame)
    if spec is None:
        assert frame.shape[1] < 2 or not can_be_trained(frame, held_out_rows(frame, TABLE))
    else:
        fit(read_data(frame, spec), spec)


def can_be_trained(frame, held):
    """By brute force: some likely target has a split of its values of which both parts have rows."""
    for name in likely_targets(frame):
        known = frame[name].notna().to_numpy()
        series, part = frame[name][known], held[known]
        if series.dtype.kind in "fiu" and series.nunique() > 10 and part.any() and not part.all():
            return True
        if 1 < series.nunique() <= 50 and any(
            (series == level)[part == side].nunique() == 2 for level in series.unique()
            for side in (True, False)
            if (series == level)[part].nunique() == (series == level)[~part].nunique() == 2
        ):  # fmt: skip
            return True
    return False


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(
    "kinds", [("a few texts", "a few texts", "number"), ("open ends", "boolean", "amount"), ("id", "number")]
)
def test_any_column_may_be_asked_for_what_leaks_it(seed, kinds):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"{kind} {k}": column(rng, 200, kind) for k, kind in enumerate(kinds)})
    target = frame.columns[-1]
    assert isinstance(leaks(frame, target, None, list(frame.columns[:-1])), dict)
    assert leaks(frame, target, None, []) == {}


def test_a_rare_level_is_proposed_only_where_both_parts_have_it():
    y = pd.Series(["rare"] + ["seldom"] * 20 + ["often"] * 179)
    held = np.arange(200) % 5 == 1
    assert positive_first(y, held, ["often", "rare", "seldom"]) == "seldom"
    check_rows((y == "seldom").astype(int), held, "binary")
    assert classes_first(y, held) == ["often", "seldom"]
    frame = pd.DataFrame({"kind": y})
    assert first_kind(Table.of(frame), "kind", held)[0] == "binary"


def test_what_is_proposed_first_has_rows_enough_for_bands():
    """Bands are drawn from halves of the training rows, and each half has every class."""
    y = pd.Series(["one"] * 3 + ["few"] * 4 + ["seldom"] * 20 + ["often"] * 173)
    held = np.zeros(200, bool)
    held[[0, 3, 7, 8, 30, 31]] = True  # leaves two, three and eighteen
    levels = ["few", "often", "one", "seldom"]
    assert positive_first(y, held, levels) == "seldom"
    assert classes_first(y, held) == ["often", "seldom"]
    assert positive_first(y[:7], held[:7], ["few", "one"]) == "one"  # no level has: then any that can be trained


def test_a_text_of_many_levels_is_no_first_target():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"x": rng.normal(size=400), "sold": rng.choice(["a", "b"], 400), "town": column(rng, 400, "many levels")}
    )
    assert first_target(Table.of(frame), likely_targets(frame), held_out_rows(frame, TABLE)) == "sold"
    assert first_target(Table.of(frame), ["town", "sold"], held_out_rows(frame, TABLE)) == "sold"
    frame = frame.assign(sold=column(rng, 400, "many levels"))[["town", "sold"]]
    roles = roles_of(Table.of(frame), examine(frame))
    assert not roles.targets  # nor is one of them asked for
    assert roles.question("target") is None
    assert first_target(Table.of(frame), ["town", "sold"], held_out_rows(frame, TABLE)) is None
