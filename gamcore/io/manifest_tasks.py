"""Conversion of multi-task trees to a file's manifest and arrays, and back, with every index checked."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gamcore.common.numbers import count
from gamcore.data.binning import Bins
from gamcore.io.checks import ModelFileError, integers, require, require_within, split, whole_numbers
from gamcore.io.manifest import (
    MAX_COUNT,
    MAX_REFITS,
    MAX_SCORE,
    Saved,
    loss_entry,
    read_about,
    read_classes,
    read_labels,
    read_loss,
)
from gamcore.io.manifest_bins import beside_arrays, beside_entry, bins_entry, describe, edge_arrays, read_bins
from gamcore.kernels import N_CODES
from gamcore.kernels.tree_predict import N_BYTES, Trees
from gamcore.multitask.model import TaskModel
from gamcore.multitask.trees import Forest

Arrays = dict[str, NDArray[Any]]

TASK_MEMBERS: Final = ("edges", "display", "rows", "nodes", "ends", "left", "refits")
BYTE_MEMBERS: Final = ("left",)
NODE_BYTES: Final = 72
MAX_NODES: Final = 512 * 2**20 // NODE_BYTES
"""Most nodes that fit into a file."""


def task_arrays(model: TaskModel) -> Arrays:
    """Return the arrays of a model."""
    trees = model.forest.trees
    if trees.feature.size > MAX_NODES:
        raise ModelFileError(
            f"The model has {count(trees.feature.size)} nodes, more than a file can hold: use fewer rounds."
        )
    columns = [model.base_scores[:, None], model.common_trees[:, None], model.quits, model.own_trees, model.means]
    return {
        **edge_arrays(model.bins),
        **beside_arrays(model.bins),
        "rows": np.concatenate(model.counts, axis=1),
        "nodes": np.stack([trees.feature, trees.child, trees.value, trees.weight, trees.gain]).astype(np.float64),
        "ends": trees.ends.astype(np.float64),
        "left": trees.left,
        "refits": np.concatenate(columns, axis=1).astype(np.float64),
    }


def task_manifest(saved: Saved, model: TaskModel) -> dict[str, Any]:
    """Return the manifest's entries for a model."""
    return {
        "kind": saved.kind,
        "loss": model.loss.name,
        **loss_entry(model.loss),
        "classes": list(saved.classes),
        "features": [describe(bins) for bins in model.bins],
        "tasks": list(model.tasks),
        "task_codes": model.task_codes.tolist(),
        "owned": ["".join("01"[int(own)] for own in line) for line in model.owned],
        "common": "".join("01"[int(shared)] for shared in model.common),
        "aliases": model.aliases,
        "additive": model.additive,
        "about": saved.about,
        **bins_entry(model.bins),
        **beside_entry(model.bins),
    }


def build_tasks(manifest: dict[str, Any], arrays: Arrays) -> Saved:
    """Return a checked model from a manifest and arrays: no code or node points outside."""
    bins = read_bins(manifest, arrays)
    require(max(of_feature.size for of_feature in bins) < N_CODES, "a feature has no code left for absent values")
    kind, loss = manifest["kind"], read_loss(manifest)
    require(loss.has_trees and kind == f"multitask_{loss.kind}", "kind and loss do not match")
    classes = read_classes(manifest["classes"], kind)
    tasks = read_labels(manifest["tasks"], "tasks")
    require(bool(tasks) and len({str(task) for task in tasks}) == len(tasks), "tasks have no names of their own")
    require(type(manifest["additive"]) is bool, "it does not say whether it is additive")
    require(all(bool(np.all(np.isfinite(array))) for array in arrays.values()), "a number is not finite")
    trees = _read_trees(arrays, len(bins) + 1)
    require(not manifest["additive"] or _one_feature_each(trees), "a tree of an additive model has several features")
    base_scores, common_trees, quits, own_trees, means = _read_refits(arrays["refits"], len(tasks), trees.ends.size - 1)
    owned = np.stack([_read_flags(line, len(bins)) for line in _a_list(manifest["owned"], len(tasks))])
    model = TaskModel(
        bins=bins,
        tasks=tasks,
        aliases=_read_aliases(manifest["aliases"]),
        task_codes=_read_codes(manifest["task_codes"], len(tasks)),
        owned=owned,
        common=_read_flags(manifest["common"], len(bins)),
        forest=Forest(trees),
        base_scores=base_scores,
        common_trees=common_trees,
        quits=quits,
        own_trees=own_trees,
        means=means,
        counts=_read_counts(arrays["rows"], bins, len(tasks)),
        loss=loss,
        additive=manifest["additive"],
    )
    return Saved(kind, model, classes, read_about(manifest))


