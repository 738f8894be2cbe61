"""The sample tables are what their generator makes, and the truths that their README states are found in them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore import GAMClassifier, GAMRegressor
from sample_data import generate
from shapewise.ingest.doctor import examine
from shapewise.ingest.leaks import leaks
from shapewise.ingest.read import read_file


@pytest.fixture(scope="module")
def tables():
    return {
        p.name: read_file(p.name, p.read_bytes()) for p in generate.HERE.iterdir() if p.suffix in (".csv", ".parquet")
    }


def test_the_generator_makes_the_committed_files(tmp_path):
    generate.main(tmp_path)
    for name in ("housing.csv", "loans.csv"):
        assert (tmp_path / name).read_bytes() == (generate.HERE / name).read_bytes()
    made, kept = (pd.read_parquet(folder / "renewal.parquet") for folder in (tmp_path, generate.HERE))
    pd.testing.assert_frame_equal(made, kept)


def test_what_the_loader_says_of_housing(tables):
    notes = " ".join(tables["housing.csv"].notes)
    for words in ("cp1252", "semicolons", "decimal commas", "'k.A.'", "'ca. 80'"):
        assert words in notes
    assert tables["housing.csv"].frame["district"].eq("Süd").any()


def test_the_doctor_finds_the_id_and_the_leak(tables):
    frame = tables["renewal.parquet"].frame
    assert frame.shape == (30_000, 15)
    assert [r.name for r in examine(frame) if r.role == "ignore"] == ["customer_id"]
    assert list(leaks(frame, "step", ["renew"], frame.columns[:-1].tolist())) == ["confirm_page_seconds"]


def test_the_true_shape_of_renewal_is_found(tables):
    frame = tables["renewal.parquet"].frame
    part = frame[frame["step"].isin(["other assets", "drop"])]
    X = part.drop(columns=["step", "customer_id", "confirm_page_seconds"])
    model = GAMClassifier(random_state=0, n_jobs=2).fit(X, (part["step"] == "other assets").astype(int))
    curve = model.explain_shape("fund_visits")
    visits = np.round(curve.display)

    def mean(low, high):
        inside = (visits >= low) & (visits <= high)
        return np.average(curve.scores[inside], weights=curve.counts[inside])

    assert mean(4, 9) - mean(0, 3) == pytest.approx(1.3, abs=0.15)
    assert mean(10, 30) - mean(4, 9) == pytest.approx(0.6, abs=0.25)
    assert mean(2, 3) == pytest.approx(mean(0, 1), abs=0.15)
    assert model.importance().frame()["feature"].iloc[0] == "fund_visits"


def test_housing_is_additive_down_to_its_noise(tables):
    frame = tables["housing.csv"].frame
    train = np.arange(5000) % 5 > 0
    X, y = frame.drop(columns="price_thousand"), frame["price_thousand"]
    model = GAMRegressor(random_state=0, n_jobs=2).fit(X[train], y[train])
    error = float(np.sqrt(np.mean((model.predict(X[~train]) - y[~train]) ** 2)))
    assert 30 < error < 36  # the noise has sd 32


def test_loans_has_two_kinds_with_their_own_columns(tables):
    frame = tables["loans.csv"].frame
    assert frame["product"].value_counts().to_dict() == {"card": 9000, "boat": 300}
    assert frame.loc[frame["product"] == "card", ["boat_length_m", "mooring"]].isna().all(axis=None)
    assert frame.loc[frame["product"] == "boat", ["card_use", "late_payments"]].isna().all(axis=None)
