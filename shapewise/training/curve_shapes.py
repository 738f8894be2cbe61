"""How the curves of a specification are learnt: as steps, smooth, around a cycle, straight, or as shrunken levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from gamcore.data.column_names import AS_THEY_ARE, Names
from gamcore.model.shapes import Shape
from shapewise.training.by_feature import SHAPES, values_of, with_values
from shapewise.training.spec import Spec

OF_NUMBERS: Final[tuple[Shape, ...]] = ("steps", "smooth", "cyclic", "linear")
OF_PARTS: Final[tuple[Shape, ...]] = ("steps", "cyclic", "levels")
OF_CATEGORIES: Final[tuple[Shape, ...]] = ("steps", "levels")
WORDS: Final[dict[Shape, str]] = {
    "smooth": "smooth in", "cyclic": "cyclic in", "linear": "straight in", "levels": "drawn to the mean in",
}  # fmt: skip


def of_each(spec: Spec, categories: Mapping[str, bool]) -> dict[str, Shape]:
    """Return how the curve of each feature is learnt, those of steps left out. categories : whether it has levels."""
    wanted = spec.parameters().get(SHAPES)
    if isinstance(wanted, str):
        wanted = {name: "levels" if has else wanted for name, has in categories.items()} if wanted != "steps" else {}
    return {name: shape for name, shape in (wanted or {}).items() if shape != "steps"}


def reshaped(spec: Spec, feature: str, shape: Shape, categories: Mapping[str, bool]) -> Spec:
    """Return the specification with another shape for the curve of a feature."""
    shapes = of_each(spec, categories) | {feature: shape}
    kept = {name: chosen for name, chosen in shapes.items() if chosen != "steps"}
    changes = with_values(spec.changes, SHAPES, kept)
    return replace(spec, changes=changes if kept or not spec.parameters().get(SHAPES) else changes | {SHAPES: "steps"})


def words(changes: dict[str, Any], names: Names = AS_THEY_ARE) -> str:
    """Return the chosen shapes in words; empty if there are none."""
    if isinstance(changes.get(SHAPES), str):
        return f"all curves {changes[SHAPES]}"
    chosen = values_of(changes, SHAPES)
    parts = {shape: [names.term(feature) for feature in chosen if chosen[feature] == shape] for shape in WORDS}
    return "; ".join(f"{WORDS[shape]} {', '.join(features)}" for shape, features in parts.items() if features)
