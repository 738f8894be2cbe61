"""A guess at the role of a column, and the question where no guess is sure enough."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Guess:
    """That a column may have a role. score : the higher the likelier, among guesses of one role. why : the reason, in
    words. sure : whether it is taken without asking."""

    role: str
    column: str
    score: float
    why: str
    sure: bool = False


@dataclass(frozen=True)
class Question:
    """Which column has a role, where the evidence is thin. answers : the likeliest first."""

    role: str
    answers: tuple[Guess, ...]
