"""The training runs that this session began: the model of one comes into view when it is trained, whatever page is
shown then."""

from __future__ import annotations

import streamlit as st

from shapewise.errors import StoreError
from shapewise.training import runs
from shapewise.ui.session import current, news, state
from shapewise.ui.session.words import md, metric

FOLLOWED = "followed_runs"


def follow(run: str) -> str:
    """Put the model of a run in view as soon as it is trained, whatever page this session shows then."""
    st.session_state[FOLLOWED] = [*ids(), run]
    return run


def ids() -> list[str]:
    """Return the runs that have not ended yet, as far as this session knows."""
    return list(st.session_state.get(FOLLOWED, []))


def take_in() -> bool:
    """Put the models of followed runs in view that are trained; return whether there is news of any of the runs."""
    are_news = [_ended(identifier) for identifier in ids()]  # of each, so that each is taken off the list
    return any(are_news)


def _ended(identifier: str) -> bool:
    """Take a followed run that has ended off the list; return whether that is news."""
    try:
        run = runs.read(state.workspace(), identifier)
    except StoreError:
        run = None
    if run is not None and run.goes_on and not run.model:
        return False
    st.session_state[FOLLOWED] = [other for other in ids() if other != identifier]
    if run is None:
        return False
    if not run.model:
        failed = run.state in ("failed", "interrupted")
        if failed:
            news.tell(f"{md(run.spec.name)} could not be trained: open Train to see why.", ":material/error:")
        return failed
    current.open_model(run.model)
    about = state.workspace().models.about(run.model)
    news.tell(f"{md(about.name)} is trained ({metric(about)}) and now in view.", ":material/check_circle:")
    return True
