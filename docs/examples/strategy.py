"""A strategy: from curves to three messages in an order, whom each reaches, and code that does the same."""

from pathlib import Path

import pandas as pd

from gamcore import GAMClassifier, suggest_segments
from gamcore.decide.rules import Levels
from gamcore.decide.rules_code import kinds_of, to_sql
from gamcore.decide.strategies import Strategy, StrategySet

SAMPLES = Path(__file__).parents[2] / "sample_data"
customers = pd.read_parquet(SAMPLES / "renewal.parquet")
unused = ["customer_id", "confirm_page_seconds", "step"]
GOALS = {"renew": "position_clicks", "other assets": "fund_visits", "lower risk": "balance"}


def segment_of(goal: str, column: str):
    """Return the segment of one column in which customers rather take this step than drop out."""
    asked = customers[customers["step"].isin([goal, "drop"])]
    held_out = asked.sample(frac=0.2, random_state=0).index
    X, y = asked.drop(columns=unused), asked["step"] == goal
    model = GAMClassifier(bands=30, random_state=0).fit(X.drop(held_out), y.drop(held_out))
    segments = suggest_segments(model, X.loc[held_out], y.loc[held_out])
    return next(one for one in segments if one.up and one.rule.columns == (column,))


rules = {goal: segment_of(goal, column).rule for goal, column in GOALS.items()}
left = Levels("step", ("drop",))  # only those who left the dialogue get a message
board = StrategySet("Renewal", tuple(Strategy(goal, rule) for goal, rule in rules.items()), left)

ledger = board.ledger(customers)
print(f"{ledger.eligible:,} customers left")
for place, strategy in enumerate(board.strategies):
    raw, lost, own = ledger.raw[place], ledger.lost[place], ledger.exclusive[place]
    print(
        f"{strategy.name:13} {strategy.rule.words():40} reaches {raw:6,}, {lost:5,} are taken above it, gets {own:6,}"
    )
print(f"{ledger.remainder:,} get no message")

cascade = board.cascade()
print(to_sql(cascade, "customers", kinds_of(customers, cascade.columns)))
