"""What a model tells of its decisions, read from its JSON: nothing is taken on trust."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any, Final

from gamcore.explain.reasons import BASES, Reason, Reasons
from gamcore.io.formula import Formula, ScoringError

MOST_TOLD: Final = 1_000
"""Most reasons per row that a file may ask for."""


def plain_reasons(reasons: Reasons, n_pairs: int) -> dict[str, Any]:
    """Return what is told of decisions as plain values; the interactions are pairs, then triples."""
    each = [{**asdict(reason), "pairs": [(k, share) for k, share in reason.joint if k < n_pairs],
             "triples": [(k - n_pairs, share) for k, share in reason.joint if k >= n_pairs]}
            for reason in reasons.each]  # fmt: skip
    kept = [{name: value for name, value in reason.items() if name != "joint" and (name != "triples" or value)}
            for reason in each]  # fmt: skip
    return {**asdict(reasons), "each": kept}


def read_reasons(plain: Any, formula: Formula) -> Reasons:
    """Return what `to_dict` wrote of the reasons of a formula; ScoringError for anything else."""
    each = plain["each"]
    most = len(formula.bins) + len(formula.interactions)
    _require(isinstance(each, list) and len(each) <= most, "how many there are")
    read = tuple(_reason(reason, formula) for reason in each)
    _require(len({reason.name for reason in read}) == len(read), "their names")
    _require(plain["base"] in BASES, "their base")
    _require(type(plain["most"]) is int and 1 <= plain["most"] <= MOST_TOLD, "how many are told")
    return Reasons(_number(plain["line"]), plain["most"], plain["base"], read)


def _reason(plain: Any, formula: Formula) -> Reason:
    texts = [plain[name] for name in ("name", "up", "down")]
    _require(all(isinstance(text, str) and text for text in texts), "their texts")
    _require(isinstance(plain["sensitive"], bool), "which are sensitive")
    terms = [_place(k, len(formula.terms)) for k in plain["terms"]]
    n_pairs = len(formula.pairs)
    joint = [(_place(k, n_pairs), _number(share)) for k, share in plain["pairs"]]
    joint += [(n_pairs + _place(k, len(formula.triples)), _number(share)) for k, share in plain.get("triples", [])]
    return Reason(
        name=plain["name"], up=plain["up"], down=plain["down"], sensitive=plain["sensitive"], terms=tuple(terms),
        joint=tuple(joint), above=_number(plain["above"]), below=_number(plain["below"]),
    )  # fmt: skip


def _place(value: Any, size: int) -> int:
    _require(type(value) is int and 0 <= value < size, "their parts")
    return int(value)


def _number(value: Any) -> float:
    _require(type(value) in (int, float) and math.isfinite(value), "their numbers")
    return float(value)


def _require(fine: bool, what: str) -> None:
    if not fine:
        raise ScoringError(f"The reasons in the model's JSON are damaged: {what}.")
