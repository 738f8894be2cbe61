"""How wide bands from half-sample refits are: by the share that a refit trains on, and by how clear the curves are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamcore import GAMRegressor
from gamcore.explain.curves import explain_shape
from gamcore.io.checks import ModelFileError
from gamcore.io.gamx import from_bytes, to_bytes
from gamcore.io.manifest import Saved, arrays_of, build_model, manifest_of
from gamcore.io.manifest_bins import read_bins
from gamcore.stats.bands import CLARITIES, SCALES, USUAL_SHARE, half_scale


@given(st.floats(0, 1e9), st.floats(1, 100))
def test_clearer_curves_never_have_a_wider_band(clarity, times):
    assert SCALES[1] - 1e-12 <= half_scale(USUAL_SHARE, clarity * times) <= half_scale(USUAL_SHARE, clarity) + 1e-12
    assert half_scale(USUAL_SHARE, clarity) <= SCALES[0] + 1e-12


@given(st.floats(0.1, 0.99), st.floats(0, 1e6))
def test_refits_on_fewer_rows_spread_further_and_count_for_less(share, clarity):
    assert half_scale(share * 0.9, clarity) < half_scale(share, clarity)


def fitted(n, noise, weight=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    made = GAMRegressor(random_state=0, bands=10).fit(X, X[:, 0] + noise * rng.normal(size=n), sample_weight=weight)
    return made.model_


def test_clarity_compares_the_curves_with_their_errors():
    few, many = fitted(600, 3.0), fitted(6_000, 0.3)
    assert few.clarity < CLARITIES[0]
    assert many.clarity > CLARITIES[1]
    assert replace(many, halves=None).clarity == 0.0
    terms = zip(few.terms, few.halves.terms, strict=True)
    weighed = [(t.counts @ t.scores**2, t.counts @ h.refits.var(axis=0, ddof=1)) for t, h in terms]
    size, error = np.sum(weighed, axis=0)
    assert few.clarity == pytest.approx(size / error)


def test_rows_of_unequal_weights_count_as_what_they_are_worth():
    weight = np.tile([0.5, 1.0, 3.0], 400)
    model = fitted(1_200, 0.5, weight)
    assert model.halves.evenness == pytest.approx(weight.sum() ** 2 / np.square(weight).sum() / weight.size)
    assert fitted(1_200, 0.5, 7.0 * weight).halves.evenness == pytest.approx(model.halves.evenness)
    assert fitted(1_200, 0.5, np.full(1_200, 3.0)).halves.evenness == 1.0
    even = replace(model, halves=replace(model.halves, evenness=1.0))
    assert model.clarity == pytest.approx(model.halves.evenness * even.clarity)


def test_a_file_keeps_what_rows_are_worth():
    model = fitted(600, 0.5, np.tile([0.5, 1.0, 3.0], 200))
    written = to_bytes(Saved("regressor", model))
    again = from_bytes(written).model
    assert again.clarity == pytest.approx(model.clarity)
    assert again.halves.evenness == model.halves.evenness
    manifest = manifest_of(Saved("regressor", model), model)
    bins, arrays = read_bins(manifest, arrays_of(model)), arrays_of(model)
    for wrong in (0.0, 1.5, "1", float("nan")):
        with pytest.raises(ModelFileError, match="evenness"):
            build_model(manifest | {"evenness": wrong}, arrays, bins)


def test_the_band_of_a_curve_is_scaled_by_it():
    for model in (fitted(600, 3.0), fitted(6_000, 0.3)):
        curve, half = explain_shape(model, 0), model.halves.terms[0]
        inside = slice(1, model.bins[0].n_values + 1)
        wide = (curve.upper - curve.lower) / 2 / (2.262157 * half.deviation[inside])
        np.testing.assert_allclose(wide, half_scale(USUAL_SHARE, model.clarity), rtol=1e-5)
