"""Make the sample tables: `python -m sample_data.generate [FOLDER]`. Seeded; README.md beside this states the truth.

Those of counts, amounts, several classes and an experiment are in modules of their own.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sample_data.choice import choice
from sample_data.claims import claims
from sample_data.spend import spend
from sample_data.winback import winback

Floats = NDArray[np.float64]
HERE = Path(__file__).parent

STEPS = ("renew", "lower risk", "other assets", "not now", "drop")


def centre(values: Floats) -> Floats:
    """Shapes are stated up to a constant; centred, the intercept alone sets the rate."""
    return values - values.mean()


def renewal_features(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Customers whose product is about to mature."""
    age = np.clip(rng.gamma(9, 4.6, n) + 6, 18, 84).round()
    balance = np.exp(rng.normal(9.2, 1.1, n) + 0.012 * (age - 45)).round(2)
    education = rng.choice(["school", "vocational", "bachelor", "master"], n, p=[0.3, 0.33, 0.27, 0.1])
    return pd.DataFrame(
        {
            "customer_id": [f"C{k:06d}" for k in rng.permutation(900_000)[:n]],
            "sex": rng.choice(["female", "male"], n, p=[0.54, 0.46]),
            "age": age.astype(int),
            "education": pd.Series(education).mask(rng.random(n) < 0.12),
            "city_tier": rng.choice(["tier 1", "tier 2", "tier 3", "rural"], n, p=[0.22, 0.35, 0.3, 0.13]),
            "balance": balance,
            "income": pd.Series((balance * rng.lognormal(0.2, 0.5, n)).round(-2)).mask(rng.random(n) < 0.18),
            "tenure_months": rng.integers(1, 97, n),
            "position_clicks": rng.negative_binomial(2, 0.22, n),
            "fund_visits": rng.negative_binomial(1, 0.28, n),
            "coupon": rng.random(n) < 0.3,
            "device": rng.choice(["android", "ios", "web"], n, p=[0.55, 0.33, 0.12]),
            "maturity_date": pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 365, n), unit="D"),
        }
    )


def renewal_truth(X: pd.DataFrame) -> dict[str, Floats]:
    """Log-odds of each step against "drop": sums of shapes, and one interaction in "renew"."""
    balance, clicks, visits = (X[name].to_numpy(float) for name in ("balance", "position_clicks", "fund_visits"))
    age, tenure = X["age"].to_numpy(float), X["tenure_months"].to_numpy(float)
    long, rich = np.where(tenure >= 36, 1.0, -1.0), np.where(balance >= 12_000, 1.0, -1.0)
    renew = (
        centre(0.7 * (X["sex"] == "female").to_numpy(float))
        + centre(np.where(clicks <= 3, 0.9, 0.0))
        + centre(0.5 * np.tanh((age - 45) / 12))
        + centre(0.6 * X["coupon"].to_numpy(float))
        + centre(np.where(X["education"].isna(), -0.4, 0.0))
        + 0.5 * long * rich
    )
    lower_risk = centre(1.1 * np.tanh((np.log(balance) - np.log(12_000)) * 2)) + centre(0.02 * (age - 45))
    other_assets = centre(np.where(visits >= 4, 1.3, 0.0) + np.where(visits >= 10, 0.6, 0.0)) + centre(
        X["city_tier"].map({"tier 1": 0.5, "tier 2": 0.2, "tier 3": 0.0, "rural": -0.5}).to_numpy(float)
    )
    not_now = centre(np.where(clicks >= 8, 0.8, 0.0)) + centre(np.where(X["device"] == "web", 0.5, 0.0))
    return {
        "renew": renew - 0.6,
        "lower risk": lower_risk - 1.5,
        "other assets": other_assets - 1.7,
        "not now": not_now - 0.5,
        "drop": np.zeros(len(X)),
    }


