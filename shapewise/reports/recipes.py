"""Recipes of reports: which plots and tables in which order, with what comments, so that next month's is one press.

A recipe names no model, so that it can be made on any.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Final

from shapewise.decisions.boards import Board
from shapewise.store.workspace import ModelAbout, StoreError, Workspace, clean_name, new_id, now

KINDS: Final[dict[str, str]] = {
    "decision": "The decision: strategies in their order",
    "reach": "Reach of the strategies",
    "overlap": "How rules overlap",
    "segments": "Segments that were kept",
    "plan": "The plan of the test",
    "lifts": "Measured lifts",
    "importance": "What matters",
    "curve": "Curve",
    "pair": "Pair",
    "ROC": "How well it ranks",
    "calibration": "Calibration",
    "residuals": "Residuals",
}
OF_BOARD: Final = ("decision", "reach", "overlap", "plan", "lifts")
USUAL_CURVES: Final = 6
MOST_COMMENT: Final = 2_000


@dataclass(frozen=True)
class ReportItem:
    """One thing in a report: its kind, what it is of (a feature, or both of a pair), and what somebody says of it."""

    kind: str
    of: tuple[str, ...] = ()
    comment: str = ""

    @property
    def label(self) -> str:
        """What it is called in a list."""
        return KINDS[self.kind] + (f": {' × '.join(self.of)}" if self.of else "")


@dataclass(frozen=True)
class Recipe:
    """A report as somebody put it together. board : the one whose strategies it is about; empty for none."""

    id: str
    name: str
    created: str
    items: tuple[ReportItem, ...] = ()
    subtitle: str = ""
    board: str = ""
    scale: str = "points"


def usual(model: ModelAbout, features: list[str], pairs: list[tuple[str, str]], board: Board | None) -> Recipe:
    """Return what most reviews want: the decision first, what matters, the strongest curves, how good the model is."""
    items = [ReportItem(kind) for kind in ("decision", "reach")] if board is not None else []
    items += [ReportItem("importance"), *(ReportItem("curve", (name,)) for name in features[:USUAL_CURVES])]
    items += [ReportItem("pair", pair) for pair in pairs[:2]]
    if board is not None:
        items += [ReportItem("plan")] if board.plan else []
        items += [ReportItem("lifts")] if board.outcome else []
    binary = model.kind.endswith("classifier")
    items += [ReportItem("ROC"), ReportItem("calibration")] if binary else [ReportItem("residuals")]
    name = clean_name(board.name if board is not None else model.name)
    return Recipe(
        "", name, created=now(), items=tuple(items), subtitle=model.target, board=board.id if board is not None else ""
    )


class _ChangedError(Exception):
    """Somebody else changed the recipe meanwhile."""


def save(workspace: Workspace, recipe: Recipe, opened: Recipe | None = None) -> Recipe:
    """Keep a recipe; without an id, or of somebody who only lets it be viewed, as a new one.

    opened : what it was when its editing began. Where that is not what it is now, somebody else has changed it, and
    this one is kept beside theirs.
    """
    items = tuple(replace(item, comment=item.comment[:MOST_COMMENT]) for item in recipe.items)
    kept = replace(recipe, name=clean_name(recipe.name), items=items)

    def changed(about: dict[str, Any]) -> dict[str, Any]:
        if opened is not None and from_dict(about) != opened:
            raise _ChangedError
        return about | asdict(kept)

    if kept.id and workspace.may("change", "reports", kept.id):
        try:
            workspace.edit("reports", kept.id, changed)
        except _ChangedError:
            pass  # nothing was written: it becomes one of its own
        else:
            return kept
    kept = replace(kept, id=new_id(), created=now())
    workspace.add("reports", kept.id, asdict(kept))
    return kept


def recipe(workspace: Workspace, identifier: str) -> Recipe:
    """Return a recipe that was kept; what a newer version added is left out."""
    return from_dict(workspace.thing("reports", identifier).about)


def from_dict(plain: Any) -> Recipe:
    """Return a recipe from its file; StoreError where it is none."""
    try:
        items = tuple(
            ReportItem(str(one["kind"]), tuple(str(name) for name in one["of"]), str(one["comment"]))
            for one in plain["items"]
            if one["kind"] in KINDS
        )
        names = {of.name for of in fields(Recipe)}
        return Recipe(**{name: value for name, value in plain.items() if name in names} | {"items": items})
    except (KeyError, TypeError, AttributeError) as error:
        raise StoreError("A report's recipe does not hold what it should: make a new one.") from error


def recipes(workspace: Workspace) -> list[Recipe]:
    """Return all recipes, the newest first."""
    return workspace.listed("reports", from_dict)[::-1]
