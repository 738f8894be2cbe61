"""Names, times and metrics as text on a page; numbers are written by `gamcore.common.numbers`."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime

from gamcore.common.numbers import count as count
from gamcore.common.numbers import counted as counted
from gamcore.common.numbers import duration as duration
from gamcore.common.numbers import number as number
from gamcore.common.numbers import percent
from gamcore.common.numbers import size as size
from shapewise.store.workspace import ModelAbout
from shapewise.training.main_metric import main_metric_words

WORD_JOINER = "\u2060"
_LINKED = re.compile(r"https?|ftp|www|mailto|xmpp|@", re.IGNORECASE)  # what Markdown turns into links
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>$:~^])")


def md(text: object) -> str:
    """Escape a name from data for Markdown: Streamlit's labels would read it as markup."""
    plain = _LINKED.sub(lambda match: match.group() + WORD_JOINER, " ".join(str(text).split()))
    return _SPECIAL.sub(r"\\\1", plain)


def date(iso: str) -> str:
    """Return a stored time in local time, to the minute."""
    return datetime.fromisoformat(iso).astimezone().strftime("%Y-%m-%d %H:%M")


def metric(model: ModelAbout) -> str:
    """Return the main metric of a model, with its name."""
    return main_metric_words(model.metrics) or "not measured"


def told_apart(labels: dict[str, str]) -> dict[str, str]:
    """Return labels by id, made unique with the start of the id: the browser identifies an option only by its label."""
    counts = Counter(labels.values())
    return {key: f"{label} · {key[:4]}" if counts[label] > 1 else label for key, label in labels.items()}


def less(share: float) -> str:
    """Return by how much something is less than something else, as a share of that, in words."""
    return f"{percent(abs(share))} {'less' if share >= 0 else 'more'} than"
