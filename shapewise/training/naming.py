"""Names of models: what each predicts, and what tells it from those beside it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, Final

from gamcore.common.numbers import exact
from gamcore.data.column_names import AS_THEY_ARE, Names
from gamcore.estimators.additive_parameters import GREEDY, AdditiveParameters
from gamcore.estimators.multitask_parameters import MultiTaskParameters
from gamcore.estimators.parameters import inputs
from shapewise.store.projects import Project
from shapewise.store.workspace import ModelAbout
from shapewise.training import chosen_bins
from shapewise.training.by_feature import MONOTONE, SHAPES, words
from shapewise.training.spec import Spec

MOST_NAMED: Final = 2
"""Features or settings that a label names; more are counted."""


def labels(project: Project) -> dict[str, str]:
    """Return a label of each model of a project by id: its name, and what differs among models of that name, as in
    "default · + 7 pairs" or "default · without income". Columns are called as in the model's version of the table."""
    together: dict[tuple[str, bool], list[ModelAbout]] = defaultdict(list)
    for model in project.models:
        together[model.name, model.of_tasks].append(model)
    by_model: dict[str, str] = {}
    for (name, _), alike in together.items():
        differences = _differences(alike, project) if len(alike) > 1 else {}
        by_model |= {model.id: " · ".join([name, *differences.get(model.id, [])]) for model in alike}
    return _told_apart(project.models, by_model)


def _differences(models: list[ModelAbout], project: Project) -> dict[str, list[str]]:
    """Return the words on each of some models for every aspect in which they are not all alike."""
    specs = {model.id: Spec.from_dict(model.spec) for model in models if model.spec}
    shown = {table.id: Names.from_dict(table.names) for table in project.tables}
    names = {i: shown.get(spec.table, AS_THEY_ARE) for i, spec in specs.items()}
    every = dict.fromkeys(name for spec in specs.values() for name in spec.features)
    words: dict[str, list[str]] = {model.id: [] for model in models}
    aspects: list[dict[str, str]] = [
        {model.id: f"+ {model.n_pairs} pair{'s' * (model.n_pairs > 1)}" if model.n_pairs else "" for model in models},
        {i: _without(spec, list(every), names[i]) for i, spec in specs.items()},
        {i: f"only {spec.filter_words(names[i])}" if spec.conditions else "" for i, spec in specs.items()},
        {i: f"version {project.version(spec.table)}" for i, spec in specs.items() if project.version(spec.table)},
        {i: spec.preset for i, spec in specs.items()},
        {i: _changed(spec, names[i]) for i, spec in specs.items()},
    ]
    for aspect in aspects:
        if len(set(aspect.values())) > 1:
            for identifier, text in aspect.items():
                words[identifier] += [text] if text else []
    return words


def _without(spec: Spec, every: list[str], names: Names) -> str:
    """Return which features a model lacks that another has."""
    has = set(spec.features)
    lacking = [name for name in every if name not in has]
    if len(lacking) > len(every) / 2:
        return f"only {_some(list(map(names.term, spec.features)), 'features')}"
    return f"without {_some(list(map(names.term, lacking)), 'features')}" if lacking else ""


def _changed(spec: Spec, names: Names) -> str:
    """Return the settings that differ from the preset's, pairs aside: those are counted."""
    known = inputs(MultiTaskParameters if spec.kind == "tasks" else AdditiveParameters)
    parts = [f"{known[name].label.lower()} {_value(value)}" for name, value in spec.changes.items()
            if name in known and name != "interactions"]  # fmt: skip
    parts += ["triples"] if spec.changes.get("triples") else []
    parts += ["only features that beat chance"] if spec.changes.get("order") == GREEDY else []
    by_feature = (words(spec.changes, MONOTONE, names), words(spec.changes, SHAPES, names),
                  chosen_bins.words(spec.changes, names))  # fmt: skip
    parts += filter(None, by_feature)
    return _some(parts, "settings")


def _value(value: Any) -> str:
    return (
        "on" if value is True else "off" if value is False else exact(value) if isinstance(value, float) else str(value)
    )


def _some(names: list[str], what: str) -> str:
    return ", ".join(names) if len(names) <= MOST_NAMED else f"{len(names)} {what}"


def _told_apart(models: Sequence[ModelAbout], by_model: dict[str, str]) -> dict[str, str]:
    """Return the labels, equal ones numbered from the oldest on."""
    counts, seen = Counter(by_model.values()), Counter[str]()
    for model in reversed(models):
        label = by_model[model.id]
        seen[label] += 1
        if counts[label] > 1:
            by_model[model.id] = f"{label} · {seen[label]}"
    return by_model
