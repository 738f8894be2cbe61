"""Models after edits by hand.

What is attached to an edited model has the fitted one beside the edits, so that an undone edit leaves no trace. A
score set by hand is the same in all refits, as it has no uncertainty that they could tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import numpy as np

from gamcore.additions.editing.edits import MOST_EDITS, Edit, EditError
from gamcore.additions.editing.operations import changed, edited_curve
from gamcore.common.numbers import counted
from gamcore.common.types import Bools, Floats, Ints
from gamcore.data.binning import Bins
from gamcore.model.additive import AdditiveModel, Attachment, PairTerm
from gamcore.model.monotone import keeping

NAME: Final = "editing"
"""Under which edits are attached to a model."""


@dataclass(frozen=True)
class Edits(Attachment):
    """The edits of a model, attached to it.

    edits : the first one first.
    fitted : the model without them.
    around : how many of them, the first ones, all else was learnt around, so that they stay.
    """

    edits: tuple[Edit, ...]
    fitted: AdditiveModel
    around: int = 0

    @property
    def summary(self) -> str:  # type: ignore[override]
        """How many edits there are."""
        return f"{counted(len(self.edits), 'edit')} by hand"

    @property
    def refusal(self) -> str:  # type: ignore[override]
        """Why a model cannot be learnt anew, where all else was learnt around edits."""
        stay = "All else was refit around edits by hand, which half-sample refits and updates cannot do: no bands."
        return stay if self.around else ""

    def listed(self) -> dict[str, Any]:
        """Return the edits as plain values, and whether all else was learnt around some of them."""
        return {"edits": [edit.to_dict() for edit in self.edits], "learnt_around": self.around > 0}

    def fitted_part(self, model: AdditiveModel) -> AdditiveModel:
        """Return the model without its edits."""
        others = {name: attachment for name, attachment in model.attachments.items() if name != NAME}
        return replace(self.fitted, attachments=others) if others else self.fitted

    def onto(self, model: AdditiveModel) -> AdditiveModel:
        """Return a model that was learnt anew with these edits."""
        return edited(model, self.edits)

    def by_hand(self, model: AdditiveModel, feature: int) -> Bools:
        """Return which codes (size,) of a feature's curve were edited."""
        name, mask = model.bins[feature].feature.name, np.zeros(model.bins[feature].size, bool)
        term = self.fitted.terms[feature]
        for edit in self.edits:
            if edit.on == (name,):
                scores, codes = edited_curve(edit, model.bins[feature], term.scores, term.counts)
                mask[codes] = True
                term = replace(term, scores=scores)
        return mask

    def with_bins(self, bins: tuple[Bins, ...]) -> Self:
        """Return the same for other bins of the same sizes."""
        return replace(self, fitted=self.fitted.with_bins(bins))


def edits_in(model: AdditiveModel) -> Edits:
    """Return what is attached to a model of edits: none, where it has none."""
    attached = model.attachments.get(NAME)
    return attached if isinstance(attached, Edits) else Edits((), model)


def fitted_part(model: AdditiveModel) -> AdditiveModel:
    """Return a model without its edits."""
    return edits_in(model).fitted_part(model)


def edited(model: AdditiveModel, edits: Iterable[Edit], around: int | None = None) -> AdditiveModel:
    """Return a model after some edits instead of its own, from the first on; EditError where one does not fit.

    around : how many of these all else was learnt around; by default those of the model, which have to stay.

    Promises to rise or fall that the edits break are no longer made, and prediction intervals have to be calibrated
    anew.
    """
    own, fitted, edits = edits_in(model), fitted_part(model), tuple(edits)
    if around is None:
        around = own.around
        if edits[:around] != own.edits[:around]:
            raise EditError("All else was refit around the first edits, so they stay: undo them in the model before.")
    if not edits:
        return fitted
    if len(edits) > MOST_EDITS:
        raise EditError(f"The model has {len(edits)} edits, and {MOST_EDITS} are possible: leave some out.")
    after = fitted
    for edit in edits:
        after = _after(after, edit)
    return attached(replace(keeping(after), intervals=None), Edits(edits, fitted, around))


def attached(model: AdditiveModel, edits: Edits) -> AdditiveModel:
    """Return a model with edits attached, which its scores show already."""
    return replace(model, attachments={**model.attachments, NAME: edits})


