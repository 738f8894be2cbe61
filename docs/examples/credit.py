"""Credit: who will not pay back? A score of which every part can be explained to the applicant."""

from pathlib import Path

import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from gamcore import GAMClassifier, smallest_changes
from gamcore.explain.counterfactuals import Possible

SAMPLES = Path(__file__).parents[2] / "sample_data"
loans = pd.read_csv(SAMPLES / "loans.csv").query("product == 'card'")
X = loans[["age", "income", "debt_ratio", "months_employed", "card_use", "late_payments"]]
y = loans["default"]  # "yes" or "no": probabilities are those of the second in order, "yes"
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=0, stratify=y)

model = GAMClassifier(random_state=0).fit(X_train, y_train)
chance = model.predict_proba(X_test)[:, 1]
print(f"AUC on fresh rows: {roc_auc_score(y_test == 'yes', chance):.3f}")
print(model.importance().frame())

# Reasons: the parts of one applicant's score, the largest first. They add up to the score exactly.
applicant = X_test[chance > 0.2].head(1)
parts = model.explain_rows(applicant).frame().squeeze()
print(applicant.squeeze())
print(parts.drop(["(intercept)", "(score)"]).sort_values(ascending=False))

# What would take the applicant below 12%, that is log-odds of -2? Age cannot change, a debt ratio not fall below .05.
possible = Possible(fixed={"age"}, limits={"debt_ratio": (0.05, None)})
for change in smallest_changes(model, applicant, line=-2.0, possible=possible)[:3]:
    print(f"{change.words}: {change.passed:.0%} of customers lie between")
