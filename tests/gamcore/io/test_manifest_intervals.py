"""Prediction intervals in files: checked number by number, and refused where anything is amiss."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from gamcore import GAMClassifier, GAMRegressor, ModelFileError, fit_intervals
from gamcore.estimators.base import to_saved
from gamcore.io.gamx import from_bytes, to_bytes
from gamcore.io.manifest_intervals import INTERVAL_MEMBERS
from gamcore.model.outcomes import Rows
from tests.support.fits import friendly
from tests.support.model_files import array_of, put, rewrite


@pytest.fixture(scope="module")
def data():
    X, y = friendly(700, binary=False)
    model = GAMRegressor(outer_bags=2, max_rounds=15, interactions=[("a", "b")], bands=10, random_state=0)
    return to_bytes(to_saved(fit_intervals(model.fit(X[:400], y[:400]), X[400:], y[400:])))


def test_the_same_model_gives_the_same_bytes(data):
    assert to_bytes(from_bytes(data)) == data
    assert from_bytes(rewrite(data)).model.intervals.scale.halves is None


def test_intervals_from_before_there_were_parts_are_read(data):
    def older(manifest):
        del manifest["intervals"]["support"], manifest["intervals"]["cuts"]

    rows = array_of(data, "calibration")
    old, new = (from_bytes(of).model for of in (rewrite(data, older, arrays={"calibration": rows[:2]}), data))
    codes = np.ones((len(new.bins), 1), np.uint8)
    ends = [of.intervals.around(Rows(of.predict(codes), codes), 0.8) for of in (old, new)]
    np.testing.assert_array_equal(*ends)


def test_a_model_without_intervals_is_written_as_before():
    X, y = friendly(300, binary=False)
    manifest = {}
    written = to_bytes(to_saved(GAMRegressor(outer_bags=1, max_rounds=5, random_state=0).fit(X, y)))
    rewrite(written, manifest.update)
    assert "intervals" not in manifest
    assert manifest["optional"] == ["arrays/beside.npy"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put(["intervals"], []), "not a table"),
        (put(["intervals"], None), "not a table"),
        (put(["intervals"], {}), "lacks 'loss'"),
        (put(["intervals", "loss"], "squared"), "may be negative"),
        (put(["intervals", "loss"], "logistic"), "may be negative"),
        (put(["intervals", "loss"], "gauss"), "its loss is unknown"),
        (put(["intervals", "loss"], "tweedie"), "has no parameters"),
        (put(["intervals", "base"], "1"), "base score is invalid"),
        (put(["intervals", "base"], 1e300), "base score is invalid"),
        (put(["intervals", "support"], None), "has no support"),
        (put(["intervals", "support"], {}), "has no support"),
        (put(["intervals", "support", "least"], "0"), "its support is invalid"),
        (put(["intervals", "support", "least"], 1e300), "its support is invalid"),
        (put(["intervals", "support", "whole"], 1), "its support is invalid"),
        (put(["intervals", "support", "has_masses"], None), "its support is invalid"),
        (put(["intervals", "support"], {"least": 2.0, "most": 1.0, "whole": False, "has_masses": True}), "is empty"),
        (put(["intervals", "cuts"], [2.0, 1.0]), "parts of its calibration do not ascend"),
        (put(["intervals", "cuts"], [2.0]), "its parts have no calibration rows"),
        (lambda manifest: manifest.pop("intervals"), "lacks 'intervals'"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(data, change, words):
    with pytest.raises(ModelFileError, match=words):
        from_bytes(rewrite(data, change))


def changed(array, place, value):
    array = array.copy()
    array[place] = value
    return array


@pytest.mark.parametrize(
    ("name", "place", "value", "words"),
    [
        ("scale_counts", 1, -1.0, "a count is out of range"),
        ("scale_counts", 1, 1e20, "a count is out of range"),
        ("scale_scores", (0, 0), 1e201, "a score is out of range"),
        ("scale_scores", (0, 0), np.nan, "not finite"),
        ("scale_intercepts", 0, -1e201, "a score is out of range"),
        ("calibration", (0, 5), 1e201, "do not ascend"),
        ("calibration", (0, -1), -1e9, "do not ascend"),
        ("calibration", (0, 0), np.inf, "not finite"),
        ("calibration", (1, 3), 0.0, "weight of a calibration row"),
        ("calibration", (1, 3), -0.5, "weight of a calibration row"),
        ("calibration", (1, 3), 1.5, "weight of a calibration row"),
        ("calibration", (2, 3), 1.0, "its parts have no calibration rows"),
    ],
)
def test_numbers_that_could_not_be_are_refused(data, name, place, value, words):
    with pytest.raises(ModelFileError, match=words):
        from_bytes(rewrite(data, arrays={name: changed(array_of(data, name), place, value)}))


@pytest.mark.parametrize("name", INTERVAL_MEMBERS)
@pytest.mark.parametrize("damage", ["longer", "other type", "empty", "another shape", "gone"])
def test_arrays_that_do_not_fit_are_refused(data, name, damage):
    array = array_of(data, name)
    if damage == "gone":
        broken = rewrite(data, keep=lambda member: name not in member)
    else:
        made = {"longer": np.concatenate([array, array], axis=-1), "other type": array.astype(np.float32),
                "empty": array[..., :0], "another shape": array[None]}[damage]  # fmt: skip
        broken = rewrite(data, arrays={name: made})
    with pytest.raises(ModelFileError):
        from_bytes(broken)


def test_the_support_of_counts_comes_back():
    X, y = friendly(900, binary=False)
    model = GAMRegressor(outer_bags=2, max_rounds=15, random_state=0)
    fit_intervals(model.fit(X[:400], np.floor(np.exp(y[:400]))), X[400:], np.floor(np.exp(y[400:])))
    written = to_bytes(to_saved(model))
    again = from_bytes(written).model.intervals
    assert to_bytes(from_bytes(written)) == written
    assert again.outcomes.support == model.model_.intervals.outcomes.support
    assert len(again.groups) == 2


def test_a_classifier_has_none(data):
    X, y = friendly(400)
    other = to_bytes(to_saved(GAMClassifier(outer_bags=2, max_rounds=5, random_state=0).fit(X, y)))
    arrays = {name: array_of(data, name) for name in INTERVAL_MEMBERS}
    with pytest.raises(ModelFileError, match="only a model of a number has intervals"):
        from_bytes(rewrite(other, put(["intervals"], {"loss": "gamma", "base": 0.0}), arrays=arrays))


@pytest.mark.slow
def test_mutants_are_read_or_refused_and_never_crash(data):
    """Any number of a file may change; a file that is still read gives ends that are numbers."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        name = INTERVAL_MEMBERS[rng.integers(len(INTERVAL_MEMBERS))]
        array = array_of(data, name)
        place = tuple(rng.integers(side) for side in array.shape)
        value = float(rng.choice([-1, 0, 0.5, 1, 2, 1e3, 1e150, -1e200]))
        with contextlib.suppress(ModelFileError):
            model = from_bytes(rewrite(data, arrays={name: changed(array, place, value)})).model
            codes = np.stack([rng.integers(0, of_feature.size, 30) for of_feature in model.bins]).astype(np.uint8)
            ends = model.intervals.around(Rows(model.predict(codes), codes), model.intervals.most_coverage)
            assert not np.isnan(ends).any()
            assert (ends[:, 0] <= ends[:, 1]).all()


