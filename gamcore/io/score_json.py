"""A model as JSON, with the schema of docs/guides/scoring.md, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gamcore.common.types import Floats
from gamcore.data.binning import MAX_VALUES, Bins
from gamcore.explain.scorecard import Points
from gamcore.io.checks import ModelFileError
from gamcore.io.formula import AnyFormula, ClassFormula, Formula, PartTable, ScoringError, TaskFormula, formula_of
from gamcore.io.json_reasons import plain_reasons, read_reasons
from gamcore.io.manifest import read_classes, read_labels
from gamcore.io.manifest_bins import count_of, merged_levels, read_feature, read_merged, read_texts
from gamcore.kernels.tree_predict import N_BYTES, Trees
from gamcore.model.additive import GIVEN, Given
from gamcore.model.losses import LOSSES
from gamcore.multitask.model import TaskModel
from gamcore.multitask.trees import Forest

FORMAT: Final = "shapewise-scoring"
VERSIONS: Final = (1, 2, 3, 4, 5, 6, 7, 8)
"""The second has codes that mean missing, the third several classes or exposures, the fourth levels that share a bin by
choice, the fifth scorecards, the sixth reasons, the seventh times of a zone, the eighth triples; a model is written in
the lowest."""

WITH_TRIPLES: Final = 8


def to_json(model: Any, indent: int | None = None, computed: Sequence[Mapping[str, Any]] = (), unit: str = "") -> str:
    """Return a fitted model as JSON text; numbers are written so that they are read back exactly.

    computed : how columns that a table may lack are computed, in their order, as plain JSON; they are for the reader.
    unit : that of the target, for the names of numbers (`model.output_names`).
    """
    return json.dumps(to_dict(model, computed, unit), ensure_ascii=True, indent=indent, allow_nan=False)


def to_dict(model: Any, computed: Sequence[Mapping[str, Any]] = (), unit: str = "") -> dict[str, Any]:
    """Return a fitted model as plain JSON values. computed, unit : as in `to_json`."""
    formula = formula_of(model, unit)
    kind = {Formula: "additive", ClassFormula: "classes", TaskFormula: "tasks"}[type(formula)]
    bins_of = formula.model.bins if isinstance(formula, TaskFormula) else formula.bins
    given = formula.given if isinstance(formula, Formula) else ()
    needs = [
        any(bins.feature.missing for bins in bins_of),
        isinstance(formula, ClassFormula) or bool(given),
        any(bins.merged for bins in bins_of),
        isinstance(formula, Formula) and formula.points is not None,
        isinstance(formula, Formula) and formula.reasons is not None,
        any(bins.feature.zoned for bins in bins_of),
        isinstance(formula, Formula) and bool(formula.triples),
    ]
    version = VERSIONS[max((place for place, needed in enumerate(needs, 1) if needed), default=0)]
    head = {"format": FORMAT, "version": version, "model": kind, "loss": formula.loss,
            "classes": list(formula.classes), "names": formula.names}  # fmt: skip
    head |= {"unit": formula.unit} if not isinstance(formula, ClassFormula) and formula.unit else {}
    head |= {"given": list(given)} if given else {}
    if isinstance(formula, Formula) and formula.points is not None:
        head |= {"points": asdict(formula.points) | {"offset": formula.points.offset, "factor": formula.points.factor}}
    if isinstance(formula, Formula) and formula.reasons is not None:
        head |= {"reasons": plain_reasons(formula.reasons, len(formula.pairs))}
    head |= {"computed": [dict(column) for column in computed]} if computed else {}
    if not isinstance(formula, TaskFormula):
        head |= {"features": [_feature(bins) for bins in formula.bins]}
        return head | (
            _tables(formula) if isinstance(formula, Formula) else {"scores": list(map(_tables, formula.formulas))}
        )
    trees_of, trees = formula.model, formula.model.forest.trees
    return head | {
        "features": [_feature(bins) for bins in trees_of.bins],
        "tasks": list(trees_of.tasks),
        "task_codes": trees_of.task_codes.tolist(),
        "aliases": trees_of.aliases,
        "owned": trees_of.owned.tolist(),
        "refits": [
            {"base": float(base), "first_tree": int(first), "keeps": keeps.tolist(), "own_trees": own.tolist()}
            for base, first, keeps, own in zip(
                trees_of.base_scores, trees_of.common_trees, trees_of.quits, trees_of.own_trees, strict=True
            )
        ],
        "trees": {
            "ends": trees.ends.tolist(), "feature": trees.feature.tolist(), "child": trees.child.tolist(),
            "left": [bytes(row).hex() if j >= 0 else "" for row, j in zip(trees.left, trees.feature, strict=True)],
            "value": trees.value.tolist(),
        },
    }  # fmt: skip


def _tables(formula: Formula) -> dict[str, Any]:
    """Return the tables of a formula."""
    return {
        "intercept": formula.intercept,
        "terms": [{"feature": place, "scores": scores.tolist()} for place, scores in formula.terms],
        "pairs": [{"features": list(both), "scores": table.tolist()} for both, table in formula.pairs],
        **({"triples": [_part_table(triple) for triple in formula.triples]} if formula.triples else {}),
    }


def _part_table(table: PartTable) -> dict[str, Any]:
    parts = [part.tolist() for part in table.parts]
    return {"features": list(table.features), "parts": parts, "scores": table.scores.tolist()}


def _feature(bins: Bins) -> dict[str, Any]:
    feature = bins.feature
    return {
        "name": feature.name, "column": feature.column, "kind": feature.kind, "part": feature.part,
        "bins": bins.n_values, "cuts": bins.cuts.tolist(), "levels": list(bins.levels), "rare": list(bins.pooled),
        **({"zoned": True} if feature.zoned else {}),
        **({"missing": list(feature.missing)} if feature.missing else {}),
        **({"merged": merged_levels(bins)} if bins.merged else {}),
    }  # fmt: skip


def from_json(text: str | bytes) -> AnyFormula:
    """Return a formula that predicts as the model that `to_json` wrote; raise ScoringError for any other text."""
    try:
        plain = json.loads(text, parse_constant=_refuse)
        if not isinstance(plain, dict) or plain.get("format") != FORMAT:
            raise ScoringError("This is not a model in this package's JSON format: write one with to_json.")
        if plain["version"] not in VERSIONS:
            raise ScoringError(f"The model is in version {plain['version']!r} of the JSON: this reads {VERSIONS[-1]}.")
        return READERS[plain["model"]](plain)
    except ScoringError:
        raise
    except ModelFileError as error:
        raise ScoringError(str(error).replace("The model file", "The model's JSON")) from error
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        raise ScoringError(f"The model's JSON is damaged ({type(error).__name__}: {error}): write it again.") from error


def _refuse(constant: str) -> float:
    raise ScoringError(f"The model's JSON holds {constant}, which is not a number: it is damaged.")


def _place(entry: Any, n: int) -> int:
    """Return the checked index of a feature."""
    if type(entry) is not int or not 0 <= entry < n:
        raise ScoringError(f"The model's JSON names feature {entry!r} of {n}: it is damaged.")
    return entry


def _bins(entry: dict[str, Any]) -> Bins:
    levels, rare = read_texts(entry["levels"], "levels"), read_texts(entry["rare"], "rare levels")
    merged = read_merged(entry.get("merged", {}), levels, rare)
    feature = read_feature(entry, levels, rare, merged, missing=entry.get("missing"), zoned=entry.get("zoned", False))
    cuts = _table(entry["cuts"], (len(entry["cuts"]),), f"cuts of {feature.name!r}")
    if (np.diff(cuts) <= 0).any() or not np.isfinite(cuts).all():
        raise ScoringError(f"The cuts of {entry['name']!r} do not ascend: the JSON is damaged.")
    n_values = count_of(entry["bins"], MAX_VALUES, "a number of bins")
    if not feature.is_category and n_values != (cuts.size + 1 if n_values else 0):
        raise ScoringError(f"{entry['name']!r} has {n_values} bins and {cuts.size} cuts: the JSON is damaged.")
    if feature.is_category and n_values != len(levels) + bool(rare):
        raise ScoringError(f"{entry['name']!r} has {n_values} bins and {len(levels)} levels: the JSON is damaged.")
    display = np.zeros(0 if feature.is_category else n_values)
    return Bins(feature, cuts, display, levels=levels, pooled=rare, merged=merged)


def _number(value: Any, what: str) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ScoringError(f"The {what} of the model's JSON is {value!r}, which is not a number: it is damaged.")
    return float(value)


def _whole(values: Any, what: str) -> NDArray[np.int64]:
    """Return an integer array from a list, or a list of lists, of whole numbers."""
    if not _are(values, int):
        raise ScoringError(f"The {what} of the model's JSON are not whole numbers: it is damaged.")
    return np.array(values, np.int64)


def _are(values: Any, *kinds: type) -> bool:
    """Return whether a value, or every value in nested lists, is exactly of these types.

    numpy would turn mixed values into texts, each as long as the longest, and booleans into numbers.
    """
    return all(_are(value, *kinds) for value in values) if isinstance(values, list) else type(values) in kinds


def _table(values: Any, shape: tuple[int, ...], what: str) -> Floats:
    if not _are(values, int, float):
        raise ScoringError(f"The scores of {what} are not numbers: the JSON is damaged.")
    numbers = np.array(values, np.float64)
    if numbers.shape != shape or not np.isfinite(numbers).all():
        raise ScoringError(f"The scores of {what} are not {' x '.join(map(str, shape))} numbers: the JSON is damaged.")
    return numbers


def _additive(plain: dict[str, Any]) -> Formula:
    bins, loss = tuple(_bins(feature) for feature in plain["features"]), LOSSES[plain["loss"]]
    if loss.is_partial:
        raise ScoringError("The model's JSON has one score for several classes: it is damaged.")
    given = plain.get("given", [])
    if not isinstance(given, list) or not set(given) <= set(GIVEN):
        raise ScoringError("What the scores of the model's JSON are added to is unknown: it is damaged.")
    formula = _formula(plain, bins, loss.name, _classes(plain), tuple(name for name in GIVEN if name in given))
    points = _points(plain["points"]) if "points" in plain else None
    reasons = read_reasons(plain["reasons"], formula) if "reasons" in plain else None
    return replace(formula, points=points, reasons=reasons, unit=_unit(plain))


def _unit(plain: dict[str, Any]) -> str:
    """Return the unit of the target."""
    unit = plain.get("unit", "")
    if not isinstance(unit, str):
        raise ScoringError(f"The unit of the model's JSON is {unit!r}, which is not a text: it is damaged.")
    return unit


def _points(entry: Any) -> Points:
    """Return the scale of a scorecard."""
    numbers = {name: _number(entry[name], f"points ({name})") for name in ("base", "odds", "double")}
    if not (numbers["odds"] > 0 and numbers["double"] > 0 and isinstance(entry["rising"], bool)):
        raise ScoringError("The scale of points in the model's JSON is none: it is damaged.")
    return Points(**numbers, rising=entry["rising"])


def _several(plain: dict[str, Any]) -> ClassFormula:
    bins, classes = tuple(_bins(feature) for feature in plain["features"]), _classes(plain, several=True)
    loss = LOSSES[plain["loss"]]
    if not loss.is_partial or len(plain["scores"]) != len(classes):
        raise ScoringError("The scores of the model's JSON do not match its classes: it is damaged.")
    tables = zip(plain["scores"], classes, strict=True)
    formulas = [_formula(scores, bins, loss.name, (name,), ()) for scores, name in tables]
    return ClassFormula(tuple(formulas), classes)


def _formula(
    plain: dict[str, Any], bins: tuple[Bins, ...], loss: str, classes: tuple[Any, ...], given: tuple[Given, ...]
) -> Formula:
    """Return a formula from its checked tables."""
    terms = []
    for term in plain["terms"]:
        place = _place(term["feature"], len(bins))
        terms.append((place, _table(term["scores"], (bins[place].size,), bins[place].feature.name)))
    pairs = []
    for pair in plain["pairs"]:
        first, second = (_place(place, len(bins)) for place in pair["features"])
        name = f"{bins[first].feature.name} x {bins[second].feature.name}"
        pairs.append(((first, second), _table(pair["scores"], (bins[first].size, bins[second].size), name)))
    is_with_triples = "triples" in plain or plain.get("version") == WITH_TRIPLES
    triples = tuple(_read_part_table(table, bins) for table in (plain["triples"] if is_with_triples else []))
    intercept = _number(plain["intercept"], "intercept")
    return Formula(bins, intercept, terms=tuple(terms), pairs=tuple(pairs), loss=loss, triples=triples,
                   classes=classes, given=given)  # fmt: skip


def _read_part_table(plain: dict[str, Any], bins: tuple[Bins, ...]) -> PartTable:
    """Return a checked table of parts."""
    features = tuple(_place(place, len(bins)) for place in plain["features"])
    name = " x ".join(bins[j].feature.name for j in features)
    parts = [_whole(part, f"parts of {name}") for part in plain["parts"]]
    fine = len(parts) == len(features) == 3 and all(
        part.shape == (bins[j].size,) and part.min() >= 0 for part, j in zip(parts, features, strict=True)
    )
    scores = np.array(plain["scores"], np.float64)
    if not fine or scores.ndim != len(features):
        raise ScoringError(f"The parts of {name} do not match its features: the JSON is damaged.")
    scores = _table(plain["scores"], scores.shape, name)
    if any(part.max() >= side for part, side in zip(parts, scores.shape, strict=True)):
        raise ScoringError(f"The parts of {name} do not match its scores: the JSON is damaged.")
    codes = tuple(part.astype(np.uint16) for part in parts)
    return PartTable(features, codes, scores)


def _tasks(plain: dict[str, Any]) -> TaskFormula:
    trees, refits = plain["trees"], plain["refits"]
    n = len(trees["feature"])
    left = np.zeros((n, N_BYTES), np.uint8)
    for k, text in enumerate(trees["left"]):
        if text:
            left[k] = np.frombuffer(bytes.fromhex(text), np.uint8)
    nothing = np.zeros(n)
    forest = Trees(
        feature=_whole(trees["feature"], "features of trees").astype(np.int32),
        child=_whole(trees["child"], "children").astype(np.int32),
        left=left,
        value=_table(trees["value"], (n,), "leaves"),
        weight=nothing,
        gain=nothing,
        ends=_whole(trees["ends"], "ends of trees"),
    )
    bins = tuple(_bins(feature) for feature in plain["features"])
    owned = np.array(plain["owned"], np.bool_).reshape(len(plain["tasks"]), len(bins))
    _check_trees(forest, len(bins) + 1)
    model = TaskModel(
        bins=bins,
        tasks=read_labels(plain["tasks"], "tasks"),
        aliases=_aliases(plain["aliases"]),
        task_codes=_whole(plain["task_codes"], "codes of tasks"),
        owned=owned,
        common=np.ones(len(bins), np.bool_),
        forest=Forest(forest),
        base_scores=np.array([_number(refit["base"], "base") for refit in refits]),
        common_trees=_whole([refit["first_tree"] for refit in refits], "first trees"),
        quits=_whole([refit["keeps"] for refit in refits], "rounds"),
        own_trees=_whole([refit["own_trees"] for refit in refits], "own trees"),
        means=np.zeros((len(refits), len(plain["tasks"]) + 1)),
        counts=(),
        loss=LOSSES[plain["loss"]],
        additive=False,
    )
    if model.task_codes.shape != (len(model.tasks),) or not ((model.task_codes > 0) & (model.task_codes < 255)).all():
        raise ScoringError("The codes of the tasks in the model's JSON do not match them: it is damaged.")
    for k in range(model.n_refits):
        for t in range(-1, len(model.tasks)):
            if any(not 0 <= first <= last <= model.forest.n_trees for first, last in model.ranges(k, t)):
                raise ScoringError("The model's JSON names trees that do not exist: it is damaged.")
    return TaskFormula(model, _classes(plain), _unit(plain))


def _classes(plain: dict[str, Any], several: bool = False) -> tuple[str | int | float | bool, ...]:
    return read_classes(plain["classes"], LOSSES[plain["loss"]].kind, several)


def _aliases(entry: Any) -> dict[str, str]:
    if not isinstance(entry, dict) or not all(isinstance(name, str) for name in entry.values()):
        raise ScoringError("The aliases of the model's JSON are not names: it is damaged.")
    return dict(entry)


def _check_trees(trees: Trees, n_features: int) -> None:
    """Raise ScoringError for trees that a walk would leave, or in which it would never end: kernels do not check."""
    n = trees.feature.size
    sizes = [trees.child.size, trees.value.size, len(trees.left)]
    whole = trees.ends.size and trees.ends[0] == 0 and trees.ends[-1] == n and bool((np.diff(trees.ends) > 0).all())
    if any(size != n for size in sizes) or not whole or not np.isfinite(trees.value).all():
        raise ScoringError("The trees of the model's JSON do not fit together: it is damaged.")
    ends = np.repeat(trees.ends[1:], np.diff(trees.ends))
    split = trees.feature >= 0
    child = trees.child[split]
    if ((child <= np.flatnonzero(split)) | (child + 1 >= ends[split])).any() or (trees.feature >= n_features).any():
        raise ScoringError("A tree of the model's JSON points outside itself: it is damaged.")


READERS: Final[dict[str, Callable[[dict[str, Any]], AnyFormula]]] = {
    "additive": _additive,
    "classes": _several,
    "tasks": _tasks,
}
"""By the kind of model."""