def renewal(n: int = 30_000, seed: int = 1) -> pd.DataFrame:
    """A dialogue funnel whose `step` gives four scenarios; the target is the last column."""
    rng = np.random.default_rng(seed)
    X = renewal_features(rng, n)
    scores = np.stack([renewal_truth(X)[step] for step in STEPS], axis=1)
    step = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)  # a draw from the softmax of the scores
    renewed = step == 0
    seconds = np.where(renewed, rng.gamma(9, 5, n), np.where(rng.random(n) < 0.01, rng.gamma(3, 3, n), 0.0))
    X["confirm_page_seconds"] = seconds.round(1)
    return X.assign(step=np.array(STEPS)[step])


LIFTS = {  # strategy: relative lift of each metric
    "A": {"entry_1_click": 0.19, "entry_1_stayed": 0.09, "entry_2_click": 0.0, "entry_2_stayed": 0.25},
    "C": {"entry_1_click": 0.25, "entry_1_stayed": 0.12, "entry_2_click": 0.0, "entry_2_stayed": 0.20},
    "B": {"entry_1_click": 0.22, "entry_1_stayed": 0.10, "entry_2_click": 0.0, "entry_2_stayed": 0.22},
}
RATES = {"entry_1_click": 0.22, "entry_1_stayed": 0.55, "entry_2_click": 0.15, "entry_2_stayed": 0.30}


def would_be(X: pd.DataFrame) -> NDArray[np.str_]:
    """The strategy that each customer who left would get, A before C before B; "" none."""
    of = {
        "B": X["balance"] >= 12_000,
        "C": X["fund_visits"] >= 4,
        "A": (X["sex"] == "female") | (X["position_clicks"] <= 3),
    }
    found = np.full(len(X), "", dtype="U1")
    for name, rows in of.items():  # the highest comes last, and takes
        found[rows.to_numpy()] = name
    found[(X["step"] != "drop").to_numpy()] = ""
    return found


def renewal_experiment(n: int = 200_000, seed: int = 5, others: int = 6_000) -> pd.DataFrame:
    """A week of customers of the same kind, half of them treated: all who left the dialogue, and some who did not."""
    X = renewal(n, seed)
    rng = np.random.default_rng(seed + 1)
    X = X[(X["step"] == "drop") | (rng.random(n) < others / n)].reset_index(drop=True)
    treated = rng.random(len(X)) < 0.5
    strategy = would_be(X)
    visits = rng.poisson(np.exp(0.4 + 0.05 * np.minimum(X["position_clicks"], 10)))
    found = X[["sex", "age", "balance", "position_clicks", "fund_visits", "device", "step"]].copy()
    found["balance"] = found["balance"].round()
    found["visits_before"] = visits
    days = np.random.default_rng(seed + 2).integers(0, 7, len(X))
    found["day"] = pd.Timestamp("2025-03-28") + pd.to_timedelta(days, unit="D")
    found["arm"] = np.where(treated, "treated", "control")
    for metric, rate in RATES.items():
        lift = np.select([strategy == name for name in LIFTS], [LIFTS[name][metric] for name in LIFTS], 0.0)
        found[metric] = rng.random(len(X)) < rate * (1 + lift * treated)
    lift = np.select([strategy == name for name in LIFTS], [0.06] * len(LIFTS), 0.0)
    found["visits_after"] = rng.poisson(visits * 0.8 * (1 + lift * treated) + 0.3)
    return found