@pytest.fixture(scope="module", params=["poisson", "tweedie"])
def by_law(request):
    X, y = friendly(900, binary=False)
    y = np.floor(np.exp(y / 2)) if request.param == "poisson" else np.maximum(y, 0.0)
    model = GAMRegressor(objective=request.param, outer_bags=2, max_rounds=15, random_state=0)
    return to_bytes(to_saved(fit_intervals(model.fit(X[:400], y[:400]), X[400:], y[400:])))


def test_a_law_has_the_same_bytes_again(by_law):
    assert to_bytes(from_bytes(by_law)) == by_law
    assert len(from_bytes(by_law).model.intervals.groups) == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put(["law"], []), "law of its intervals is unknown"),
        (put(["law", "kind"], "gauss"), "law of its intervals is unknown"),
        (put(["law", "zeros"], 1.0), "parameter of its law is out of range"),
        (put(["law", "zeros"], -0.1), "parameter of its law is out of range"),
        (put(["law", "zeros"], "0"), "law has no parameters"),
        (put(["law", "dispersion"], 0.0), "parameter of its law is out of range"),
        (put(["law", "dispersion"], 1e200), "parameter of its law is out of range"),
        (put(["law", "power"], 2.0), "parameter of its law is out of range"),
        (put(["law", "cuts"], [2.0, 1.0]), "parts of its calibration do not ascend"),
        (put(["law", "cuts"], "12"), "parts of its calibration do not ascend"),
        (put(["law", "cuts"], [1.0, 2.0]), "its parts have no calibration rows"),
        (put(["law", "cuts"], []), "its parts have no calibration rows"),
        (put(["loss"], "squared"), "predictions that may be negative"),
        (lambda manifest: manifest.pop("law"), "lacks 'law'"),
    ],
)
def test_a_law_that_does_not_fit_is_refused(by_law, change, words):
    with pytest.raises(ModelFileError, match=words):
        from_bytes(rewrite(by_law, change))


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [((0, 0), -0.1, "level of a calibration row"), ((0, -1), 1.1, "level of a calibration row"),
     ((0, 5), 1.0, "do not ascend"), ((1, 3), 0.0, "weight of a calibration row"),
     ((2, 3), 7.0, "its parts have no calibration rows")],
)  # fmt: skip
def test_levels_that_could_not_be_are_refused(by_law, place, value, words):
    with pytest.raises(ModelFileError, match=words):
        from_bytes(rewrite(by_law, arrays={"levels": changed(array_of(by_law, "levels"), place, value)}))


def test_mutants_of_a_law_are_read_or_refused(by_law):
    rng = np.random.default_rng(0)
    for _ in range(60):
        array = array_of(by_law, "levels")
        place = tuple(rng.integers(side) for side in array.shape)
        with contextlib.suppress(ModelFileError):
            model = from_bytes(
                rewrite(by_law, arrays={"levels": changed(array, place, float(rng.choice([-1, 0, 0.5, 1, 2])))})
            ).model
            codes = np.stack([rng.integers(0, of_feature.size, 30) for of_feature in model.bins]).astype(np.uint8)
            ends = model.intervals.around(Rows(model.predict(codes), codes), model.intervals.most_coverage)
            assert not np.isnan(ends).any()
            assert (ends[:, 0] <= ends[:, 1]).all()