def _a_list(entries: Any, size: int) -> list[Any]:
    require(isinstance(entries, list) and len(entries) == size, "a list does not match the tasks")
    return list(entries)


def _read_flags(flags: Any, size: int) -> NDArray[np.bool_]:
    require(isinstance(flags, str) and len(flags) == size and set(flags) <= {"0", "1"}, "flags do not match features")
    return np.array([flag == "1" for flag in flags], np.bool_)


def _read_aliases(entry: Any) -> dict[str, str]:
    fine = isinstance(entry, dict) and all(isinstance(text, str) for text in (*entry, *entry.values()))
    require(fine, "aliases are not strings")
    return dict(entry)


def _read_codes(entries: Any, n_tasks: int) -> NDArray[np.int64]:
    return np.array(integers(_a_list(entries, n_tasks), 1, N_CODES - 2, "a task's code is out of range"), np.int64)


def _read_counts(rows: NDArray[np.float64], bins: tuple[Bins, ...], n_tasks: int) -> tuple[NDArray[np.float64], ...]:
    widths = [of_feature.size + 1 for of_feature in bins]
    require(rows.shape == (n_tasks, sum(widths)), "rows do not match bins")
    require_within(rows, 0, MAX_COUNT, "a count")
    return tuple(split(rows, widths))


def _read_trees(arrays: Arrays, n_features: int) -> Trees:
    """Return checked trees: each node but a root has one parent, earlier in the same tree, so every walk ends."""
    nodes, left = arrays["nodes"], arrays["left"]
    require(nodes.shape[0] == 5 and left.shape == (nodes.shape[1], N_BYTES), "nodes do not match")
    n = nodes.shape[1]
    require(n <= MAX_NODES, "it has too many nodes")
    feature = whole_numbers(nodes[0], -1, n_features - 1, "a split's feature")
    child = whole_numbers(nodes[1], 0, max(n - 1, 0), "a child")
    ends = whole_numbers(arrays["ends"], 0, n, "a tree")
    require(
        bool(ends.size and ends[0] == 0 and ends[-1] == n and np.all(np.diff(ends) > 0)), "trees do not match nodes"
    )
    split = np.flatnonzero(feature >= 0)
    last = np.repeat(ends[1:], np.diff(ends))[split]  # one past the end of each split's tree
    require(bool(np.all((child[split] > split) & (child[split] + 1 < last))), "a child is not in its tree")
    parents = np.zeros(n, np.int64)
    np.add.at(parents, child[split], 1)
    np.add.at(parents, child[split] + 1, 1)
    expected = np.ones(n, np.int64)
    expected[ends[:-1]] = 0
    require(bool(np.all(parents == expected)), "a node has no parent, or several")
    value, weight, gain = nodes[2], nodes[3], nodes[4]
    require_within(value, -MAX_SCORE, MAX_SCORE, "a score")
    require_within(weight, 0, MAX_COUNT, "a count")
    return Trees(
        feature=feature.astype(np.int32),
        child=child.astype(np.int32),
        left=left,
        value=value.copy(),
        weight=weight.copy(),
        gain=gain.copy(),
        ends=ends,
    )


def _one_feature_each(trees: Trees) -> bool:
    """Return whether all splits of each tree are on its root's feature."""
    root = np.repeat(trees.feature[trees.ends[:-1]], np.diff(trees.ends))
    return bool(np.all((trees.feature == root) | (trees.feature < 0)))


def _read_refits(refits: NDArray[np.float64], n_tasks: int, n_trees: int) -> tuple[NDArray[Any], ...]:
    """Return base scores, first common trees, quits, own trees and means of the refits; every range of trees exists."""
    require(0 < refits.shape[0] <= MAX_REFITS and refits.shape[1] == 2 + 3 * (n_tasks + 1), "refits do not match")
    base, (kept, ranges, means) = refits[:, 0], np.split(refits[:, 2:], 3, axis=1)
    first = whole_numbers(refits[:, 1], 0, n_trees, "a refit's first tree")
    quits, own = whole_numbers(kept, 0, n_trees, "a round"), whole_numbers(ranges, 0, n_trees, "a task's trees")
    require(bool(np.all(np.diff(own, axis=1) >= 0)), "a task's trees end before they begin")
    require(bool(np.all(first[:, None] + quits <= own[:, :1])), "a round is out of range")
    require_within(refits, -MAX_SCORE, MAX_SCORE, "a score")
    return base.copy(), first, quits, own, means.copy()
