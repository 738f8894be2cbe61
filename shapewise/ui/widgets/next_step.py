"""What to do next in a project: the first step from table to report that has not been taken."""

from __future__ import annotations

from dataclasses import dataclass

from shapewise.decisions import boards as stored
from shapewise.store.projects import Project
from shapewise.ui.session import state


@dataclass(frozen=True)
class Step:
    """A step: what it is for, the label of its button, and the page that it is taken on."""

    why: str
    label: str
    page: str


TRAIN = Step("Train a first model to see what drives the target.", "Train a model", "train")
TASKS = Step("Compare the tasks: what they share, and where they differ.", "Read the tasks", "tasks")
CURVES = Step("Read the curves, and mark a segment where one stands out.", "Read the curves", "shapes")
ORDER = Step("Turn the saved segments into strategies, in order of priority.", "Build strategies", "strategies")
PLAN = Step("Plan the A/B test of the strategies: how many customers, how many weeks.", "Plan the test", "experiment")
READ = Step("The test is planned. Once it has run, load its outcomes and read them.", "Read the test", "experiment")
REPORT = Step("The test has been read. Write the report for the review.", "Write the report", "report")


def next_step(project: Project) -> Step:
    """Return what to do next in a project."""
    if not project.models:
        return TRAIN
    space = state.workspace()
    here = {table.id for table in project.tables}
    boards = [board for board in stored.boards(space) if board.table in here]
    if any(board.outcome for board in boards):
        return REPORT
    if any(board.plan for board in boards):
        return READ
    if any(board.read().strategies for board in boards):
        return PLAN
    if boards or any(stored.segments(space, table) for table in here):
        return ORDER
    return TASKS if project.models[0].of_tasks else CURVES
