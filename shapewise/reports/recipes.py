"""Recipes of reports: plots and tables in order, with comments, so that a report can be repeated with one click.

A recipe names no model, so it works on any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Final, Literal

from gamcore.data.column_names import AS_THEY_ARE, PAIR, Names
from shapewise.decisions.arm_tests import StoredTest
from shapewise.decisions.boards import Board
from shapewise.reports.added import added
from shapewise.store.workspace import ModelAbout, StoreError, Workspace, clean_name, new_id, now
from shapewise.training.goals import GOALS
from shapewise.training.spec import Spec

KINDS: Final[dict[str, str]] = {
    "decision": "The decision",
    "who": "Who gets what",
    "lifts": "Measured lifts",
    "effects": "Rates of the arms",
    "plan": "The plan of the test",
    "why": "Why",
    "reach": "Reach of the strategies",
    "overlap": "How rules overlap",
    "risks": "Risks",
    "fairness": "Groups that the strategies reach",
    "proof": "The rules as code, run and compared",
    "segments": "Segments that were kept",
    "reading": "How to read it",
    "importance": "What matters",
    "curve": "Curve",
    "chances": "Chances of all classes",
    "pair": "Pair",
    "triple": "Triple",
    "classes": "How well it tells classes apart",
    "ROC": "How well it ranks",
    "calibration": "Calibration",
    "residuals": "Residuals",
    "uplift": "Uplift by tenth, and gain",
    "lift": "Lift by tenth",
    "card": "Model card",
}
EFFECTS: Final = ("curve", "chances", "pair", "triple")
"""Parts that draw what features do."""
OF_BOARD: Final = ("decision", "who", "reach", "overlap", "plan", "lifts", "effects", "risks", "fairness", "proof")
OF_TEST: Final = ("decision", "lifts", "effects", "risks")
MEASURED: Final = ("lifts", "effects")
"""Parts that a test gives: a board's own, once it is read, else the one of arms."""
Audience = Literal["director", "analyst", "audit"]
AUDIENCES: Final[dict[Audience, str]] = {"director": "Director", "analyst": "Analyst", "audit": "Audit"}
MOST_SLIDES: Final = 6
"""Most slides of a director's report."""
MOST_OUTCOMES: Final = 4
"""Most outcomes that each have a slide of a director's report."""
USUAL_CURVES: Final = 6
MOST_COMMENT: Final = 2_000


@dataclass(frozen=True)
class ReportItem:
    """One item of a report: its kind, its subject (a feature, or all features of an interaction), and a comment."""

    kind: str
    of: tuple[str, ...] = ()
    comment: str = ""

    @property
    def label(self) -> str:
        """Return its name in a list."""
        return self.words(AS_THEY_ARE)

    def words(self, names: Names) -> str:
        """Return its name in a list, as people call its features."""
        if self.kind == "why":
            return f"Why {self.of[0]}" + (f": {names.term(self.of[1])}" if len(self.of) > 1 else "")
        title = KINDS[self.kind] if self.kind in KINDS else added()[self.kind].title
        return title + (f": {PAIR.join(map(names.term, self.of))}" if self.of else "")


@dataclass(frozen=True)
class Recipe:
    """The contents of a report. board : the board whose strategies it covers; test : a test of arms, alone, or that the
    strategies of a board rest on; empty for none. start : the day of the next step, as ISO text. next_step : in
    somebody's own words, instead of ours. template : the house template of its slides. of_class : the class that a
    model of several is read by."""

    id: str
    name: str
    created: str
    items: tuple[ReportItem, ...] = ()
    subtitle: str = ""
    board: str = ""
    scale: str = "points"
    audience: Audience = "analyst"
    test: str = ""
    start: str = ""
    next_step: str = ""
    template: str = ""
    of_class: str = ""

    @property
    def is_brief(self) -> bool:
        """Whether it is for a director: no cover and no appendix."""
        return self.audience == "director"


