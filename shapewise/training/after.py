"""What an addition does to a model that was just trained, where its run asks for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shapewise.seam import ADDITIONS
from shapewise.store.workspace import ModelAbout, Workspace


@dataclass(frozen=True)
class AfterTraining:
    """A step after training, declared as a constant of an addition's `addition.py`.

    asked_by : the setting of a run that asks for it. make : stores another model from the id of the one trained and the
    value of that setting, and returns it.
    """

    asked_by: str
    make: Callable[[Workspace, str, str], ModelAbout]


def after_training(workspace: Workspace, model: str, asked: dict[str, object]) -> str:
    """Take the steps that a run asks for; return the id of the last model."""
    for step in ADDITIONS.declared(AfterTraining):
        if value := asked.get(step.asked_by):
            model = step.make(workspace, model, str(value)).id
    return model
