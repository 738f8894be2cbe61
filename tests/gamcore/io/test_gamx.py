"""Model files: a bitwise round trip, and only ModelFileError from anything else."""

from __future__ import annotations

import contextlib
import io
import os
import random
import zipfile

import numpy as np
import pandas as pd
import pytest

from gamcore import GAMClassifier, GAMRegressor, ModelFileError, load_model
from gamcore.estimators.base import to_saved
from gamcore.io.gamx import from_bytes, to_bytes
from gamcore.io.manifest import MEMBERS, PAIR_MEMBERS
from tests.support.fits import friendly
from tests.support.model_files import array_of, put, rewrite


@pytest.fixture(scope="module")
def trained():
    X, y = friendly(600)
    X["d"] = pd.date_range("2024-01-01", periods=600)
    X["none"] = np.nan
    pairs = [("c", "a"), ("a", "d")]
    return X, GAMClassifier(outer_bags=3, max_rounds=20, date_parts=True, interactions=pairs, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def data(trained):
    return to_bytes(to_saved(trained[1]))


@pytest.mark.parametrize("binary", [True, False])
def test_save_load_predict_to_the_bit(binary, tmp_path):
    X, y = friendly(500, binary=binary)
    kind = GAMClassifier if binary else GAMRegressor
    model = kind(outer_bags=2, max_rounds=20, random_state=0).fit(X, y)
    model.save(tmp_path / "m.gamx")
    loaded = load_model(tmp_path / "m.gamx")
    hard = pd.concat([X, pd.DataFrame({"a": [np.nan, 1e300, -1e300], "b": [np.nan] * 3, "c": ["new", None, "p"]})])
    np.testing.assert_array_equal(
        loaded.model_.predict(loaded._encode(hard)), model.model_.predict(model._encode(hard))
    )
    assert loaded.get_params() == model.get_params()
    assert loaded.n_features_in_ == 3
    np.testing.assert_array_equal(loaded.feature_names_in_, model.feature_names_in_)
    if binary:
        np.testing.assert_array_equal(loaded.predict(hard), model.predict(hard))
    pd.testing.assert_frame_equal(loaded.explain_shape("c").frame(), model.explain_shape("c").frame())


def test_the_same_model_gives_the_same_bytes(trained, data):
    assert to_bytes(to_saved(trained[1])) == data
    assert to_bytes(from_bytes(data)) == data


def test_a_file_keeps_which_values_stand_for_no_amount():
    X, y = friendly(600)
    X.loc[::9, "b"] = 999.0
    model = GAMClassifier(outer_bags=1, max_rounds=3, random_state=0).fit(X, y)
    data = to_bytes(to_saved(model))
    kept = {bins.feature.name: bins.sentinels for bins in from_bytes(data).model.bins}
    assert kept == {"a": (), "b": (999.0,), "c": ()}
    for wrong in ([999.0], {"b": 999.0}, {"b": ["999"]}, {"c": [1.0]}):
        with pytest.raises(ModelFileError, match="sentinels"):
            from_bytes(rewrite(data, put(["sentinels"], wrong)))


def test_nothing_is_left_of_a_failed_save(trained, tmp_path, monkeypatch):
    (tmp_path / "m.gamx").write_bytes(b"before")
    monkeypatch.setattr("os.fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space"):
        trained[1].save(tmp_path / "m.gamx")
    assert [p.name for p in tmp_path.iterdir()] == ["m.gamx"]
    assert (tmp_path / "m.gamx").read_bytes() == b"before"


def test_a_missing_file_is_a_model_file_error(tmp_path):
    with pytest.raises(ModelFileError, match="cannot be read"):
        load_model(tmp_path / "none.gamx")


HOSTILE = [
    put(["format"], "other"),
    put(["schema"], [2, 0]),
    put(["schema"], "1.0"),
    put(["schema"], [True, 0]),
    put(["kind"], "regressor"),
    put(["kind"], "os.system"),
    put(["loss"], "__import__"),
    put(["classes"], [0]),
    put(["classes"], [[0], [1]]),
    put(["features"], []),
    put(["features", 0, "n_cuts"], -1),
    put(["features", 0, "n_cuts"], 10**12),
    put(["features", 0, "n_cuts"], 1.0),
    put(["features", 0, "kind"], "category"),
    put(["features", 0, "kind"], "complex"),
    put(["features", 0, "range"], []),
    put(["features", 0, "range"], ["a", "b"]),
    put(["features", 0, "name"], 7),
    put(["features", 0, "name"], "b"),
    put(["features", 2, "levels"], ["p", "p"]),
    put(["features", 2, "levels"], [str(k) for k in range(300)]),
    put(["features", 4, "levels"], ["Jan"]),
    put(["features", 2, "pooled"], "abc"),
    put(["features", 3, "part"], "weekday"),
    put(["features", 0, "part"], "month"),
    put(["features", 0, "range"], [5, -5]),
    put(["features", 3, "range"], [0, 1e20]),
    put(["classes"], [1, 1]),
    put(["terms", 0, "feature"], 999),
    put(["terms", 0, "feature"], -1),
    put(["pairs"], []),
    put(["pairs"], {}),
    put(["pairs", 0, "features"], [0, 0]),
    put(["pairs", 0, "features"], [2, 0]),
    put(["pairs", 0, "features"], [0, 999]),
    put(["pairs", 0, "features"], [0, 1.0]),
    put(["pairs", 0, "features"], [0, 3]),
    put(["pairs", 0, "pure"], 1),
    put(["members", "arrays/scores.npy", "sha256"], "0" * 64),
    put(["members", "arrays/scores.npy", "bytes"], 3),
    put(["members"], {}),
    put(["about"], []),
]


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_a_manifest_that_does_not_fit_is_refused(data, number):
    with pytest.raises(ModelFileError):
        from_bytes(rewrite(data, HOSTILE[number]))


def test_a_true_rewrite_is_read(data):
    assert from_bytes(rewrite(data)).model.intercept == from_bytes(data).model.intercept


@pytest.mark.parametrize("name", [*MEMBERS, *PAIR_MEMBERS])
@pytest.mark.parametrize("damage", ["nan", "longer", "shorter", "float32", "object", "empty", "minus"])
def test_arrays_that_do_not_fit_are_refused(data, name, damage):
    array = array_of(data, name)
    if damage == "nan":
        array = array.copy()
        array.flat[0] = np.nan
    elif name == "cells" and damage in ("shorter", "empty"):
        return  # fewer cells with rows
    elif damage == "minus":
        array = array[..., ::-1] if name == "edges" else -1 - np.abs(array)
        if name in ("display", "scores", "intercepts", "surfaces", "effects"):
            return  # any finite number is a legal score
    elif damage == "object":
        with pytest.raises(ModelFileError):
            from_bytes(rewrite(data, arrays=None, extra={f"arrays/{name}.npy": b"\x93NUMPY\x01\x00pickle"}))
        return
    else:
        array = {
            "longer": np.concatenate([array, array], axis=-1), "shorter": array[..., :-1],
            "float32": array.astype(np.float32), "empty": array[..., :0],
        }[damage]  # fmt: skip
    with pytest.raises(ModelFileError):
        from_bytes(rewrite(data, arrays={name: array}))


def test_members_that_do_not_belong_are_refused(data):
    with pytest.raises(ModelFileError):
        from_bytes(rewrite(data, extra={"../evil": b"x"}))
    with pytest.raises(ModelFileError):
        from_bytes(rewrite(data, keep=lambda name: "scores" not in name))


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a": NaN}', '{"format": 1, "format": 2}', "9" * 10_000, "null", '{"a": 1e999}', "\x00"]
)
def test_hostile_json_is_refused(data, text):
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w") as archive:
        archive.writestr("manifest.json", text)
        for name in source.namelist()[1:]:
            archive.writestr(name, source.read(name))
    with pytest.raises(ModelFileError):
        from_bytes(out.getvalue())


