"""The sample tables are what their generator makes, and the truths that their README states are found in them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore import GAMClassifier, GAMRegressor, read_flow
from gamcore.data.table import as_table
from gamcore.stats.classes import class_losses
from gamcore.stats.intervals import poisson_rate
from sample_data import generate
from sample_data.choice import PLANS, plan_scores
from sample_data.claims import SHAPE, claim_rate, claim_size
from sample_data.dialogue import FAMILIES, RATES, SCENARIOS, chances, dialogue, flow_chances, scores
from sample_data.spend import DISPERSION, POWER, delivery_quantile, delivery_scale, mean_spend
from shapewise.columns.roles import roles_of
from shapewise.doctor.examine import examine
from shapewise.doctor.leaks import leaks
from shapewise.ingest.read import read_file
from shapewise.ui.data.loading import CARDS

TABLES = (".csv", ".parquet")


@pytest.fixture(scope="module")
def tables():
    return {p.name: read_file(p.name, p.read_bytes()) for p in generate.HERE.iterdir() if p.suffix in TABLES}


@pytest.mark.slow
def test_the_generator_makes_the_committed_files(tmp_path):
    generate.main(tmp_path)
    for name in ("housing.csv", "loans.csv", "claims.csv", "spend.csv", "choice.csv", "winback.csv"):
        assert (tmp_path / name).read_bytes() == (generate.HERE / name).read_bytes()
    for name in ("renewal.parquet", "renewal_experiment.parquet"):
        made, kept = (pd.read_parquet(folder / name) for folder in (tmp_path, generate.HERE))
        pd.testing.assert_frame_equal(made, kept)
    assert {p.name for p in tmp_path.iterdir()} == {p.name for p in generate.HERE.iterdir() if p.suffix in TABLES}


@pytest.mark.slow
def test_what_the_loader_says_of_housing(tables):
    notes = " ".join(tables["housing.csv"].notes)
    for words in ("cp1252", "semicolons", "decimal commas", "'k.A.'", "'ca. 80'"):
        assert words in notes
    assert tables["housing.csv"].frame["district"].eq("Süd").any()


@pytest.mark.slow
def test_the_doctor_finds_the_id_and_the_leak(tables):
    frame = tables["renewal.parquet"].frame
    assert frame.shape == (30_000, 15)
    assert [r.name for r in examine(frame) if r.role == "id"] == ["customer_id"]
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


@pytest.mark.parametrize(
    ("name", "ids", "target"),
    [
        ("claims.csv", ["policy_id"], "claims"),
        ("spend.csv", ["customer_id"], "spend"),
        ("choice.csv", ["customer_id"], "plan"),
    ],
)
def test_the_doctor_reads_the_new_samples_as_they_are_meant(tables, name, ids, target):
    reports = examine(tables[name].frame)
    assert [r.name for r in reports if r.role != "feature"] == ids
    roles = roles_of(as_table(tables[name].frame), reports, name=name.removesuffix(".csv"))
    assert roles.targets[0].column == target
    assert not tables[name].notes
    assert (generate.HERE / name).stat().st_size < 900_000


def test_the_cards_of_samples_name_files_and_their_rows(tables):
    assert {*CARDS} == {*tables} - {"renewal_experiment.parquet"}
    for name, (_, _, text) in CARDS.items():
        assert f"{len(tables[name].frame):,} " in text


def test_the_amount_of_claims_is_found_to_be_known_too_late(tables):
    frame = tables["claims.csv"].frame
    assert list(leaks(frame, "claims", None, [name for name in frame.columns if name != "claims"])) == ["claim_amount"]


def test_claims_follow_the_rate_and_amounts_the_size_that_are_stated(tables):
    frame = tables["claims.csv"].frame
    number, expected = frame["claims"].to_numpy(float), claim_rate(frame) * frame["exposure_years"].to_numpy(float)
    assert number.sum() / frame["exposure_years"].sum() == pytest.approx(0.12, abs=0.005)
    assert (frame["exposure_years"] < 1).mean() > 0.5
    young = (frame["driver_age"] < 26).to_numpy()
    powerful = (frame["power_kw"] >= 100).to_numpy()
    parts = [young & powerful, young & ~powerful, ~young, frame["annual_km"].isna().to_numpy()]
    parts += [(frame["region"] == name).to_numpy() for name in ("capital", "islands", "forest")]
    for part in parts:
        low, high = poisson_rate(number[part].sum(), 1.0)
        assert low * 0.95 < expected[part].sum() < high * 1.05
    assert np.sum((number - expected) ** 2 / expected) / len(frame) == pytest.approx(
        1, abs=0.06
    )  # no more than Poisson
    some = number > 0
    assert ((frame["claim_amount"] > 0) == some).all()
    each = (frame["claim_amount"].to_numpy(float) / claim_size(frame))[some]
    assert each.sum() / number.sum() == pytest.approx(1, abs=0.06)
    ratio = each / number[some]
    assert np.average((ratio - 1) ** 2 * number[some]) == pytest.approx(1 / SHAPE, rel=0.15)


def test_spend_is_tweedie_with_the_power_that_is_stated(tables):
    frame = tables["spend.csv"].frame
    y, mean = frame["spend"].to_numpy(float), mean_spend(frame)
    assert np.mean(y == 0) == pytest.approx(np.exp(-(mean ** (2 - POWER)) / DISPERSION / (2 - POWER)).mean(), abs=0.015)
    assert 0.4 < np.mean(y == 0) < 0.6
    fifth = np.argsort(np.argsort(mean)) * 5 // len(mean)
    for k in range(5):
        part = fifth == k
        assert y[part].sum() / mean[part].sum() == pytest.approx(1, abs=0.08)
        assert np.mean((y - mean)[part] ** 2 / mean[part] ** POWER) == pytest.approx(DISPERSION, rel=0.25)


def test_deliveries_arrive_within_their_quantiles_wherever_their_spread(tables):
    frame = tables["spend.csv"].frame
    days, scale = frame["delivery_days"].to_numpy(float), delivery_scale(frame)
    assert scale.max() / scale.min() > 7
    for share in (0.5, 0.9, 0.95):
        within = days <= delivery_quantile(frame, share) + 0.05  # days are rounded
        for part in (scale < 0.5, (scale >= 0.5) & (scale < 1), scale >= 1, (frame["carrier"] == "freight").to_numpy()):
            assert within[part].mean() == pytest.approx(share, abs=0.04)


def test_plans_are_chosen_with_the_probabilities_that_are_stated(tables):
    frame = tables["choice.csv"].frame
    chances = np.exp(plan_scores(frame))
    chances /= chances.sum(axis=1, keepdims=True)
    codes = np.array([PLANS.index(plan) for plan in frame["plan"]])
    streaming, much = frame["streaming"].to_numpy(bool), frame["data_gb"].to_numpy(float) >= 15
    parts = [
        streaming & much,
        streaming & ~much,
        ~streaming & much,
        ~streaming & ~much,
        frame["income"].isna().to_numpy(),
    ]
    for part in [*parts, *((frame["area"] == name).to_numpy() for name in ("city", "suburb", "village"))]:
        observed = np.bincount(codes[part], minlength=4) / part.sum()
        assert observed == pytest.approx(chances[part].mean(axis=0), abs=0.05)
    base = np.bincount(codes) / codes.size
    assert class_losses(codes, chances, base).loc["log-loss", "explained"] > 0.1


def test_a_truth_is_that_of_any_rows(tables):
    """Truths do not depend on which other rows there are, nor on how missing cells are kept."""
    truths = {"claims.csv": claim_rate, "spend.csv": mean_spend, "choice.csv": plan_scores}
    for name, truth in truths.items():
        whole = truth(tables[name].frame)
        some = pd.read_csv(generate.HERE / name).iloc[::7]
        np.testing.assert_array_equal(truth(some), whole[::7])
        assert np.isfinite(whole).all()


def test_the_dialogue_has_the_shape_and_the_chances_that_it_states():
    customers, events = dialogue(20_000)
    X = customers.drop(columns=list(SCENARIOS))
    assert X.columns.str.partition("_").get_level_values(0).value_counts().to_dict() == FAMILIES
    flow, true = read_flow(events, "customer", "step", "time"), flow_chances(scores(X))
    assert {(edge.source, edge.target) for edge in flow.edges} == set(true)
    for edge in flow.edges:
        share = true[edge.source, edge.target]
        assert edge.share == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / edge.reached))
    for step in ("renew", "not now"):
        assert true["overview", step] == pytest.approx(RATES[step])
    assert events["time"].is_monotonic_increasing
    for name, chance in chances(scores(X)).items():
        there = customers[name].notna()
        spread = np.sqrt((chance * (1 - chance))[there].sum()) / there.sum()
        assert customers.loc[there, name].mean() == pytest.approx(chance[there].mean(), abs=4 * spread)
