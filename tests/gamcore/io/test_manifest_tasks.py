"""Files of multi-task trees: a bitwise round trip, and only ModelFileError from anything else."""

from __future__ import annotations

import contextlib

import numpy as np
import pandas as pd
import pytest

from gamcore import ModelFileError, MultiTaskTreesClassifier
from gamcore.estimators.base import to_saved
from gamcore.estimators.saved import from_saved
from gamcore.io.gamx import from_bytes, to_bytes
from gamcore.io.manifest_tasks import TASK_MEMBERS
from tests.support.fits import two_tasks
from tests.support.model_files import array_of, put, rewrite


@pytest.fixture(scope="module")
def trained():
    X, y, task = two_tasks()
    model = MultiTaskTreesClassifier(outer_bags=2, max_rounds=12, additive=True, random_state=0)
    return model.fit(X, y > 0.5, task=task)


@pytest.fixture(scope="module")
def data(trained):
    return to_bytes(to_saved(trained))


def test_the_same_model_gives_the_same_bytes(trained, data):
    assert to_bytes(to_saved(trained)) == data
    assert to_bytes(from_bytes(data)) == data
    assert to_bytes(from_bytes(rewrite(data))) == data


HOSTILE = [
    put(["kind"], "classifier"),
    put(["kind"], "multitask_regressor"),
    put(["loss"], "squared"),
    put(["classes"], []),
    put(["classes"], [1, 1]),
    put(["tasks"], []),
    put(["tasks"], ["a", "a"]),
    put(["tasks"], ["a"]),
    put(["tasks"], [["a"], "b"]),
    put(["task_codes"], [1]),
    put(["task_codes"], [1, 0]),
    put(["task_codes"], [1, 255]),
    put(["task_codes"], [1, 2.0]),
    put(["owned"], ["1111"]),
    put(["owned"], ["1111", "11"]),
    put(["owned"], ["1111", "11x1"]),
    put(["owned"], [[1, 1, 1, 1], "1111"]),
    put(["common"], "11"),
    put(["common"], None),
    put(["aliases"], []),
    put(["aliases"], {"a": 1}),
    put(["additive"], 1),
    put(["features"], []),
    put(["features", 0, "n_cuts"], 3),
    put(["schema"], [2, 0]),
    put(["about"], []),
]


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_a_manifest_that_does_not_fit_is_refused(data, number):
    with pytest.raises(ModelFileError):
        from_bytes(rewrite(data, HOSTILE[number]))


def changed(array, place, value):
    array = array.copy()
    array[place] = value
    return array


def split_of(data):
    """Return a split node and a leaf."""
    feature = array_of(data, "nodes")[0]
    return int(np.flatnonzero(feature >= 0)[1]), int(np.flatnonzero(feature < 0)[0])


FEATURE, CHILD, VALUE, WEIGHT, GAIN = range(5)


@pytest.mark.parametrize(
    ("row", "at", "value"),
    [
        (FEATURE, "split", 5), (FEATURE, "split", -2), (FEATURE, "split", 0.5), (FEATURE, "split", -1),
        (FEATURE, "leaf", 0), (CHILD, "split", 0), (CHILD, "split", 1e9), (CHILD, "split", -1), (CHILD, "split", 1.5),
        (VALUE, "leaf", np.nan), (VALUE, "leaf", 1e250), (WEIGHT, "leaf", -1), (WEIGHT, "leaf", 1e20),
        (GAIN, "split", np.inf),
    ],
)  # fmt: skip
def test_nodes_that_lead_astray_are_refused(data, row, at, value):
    split, leaf = split_of(data)
    nodes = changed(array_of(data, "nodes"), (row, split if at == "split" else leaf), value)
    with pytest.raises(ModelFileError):
        from_bytes(rewrite(data, arrays={"nodes": nodes}))


def test_a_child_of_another_tree_or_of_two_parents_is_refused(data):
    nodes, ends = array_of(data, "nodes"), array_of(data, "ends").astype(int)
    splits = np.flatnonzero(nodes[FEATURE] >= 0)
    with pytest.raises(ModelFileError, match="child is not in its tree"):
        from_bytes(rewrite(data, arrays={"nodes": changed(nodes, (CHILD, splits[0]), ends[1])}))
    inside = [node for node in splits if node < ends[1]]
    twice = changed(nodes, (CHILD, inside[0]), nodes[CHILD, inside[1]])
    with pytest.raises(ModelFileError, match="no parent, or several"):
        from_bytes(rewrite(data, arrays={"nodes": twice}))
    other = changed(nodes, (FEATURE, inside[1]), (nodes[FEATURE, inside[1]] + 1) % 4)
    with pytest.raises(ModelFileError, match="several features"):
        from_bytes(rewrite(data, arrays={"nodes": other}))


@pytest.mark.parametrize(
    ("place", "value"),
    [((0, 1), -1), ((0, 1), 1e6), ((0, 2), -1), ((0, 2), 1e5), ((0, 3), 0.5), ((0, 5), 0), ((0, 6), 1e6),
     ((1, 7), 0), ((0, 0), np.nan), ((0, 9), 1e250)],
)  # fmt: skip
def test_ranges_of_trees_that_do_not_exist_are_refused(data, place, value):
    with pytest.raises(ModelFileError):
        from_bytes(rewrite(data, arrays={"refits": changed(array_of(data, "refits"), place, value)}))


@pytest.mark.parametrize("name", TASK_MEMBERS)
@pytest.mark.parametrize("damage", ["longer", "shorter", "other type", "empty"])
def test_arrays_that_do_not_fit_are_refused(data, name, damage):
    array = array_of(data, name)
    broken = {
        "longer": np.concatenate([array, array], axis=-1), "shorter": array[..., :-1],
        "other type": array.astype(np.float32), "empty": array[..., :0],
    }[damage]  # fmt: skip
    with pytest.raises(ModelFileError):
        from_bytes(rewrite(data, arrays={name: broken}))


@pytest.mark.slow
def test_mutants_are_read_or_refused_and_never_crash(data):
    """Any byte of a file may change; a file that is still read predicts finite numbers."""
    rng = np.random.default_rng(0)
    names = ("nodes", "ends", "refits", "rows")
    for _ in range(200):
        name = names[rng.integers(len(names))]
        array = array_of(data, name)
        place = tuple(rng.integers(side) for side in array.shape)
        broken = rewrite(data, arrays={name: changed(array, place, float(rng.choice([-1, 0, 1, 2, 3, 7, 1e3, 0.5])))})
        with contextlib.suppress(ModelFileError):
            model = from_bytes(broken).model
            codes = np.full((len(model.bins) + 1, 30), 255, np.uint8)
            codes[:] = rng.integers(0, 256, codes.shape)
            assert np.isfinite(model.predict(codes, rng.integers(-1, 2, 30))).all()
            model.curve(0, 0)


def test_a_file_reads_and_words_columns_as_the_model_does():
    """Times with a zone are moments, and words of curves name values beside cuts: both are in the file."""
    X, y, task = two_tasks()
    X["when"] = pd.date_range("2024-01-01", periods=len(X), freq="7h", tz="Europe/Berlin")
    model = MultiTaskTreesClassifier(outer_bags=2, max_rounds=12, random_state=0).fit(X, y > 0.5, task=task)
    loaded = from_saved(from_bytes(to_bytes(to_saved(model))))
    np.testing.assert_array_equal(loaded.predict_proba(X, task), model.predict_proba(X, task))
    for kept, own in zip(loaded.model_.bins, model.model_.bins, strict=True):
        assert kept.feature == own.feature
        np.testing.assert_array_equal(kept.beside, own.beside)
