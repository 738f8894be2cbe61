"""Churn: which customers drop out of a dialogue, and which of them are worth a message?"""

from pathlib import Path

import pandas as pd
from sklearn.model_selection import train_test_split

from gamcore import GAMClassifier, suggest_segments
from gamcore.explain.sentences import read_curve

SAMPLES = Path(__file__).parents[2] / "sample_data"
customers = pd.read_parquet(SAMPLES / "renewal.parquet")
leaks = ["customer_id", "confirm_page_seconds", "step"]  # an ID, a page seen while renewing, and the target itself
X, drops = customers.drop(columns=leaks), customers["step"] == "drop"
X_train, X_test, y_train, y_test = train_test_split(X, drops, test_size=0.2, random_state=0, stratify=drops)

model = GAMClassifier(bands=30, random_state=0).fit(X_train, y_train)  # dates, text and missing cells as they are
for feature in model.importance().frame()["feature"].head(5):
    print(read_curve(model.explain_shape(feature).on("points")))

# Segments whose cuts come from the model and whose rates come from rows that no fit has seen.
for segment in suggest_segments(model, X_test, y_test)[:5]:
    seen = segment.evidence
    print(f"{segment.rule.words()}: {seen.mean:.0%} of {seen.inside:,} drop out, {seen.rest:.0%} of the others")