def test_a_bomb_is_refused_before_it_is_unpacked(data):
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in source.namelist():
            archive.writestr(name, b"\0" * 10**7 if "scores" in name else source.read(name))
    with pytest.raises(ModelFileError, match="expands"):
        from_bytes(out.getvalue())


def test_mutants_raise_nothing_else(data):
    """Files with bytes flipped, cut or repeated are refused or, if only unread padding changed, give the same model."""
    rng = random.Random(0)
    for _ in range(300):
        mutant = bytearray(data)
        for _ in range(rng.choice([1, 1, 4, 40])):
            mutant[rng.randrange(len(mutant))] = rng.randrange(256)
        if rng.random() < 0.3:
            del mutant[rng.randrange(len(mutant)) :]
        with contextlib.suppress(ModelFileError):
            from_bytes(bytes(mutant))


@pytest.mark.parametrize("told", [["x"], [[1], [1, 2]], [10**30], [{}], "abc", None, [True]])
def test_what_a_file_says_beside_the_model_is_not_trusted(data, tmp_path, told):
    (tmp_path / "m.gamx").write_bytes(rewrite(data, put(["about", "best_rounds"], told)))
    assert load_model(tmp_path / "m.gamx").best_rounds_.size == 0


def test_threads_save_to_one_path(trained, tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: trained[1].save(tmp_path / "m.gamx"), range(40)))
    assert [p.name for p in tmp_path.iterdir()] == ["m.gamx"]
    load_model(tmp_path / "m.gamx")


