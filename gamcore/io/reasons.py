"""A model that tells reasons for its decisions, in a table, SQL, Python and JSON alike."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from gamcore.common.types import Bools, Codes, Floats
from gamcore.data.binning import encode_table
from gamcore.data.column_names import term_name
from gamcore.explain.reasons import BASES, MOST, Base, Reason, Reasons
from gamcore.explain.scorecard import Scorecard
from gamcore.io.formula import Formula, ScoringError, formula_of
from gamcore.io.json_reasons import MOST_TOLD
from gamcore.model import output_names
from gamcore.model.losses import LOSSES

Texts = Mapping[str, tuple[str, str]]


def with_reasons(
    model: Any, X: Any, line: float, *, base: Base = "average", most: int = MOST, texts: Texts | None = None,
    sensitive: Collection[str] = (), pairs_apart: bool = False,
) -> Formula:  # fmt: skip
    """Return a fitted model of one score, or a scorecard, as a formula that also tells reasons for its decisions.

    X : rows that the base is taken from, such as those of training. line : the prediction from which a row is decided
    on as "yes"; of a scorecard, the points. base : what parts of a score are compared with. most : reasons per row, of
    those that there are. texts : by feature, what is told where it raised the score, and where it lowered it.
    sensitive : columns that are never told. pairs_apart : whether a pair, or triple, is a reason of its own;
    else its features have equal shares of it, but sensitive ones all of it beside others.

    Write it with `to_sql` (give a `key`), `to_python` and `to_json`; `tell` gives the reasons of a table.
    """
    formula = formula_of(model)
    if not isinstance(formula, Formula):
        raise ScoringError("Reasons are told by models of one score per row: take one of two classes, or of a number.")
    if base not in BASES:
        raise ScoringError(f"base is {base!r}: choose one of {', '.join(BASES)}.")
    if most < 1:
        raise ScoringError(f"most is {most}: tell one reason at least.")
    score_line = _line(formula, float(line))
    each = _each(formula, texts or {}, sensitive, pairs_apart)
    known = {bins.feature.column for bins in (model.bins if isinstance(model, Scorecard) else formula.bins)}
    unknown = [name for name in sensitive if name not in known]
    if unknown:
        raise ScoringError(f"sensitive names {unknown[0]!r}, which is not a feature of the model.")
    most = min(most, max(len(each), MOST), MOST_TOLD)
    plan = Reasons(score_line, most, base, tuple(each))
    codes = encode_table(formula.read(X), formula.bins)
    parts = parts_of(formula, plan, codes)
    ends = _bases(parts, formula.intercept, score_line)[base]
    each = [replace(reason, above=float(up), below=float(down)) for reason, up, down in zip(each, *ends, strict=True)]
    return replace(formula, reasons=replace(plan, each=tuple(each)))


def _line(formula: Formula, line: float) -> float:
    """Return the score that stands for a prediction; of a scorecard, the points themselves."""
    if formula.points is not None:
        return line
    loss, given = LOSSES[formula.loss], np.array(line)
    score = float(loss.link(given))
    if not (np.isfinite(score) and np.isclose(loss.inverse_link(np.array(score)), given)):
        raise ScoringError(f"line is {line!r}: give a prediction that the model can make.")
    return score


def _each(formula: Formula, texts: Texts, sensitive: Collection[str], pairs_apart: bool) -> list[Reason]:
    """Return the features, and the interactions if these are apart, that may be reasons; none without parts."""
    reasons: list[Reason] = []
    for place, bins in enumerate(formula.bins):
        name = bins.feature.name
        terms = tuple(k for k, (feature, scores) in enumerate(formula.terms) if feature == place and np.ptp(scores) > 0)
        joint = () if pairs_apart else _shares(formula, place, sensitive)
        if terms or joint:
            reasons.append(_reason(name, texts, bins.feature.column in sensitive, terms, joint))
    for k, table in enumerate(formula.interactions if pairs_apart else ()):
        names = [formula.bins[place].feature for place in table.features]
        hidden = any(feature.column in sensitive for feature in names)
        taken = [*(bins.feature.name for bins in formula.bins), *(reason.name for reason in reasons)]
        name = term_name([feature.name for feature in names], taken)
        reasons.append(_reason(name, texts, hidden, (), ((k, 1.0),)))
    return reasons


def _shares(formula: Formula, place: int, sensitive: Collection[str]) -> tuple[tuple[int, float], ...]:
    """Return the interactions of a feature with the share that counts to it: equal ones of its features, but all of one
    with sensitive features to these, so that nothing of them is told under another name."""
    shares = []
    for k, table in enumerate(formula.interactions):
        hidden = [j for j in table.features if formula.bins[j].feature.column in sensitive]
        counted = hidden or table.features
        if place in counted:
            shares.append((k, 1 / len(counted)))
    return tuple(shares)


def _reason(
    name: str, texts: Texts, sensitive: bool, terms: tuple[int, ...], joint: tuple[tuple[int, float], ...]
) -> Reason:
    up, down = texts.get(name, ("", ""))
    return Reason(name=name, up=up or f"{name} raises it", down=down or f"{name} lowers it", sensitive=sensitive,
                  terms=terms, joint=joint, above=0.0, below=0.0)  # fmt: skip


def _bases(parts: Floats, intercept: float, line: float) -> dict[str, tuple[Floats, Floats]]:
    """Return by base the parts (m,) of a row at or above the line, and of one below it. parts : (n, m) of many rows.

    The usual row at the line: the regression of each part on the score, at the line.
    """
    mean, score = parts.mean(axis=0), intercept + parts.sum(axis=1)
    spread = float(((score - score.mean()) ** 2).sum())
    along = (parts - mean).T @ (score - score.mean()) / spread if spread > 0 else np.zeros(mean.size)
    at_line = mean + along * (line - float(score.mean()))
    return {"average": (mean, mean), "best": (parts.min(axis=0), parts.max(axis=0)), "line": (at_line, at_line)}


def parts_of(formula: Formula, reasons: Reasons, codes: Codes) -> Floats:
    """Return the parts (n, m) of the scores of rows (p, n) that count to each reason."""
    parts = np.zeros((codes.shape[1], len(reasons.each)))
    for place, reason in enumerate(reasons.each):
        for k in reason.terms:
            feature, scores = formula.terms[k]
            parts[:, place] += scores[codes[feature]]
        for k, share in reason.joint:
            parts[:, place] += share * formula.interactions[k].at(codes)
    return parts


def tell(formula: Formula, X: Any) -> pd.DataFrame:
    """Return what is told to each row: its score, "decision" (whether it is at or above the line), "reason 1" and on
    (None where there are no more) with "push 1 (UNIT)", and the sensitive features for "review", joined by a comma, or
    None."""
    reasons, frame, score, pushes = _pushed(formula, X)
    chosen, review = reasons.choose(pushes)
    above, rows, unit = score >= reasons.line, np.arange(score.size), formula.score_unit
    sides = {side: np.array([*(reasons.text(k, side) for k in range(len(reasons.each))), None], object)
             for side in (True, False)}  # fmt: skip
    filled = np.hstack([pushes, np.full((score.size, 1), np.nan)])  # the last is that of no reason
    columns: dict[str, Any] = {output_names.score(unit): score, "decision": above}
    for k in range(reasons.most):
        texts = sides[True][chosen[:, k]], sides[False][chosen[:, k]]
        columns[output_names.reason(k + 1)] = pd.Series(np.where(above, *texts), frame.index, dtype=object)
        columns[output_names.push(k + 1, unit)] = filled[rows, chosen[:, k]]
    listed = [", ".join(names) or None for names in _named(reasons, review)]
    return pd.DataFrame(columns | {"review": pd.Series(listed, frame.index, dtype=object)}, index=frame.index)


def for_review(formula: Formula, X: Any) -> list[list[str]]:
    """Return for each row the sensitive features that weigh as much as a told reason."""
    reasons, _, _, pushes = _pushed(formula, X)
    return _named(reasons, reasons.choose(pushes)[1])


def _named(reasons: Reasons, review: Bools) -> list[list[str]]:
    names = [reason.name for reason in reasons.each]
    return [[name for name, on in zip(names, line, strict=True) if on] for line in review]


def _pushed(formula: Formula, X: Any) -> tuple[Reasons, pd.DataFrame, Floats, Floats]:
    """Return what a formula may tell, the rows, their scores (n,) and the pushes (n, m) of each reason."""
    if formula.reasons is None:
        raise ScoringError("This model tells no reasons: make one that does by with_reasons.")
    table = formula.read(X)
    score, codes = formula.score(table), encode_table(table, formula.bins)
    return formula.reasons, table.frame, score, formula.reasons.pushes(parts_of(formula, formula.reasons, codes), score)