def housing(n: int = 5_000, seed: int = 2) -> pd.DataFrame:
    """Flats and their prices in thousands."""
    rng = np.random.default_rng(seed)
    area = np.clip(rng.gamma(6, 14, n), 18, 260).round(1)
    district = rng.choice(["Altstadt", "Hafen", "Nord", "Ost", "Süd", "West", "Wald", "Moor"], n)
    year = rng.integers(1900, 2024, n)
    distance = rng.gamma(2.2, 2.4, n).round(2)
    energy = rng.choice(list("ABCDEFG"), n, p=[0.06, 0.12, 0.2, 0.24, 0.2, 0.12, 0.06])
    floor = rng.integers(0, 9, n)
    balcony = rng.random(n) < 0.6
    of_district = {"Altstadt": 90, "Hafen": 60, "Süd": 40, "West": 25, "Nord": 0, "Ost": -15, "Wald": -20, "Moor": -45}
    price = (
        140
        + 3.1 * area
        - 0.004 * np.maximum(area - 120, 0) ** 2
        + pd.Series(district).map(of_district).to_numpy(float)
        + np.where(year < 1950, 25, np.where(year < 1980, -35, 0.9 * (year - 1980)))
        - 38 * np.log1p(distance)
        - 9 * pd.Series(energy).map(dict(zip("ABCDEFG", range(7), strict=True))).to_numpy(float)
        + 14 * balcony
        + rng.normal(0, 32, n)
    )
    return pd.DataFrame(
        {
            "area_sqm": area,
            "district": district,
            "year_built": year,
            "distance_km": distance,
            "energy_class": energy,
            "floor": floor,
            "balcony": balcony,
            "price_thousand": np.maximum(price, 30).round(1),
        }
    )


def housing_csv(frame: pd.DataFrame, seed: int = 3) -> bytes:
    """The table as an office program writes it: semicolons, decimal commas, and a few bad cells."""
    rng = np.random.default_rng(seed)
    text = frame.map(lambda cell: str(cell).replace(".", ",") if isinstance(cell, float) else str(cell))
    for column, words in (("area_sqm", ["k.A.", "ca. 80"]), ("distance_km", ["?", "nah"]), ("energy_class", [""])):
        for row, word in zip(rng.choice(len(text), 8, replace=False), words * 8, strict=False):
            text.loc[row, column] = word
    return text.to_csv(sep=";", index=False, lineterminator="\n").encode("cp1252")


def loans(seed: int = 4) -> pd.DataFrame:
    """Two kinds of loans: cards (9,000 rows) and boats (300); some features belong to one of them only."""
    rng = np.random.default_rng(seed)
    n_card, n_boat = 9_000, 300
    n = n_card + n_boat
    card = np.arange(n) < n_card
    age = np.clip(rng.normal(44, 13, n), 18, 85).round()
    income = np.exp(rng.normal(10.5, 0.5, n)).round(-2)
    debt = np.clip(rng.beta(2, 4, n), 0, 1).round(3)
    employed = rng.integers(0, 300, n)
    common = 2.4 * (debt - 0.33) - 0.8 * np.tanh((np.log(income) - 10.5) * 1.5) - 0.004 * np.minimum(employed, 120)
    use = np.where(card, rng.beta(1.6, 2.4, n), np.nan).round(3)
    late = np.where(card, rng.poisson(0.5, n), np.nan)
    length = np.where(card, np.nan, rng.gamma(14, 0.6, n)).round(1)
    mooring = np.where(card, None, rng.choice(["river", "lake", "sea"], n))
    specific = np.where(
        card,
        1.8 * (np.nan_to_num(use) > 0.75) + 0.6 * np.nan_to_num(late),
        1.2 * (np.nan_to_num(length) > 9) + 0.8 * (mooring == "sea"),
    )
    chance = 1 / (1 + np.exp(2.2 - common - specific))
    frame = pd.DataFrame(
        {
            "product": np.where(card, "card", "boat"),
            "age": age.astype(int),
            "income": income.astype(int),
            "debt_ratio": debt,
            "months_employed": employed,
            "card_use": use,
            "late_payments": pd.Series(late).astype("Int64"),
            "boat_length_m": length,
            "mooring": mooring,
            "default": np.where(rng.random(n) < chance, "yes", "no"),
        }
    )
    return frame.iloc[rng.permutation(n)].reset_index(drop=True)


def main(folder: Path) -> None:
    """Write the files."""
    renewal().to_parquet(folder / "renewal.parquet", index=False, compression="zstd")
    renewal_experiment().to_parquet(folder / "renewal_experiment.parquet", index=False, compression="zstd")
    (folder / "housing.csv").write_bytes(housing_csv(housing()))
    made = {"loans": loans(), "claims": claims(), "spend": spend(), "choice": choice(), "winback": winback()}
    for name, table in made.items():
        table.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