def test_a_forged_size_is_noticed_while_unpacking(data):
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in source.namelist():
            archive.writestr(name, source.read(name) + b"\0" * (3_000_000 if "counts" in name else 0))
    forged = bytearray(out.getvalue())
    place = forged.rfind(b"arrays/counts.npy") - 46  # the entry in the central directory
    forged[place + 24 : place + 28] = (100).to_bytes(4, "little")
    with pytest.raises(ModelFileError):
        from_bytes(bytes(forged))


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [("merges", 0, 64.0), ("merges", 0, 0.5), ("cells", 0, -1.0), ("cells", 0, 0.5), ("cells", 1, 0.0)],
)
def test_pairs_that_lead_beyond_their_surfaces_are_refused(data, name, place, value):
    array = array_of(data, name).copy()
    array[0, place] = value
    with pytest.raises(ModelFileError):
        from_bytes(rewrite(data, arrays={name: array}))
    far = array_of(data, "cells").copy()
    far[0, -1] = 1e9
    with pytest.raises(ModelFileError):
        from_bytes(rewrite(data, arrays={"cells": far}))


def test_a_model_larger_than_a_file_may_be_is_not_written(trained, tmp_path, monkeypatch):
    monkeypatch.setattr("gamcore.io.gamx.MAX_FILE", 1000)
    with pytest.raises(ModelFileError, match="fewer pairs"):
        trained[1].save(tmp_path / "m.gamx")
    assert list(tmp_path.iterdir()) == []


def test_pairs_and_their_history_come_back(trained, data, tmp_path):
    (tmp_path / "m.gamx").write_bytes(data)
    loaded = load_model(tmp_path / "m.gamx")
    X, model = trained
    assert loaded.interactions == [["c", "a"], ["a", "d"]]
    np.testing.assert_array_equal(loaded.pair_path_, model.pair_path_)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    for one, other in zip(loaded.model_.pairs, model.model_.pairs, strict=True):
        np.testing.assert_array_equal(one.scores, other.scores)
        np.testing.assert_array_equal(one.counts, other.counts)
    assert loaded.set_params(outer_bags=1).fit(X, model.predict(X)).model_.pairs[0].features == (0, 2)


def test_a_parameter_that_is_none_comes_back_as_none(tmp_path):
    X, y = friendly(200)
    GAMRegressor(coarse_leaves=None, outer_bags=1, max_rounds=3).fit(X, y).save(tmp_path / "m.gamx")
    assert load_model(tmp_path / "m.gamx").coarse_leaves is None


def test_parameters_come_back_as_plain_values(tmp_path):
    X, y = friendly(200)
    model = GAMClassifier(n_bags=np.int64(3), categorical_features=["b"], outer_bags=1, max_rounds=3).fit(X, y)
    model.save(tmp_path / "m.gamx")
    loaded = load_model(tmp_path / "m.gamx")
    assert loaded.n_bags == 3
    assert loaded.categorical_features == ["b"]
    np.testing.assert_array_equal(loaded.validation_losses_, model.validation_losses_)


def test_what_is_no_plain_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.gamx")
    for path in (tmp_path / "pipe.gamx", "/dev/zero", tmp_path):
        with pytest.raises(ModelFileError, match="not a regular file"):
            load_model(path)