def usual(
    model: ModelAbout | None, features: list[str], board: Board | None, test: StoredTest | None = None,
    audience: Audience = "analyst", of_class: str = "",
) -> Recipe:  # fmt: skip
    """Return the recipe for most reviews: the decision first, then what was measured, then the models behind it.

    features : of the model in view, the strongest first; their curves are shown where there is no board. of_class : the
    class that it is read by, if it has several."""
    contents = {"director": _for_director, "analyst": _for_analyst, "audit": _for_audit}[audience]
    items = contents(features, board, test, quality_of(model) if model else [])
    named = board.name if board is not None else test.name if test is not None else model.name if model else "Report"
    with_test = test is not None and (board is None or not outcomes_of(board, None))
    return Recipe(
        "", clean_name(named), created=now(), items=tuple(items), audience=audience,
        board=board.id if board is not None else "", test=test.id if test is not None and with_test else "",
        subtitle=model.target if model is not None and board is None else "", of_class=of_class,
    )  # fmt: skip


def quality_of(model: ModelAbout) -> list[str]:
    """Return the kinds of items that show how good a model is, by what it predicts."""
    if model.kind.endswith("classifier"):
        several = "class_auc" in model.metrics
        return [*(["classes"] if several else []), "ROC", "calibration"]
    if model.spec.get("treatment"):
        return ["uplift"]
    rated = bool(model.spec) and GOALS[Spec.from_dict(model.spec).kind_of_target].rated
    return ["lift"] if rated else ["residuals"]


def outcomes_of(board: Board | None, test: StoredTest | None) -> list[str]:
    """Return the outcomes that were measured: by the board's own test, once it is read, else by the test of arms."""
    read = board.outcome.get(board.outcome.get("way", "rows")) if board is not None else None
    return list(read["roles"]) if read else list(test.metrics) if test is not None else []


def offered(board: Board | None, test: StoredTest | None) -> list[ReportItem]:
    """Return the parts that a board and a test can fill, those about models apart."""
    outcomes = outcomes_of(board, test)
    kinds = OF_BOARD if board is not None and board.read().strategies else OF_TEST if test is not None else ()
    lacks = {"plan"} if board is None or not board.plan else set()
    lacks |= set() if outcomes else set(MEASURED)
    lacks |= {"overlap"} if board is not None and len(board.read().strategies) < 2 else set()
    items = [ReportItem(kind) for kind in kinds if kind not in lacks]
    return items + [ReportItem("lifts", (name,)) for name in outcomes if len(outcomes) > 1 and kinds]


def followed(recipe: Recipe, before: Recipe, now: Recipe, there: Sequence[ReportItem]) -> Recipe:
    """Return a recipe after another board or test was chosen. before, now : the usual recipes of both choices; there :
    what can be in it now. The usual parts change; parts that somebody added stay where they apply, and so do comments
    and a title of one's own."""
    comments = {(item.kind, item.of): item.comment for item in recipe.items}
    usual = {(item.kind, item.of) for item in (*before.items, *now.items)}
    possible = {(item.kind, item.of) for item in there}
    items = [replace(item, comment=comments.get((item.kind, item.of), "")) for item in now.items]
    items += [item for item in recipe.items if (item.kind, item.of) in possible - usual]
    return replace(
        recipe, board=now.board, test=now.test, name=now.name if recipe.name == before.name else recipe.name,
        subtitle=now.subtitle if recipe.subtitle == before.subtitle else recipe.subtitle,
        items=tuple(items[:MOST_SLIDES] if recipe.is_brief else items),
    )  # fmt: skip