def before_edits(model: AdditiveModel) -> AdditiveModel:
    """Return a model without the edits that can be undone."""
    own = edits_in(model)
    return edited(model, own.edits[: own.around])


def replayed(model: AdditiveModel, edits: Sequence[Edit]) -> tuple[AdditiveModel, list[tuple[Edit, str]]]:
    """Return a model after those edits that fit it, such as of an older model; and the others, each with the reason."""
    own = edits_in(model)
    fitting = list(own.edits[: own.around])
    others: list[tuple[Edit, str]] = []
    after = before_edits(model)
    stay = len(fitting) if list(edits[: len(fitting)]) == fitting else 0
    for edit in edits[stay:]:
        try:
            after = _after(after, edit)
            fitting.append(edit)
        except EditError as error:
            others.append((edit, str(error)))
    return edited(model, fitting), others


def place_of_pair(model: AdditiveModel, on: tuple[str, ...]) -> tuple[int, bool]:
    """Return the place of a pair given by the names of its features in either order, and whether they are turned;
    EditError where the model has no such pair."""
    names = [bins.feature.name for bins in model.bins]
    for place, pair in enumerate(model.pairs):
        own = tuple(names[j] for j in pair.features)
        if on in (own, own[::-1]):
            return place, on != own
    raise EditError(f"The model has no pair of {on[0]} and {on[1]}: leave the edit out.")


def _after(model: AdditiveModel, edit: Edit) -> AdditiveModel:
    """Return a model after one edit, its half-sample refits included."""
    if len(edit.on) == 2:
        return _with_pair(model, edit)
    names = [bins.feature.name for bins in model.bins]
    if edit.on[0] not in names:
        raise EditError(f"The model has no feature {edit.on[0]}: leave the edit out.")
    j = names.index(edit.on[0])
    scores, codes = edited_curve(edit, model.bins[j], model.terms[j].scores, model.terms[j].counts)
    moved = scores - model.terms[j].scores if edit.operation == "centre" else np.zeros(0)
    halves = model.halves and _with_scores(model.halves, j, scores=scores, codes=codes, moved=moved)
    return replace(_with_scores(model, j, scores=scores, codes=codes, moved=moved), halves=halves)


def _with_scores(model: AdditiveModel, j: int, scores: Floats, codes: Ints, moved: Floats) -> AdditiveModel:
    """Return a model with scores (size,) at some codes of a feature in all refits. moved : (size,) to be added to all
    of them; empty for nothing."""
    refits = model.terms[j].refits.copy()
    if moved.size:
        refits += moved
    refits[:, codes] = scores[codes]
    terms = list(model.terms)
    terms[j] = replace(model.terms[j], refits=refits, scores=refits.mean(axis=0))
    return replace(model, terms=tuple(terms))


def _with_pair(model: AdditiveModel, edit: Edit) -> AdditiveModel:
    place, is_turned = place_of_pair(model, edit.on)
    pair, where = model.pairs[place], edit.where[::-1] if is_turned else edit.where
    if edit.operation == "remove":
        cells: tuple[Ints, Ints] = (np.arange(pair.counts.shape[0]), np.arange(pair.counts.shape[1]))
    else:
        i, j = pair.features
        cells = where[0].codes(model.bins[i]), where[1].codes(model.bins[j])
    there = np.ix_(*cells)
    scores = changed(edit, pair.scores[there], pair.counts[there])
    halves = model.halves and _with_drawn(model.halves, place, scores, cells)
    return replace(_with_drawn(model, place, scores, cells), halves=halves)


def _with_drawn(model: AdditiveModel, place: int, scores: Floats, cells: tuple[Ints, Ints]) -> AdditiveModel:
    """Return a model whose pair has scores (m_1, m_2) in some cells, in all refits."""
    pair = model.pairs[place]
    drawn = np.full(pair.counts.shape, np.nan) if pair.drawn is None else pair.drawn.copy()
    drawn[np.ix_(*cells)] = scores
    pairs: list[PairTerm] = list(model.pairs)
    pairs[place] = replace(pair, drawn=drawn)
    return replace(model, pairs=tuple(pairs))
