"""Credit: who will not pay back? A score of which every part can be explained to the applicant."""

from pathlib import Path

import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from gamcore import GAMClassifier

SAMPLES = Path(__file__).parents[2] / "sample_data"
loans = pd.read_csv(SAMPLES / "loans.csv").query("product == 'card'")
X = loans[["age", "income", "debt_ratio", "months_employed", "card_use", "late_payments"]]
y = loans["default"]  # "yes" or "no": probabilities are those of the second class in order, "yes"
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=0, stratify=y)

model = GAMClassifier(random_state=0).fit(X_train, y_train)
chance = model.predict_proba(X_test)[:, 1]
print(f"AUC on fresh rows: {roc_auc_score(y_test == 'yes', chance):.3f}")
print(model.importance().frame())

# Reasons: the parts of the riskiest applicant's score, the largest first. They add up to the score exactly.
riskiest = X_test.iloc[[int(chance.argmax())]]
print(riskiest.T.squeeze())
print(model.explain_rows(riskiest).frame().T)

# What would take the applicant below 10%? Age cannot change; the debt ratio can, but not below .05.
from gamcore.explain.counterfactuals import Possible  # noqa: E402

possible = Possible(fixed={"age"}, limits={"debt_ratio": (0.05, None)})
for change in model.smallest_changes(riskiest, line=-2.2, possible=possible)[:3]:
    print(change.words)