def _for_director(
    features: list[str], board: Board | None, test: StoredTest | None, quality: list[str]
) -> list[ReportItem]:
    """Return at most `MOST_SLIDES` items: the decision, who, what was measured or is planned, a curve per strategy."""
    outcomes = outcomes_of(board, test)
    each = [ReportItem("lifts", (name,)) for name in outcomes] if len(outcomes) > 1 else [ReportItem("lifts")]
    if board is not None:
        strategies = board.read().strategies
        moved = (
            strategies[0].metric if strategies else ""
        )  # what decides comes first, other outcomes where there is room
        proof = ["lifts"] if outcomes else ["plan"] if board.plan else []
        items = [ReportItem(kind) for kind in ("decision", "who", *proof)]
        items += [ReportItem("why", (strategy.name,)) for strategy in strategies if strategy.model]
        decides = moved if moved in outcomes else next(iter(outcomes), "")
        items += [ReportItem("lifts", (name,)) for name in outcomes if name != decides]
    elif test is not None:
        items = [ReportItem("decision"), *each[:MOST_OUTCOMES], ReportItem("effects")]
    else:
        items = [ReportItem("importance"), *(ReportItem("curve", (name,)) for name in features[:4])]
        items += [ReportItem(kind) for kind in quality[-1:]]
    return items[:MOST_SLIDES]


def _tested(board: Board | None, test: StoredTest | None) -> list[str]:
    """Return the kinds of items about what was measured or is planned."""
    measured = MEASURED if outcomes_of(board, test) else ()
    return [*measured, *(["plan"] if board is not None and board.plan else [])]


def _for_analyst(
    features: list[str], board: Board | None, test: StoredTest | None, quality: list[str]
) -> list[ReportItem]:
    kinds = ["decision"] if board is not None or test is not None else []
    items = [ReportItem(kind) for kind in (*kinds, *(["who"] if board else []), "reading", *_tested(board, test))]
    if board is not None:
        items += [ReportItem(kind) for kind in ("reach", "risks")]
        items += [ReportItem("why", (strategy.name, column)) for strategy in board.read().strategies if strategy.model
                  for column in strategy.rule.columns]  # fmt: skip
    elif quality:
        items += [ReportItem("curve", (name,)) for name in features[:USUAL_CURVES]]
    return items + [ReportItem(kind) for kind in (["importance", *quality] if quality else [])]


def _for_audit(
    features: list[str], board: Board | None, test: StoredTest | None, quality: list[str]
) -> list[ReportItem]:
    kinds = ["decision"] if board is not None or test is not None else []
    kinds += ["reading", *(["risks"] if kinds else []), *(["who", "fairness", "proof"] if board is not None else [])]
    kinds += _tested(board, test)
    return [ReportItem(kind) for kind in (*kinds, *(["card", *quality] if quality else []))]


class _ChangedError(Exception):
    """Another person changed the recipe meanwhile."""


def save(workspace: Workspace, recipe: Recipe, opened: Recipe | None = None) -> Recipe:
    """Save a recipe; as a new one if it has no id, or if this person may only view it.

    opened : its content when editing began. If the stored recipe differs by now, another person has changed it, and
    this one is saved beside theirs."""
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
            pass  # nothing was written: save it as a new recipe
        else:
            return kept
    kept = replace(kept, id=new_id(), created=now())
    workspace.add("reports", kept.id, asdict(kept))
    return kept


def recipe(workspace: Workspace, identifier: str) -> Recipe:
    """Return a stored recipe; fields added by a newer version are ignored."""
    return from_dict(workspace.thing("reports", identifier).about)


def from_dict(plain: Any) -> Recipe:
    """Return a recipe from its file; StoreError if it is invalid."""
    known = {*KINDS, *added()}
    try:
        items = tuple(
            ReportItem(str(entry["kind"]), tuple(str(name) for name in entry["of"]), str(entry["comment"]))
            for entry in plain["items"]
            if entry["kind"] in known
        )
        names = {setting.name for setting in fields(Recipe)}
        recipe = Recipe(**{name: value for name, value in plain.items() if name in names} | {"items": items})
        return recipe if recipe.audience in AUDIENCES else replace(recipe, audience="analyst")
    except (KeyError, TypeError, AttributeError) as error:
        raise StoreError("A report's recipe is invalid: create a new one.") from error


def recipes(workspace: Workspace) -> list[Recipe]:
    """Return all recipes, newest first."""
    return workspace.listed("reports", from_dict)[::-1]
