"""Numbers and names as text on a page."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime

from shapewise.store.workspace import ModelAbout

WORD_JOINER = "\u2060"
_LINKED = re.compile(r"https?|ftp|www|mailto|xmpp|@", re.IGNORECASE)  # what Markdown turns into links by itself
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>$:~^])")


def md(text: object) -> str:
    """Return a name from data as plain Markdown: streamlit's labels would take it for markup."""
    plain = _LINKED.sub(lambda match: match.group() + WORD_JOINER, " ".join(str(text).split()))
    return _SPECIAL.sub(r"\\\1", plain)


def count(number: float) -> str:
    """Return a whole number with separators."""
    return f"{number:,.0f}"


def size(n_bytes: float) -> str:
    """Return the bytes in a fitting unit."""
    for name in ("bytes", "KB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:,.0f} {name}"
        n_bytes /= 1000
    return f"{n_bytes:,.1f} GB"


def duration(seconds: float) -> str:
    """Return the seconds as a person would say them."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min"


def number(value: float) -> str:
    """Return a number with the digits that mean something."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def date(iso: str) -> str:
    """Return a stored time, to the minute."""
    return datetime.fromisoformat(iso).astimezone().strftime("%Y-%m-%d %H:%M")


def metric(model: ModelAbout) -> str:
    """Return the one metric of a model, named."""
    if "auc" in model.metrics:
        return f"AUC {model.metrics['auc']:.3f}"
    return f"RMSE {number(model.metrics['rmse'])}" if "rmse" in model.metrics else "not measured"


def told_apart(labels: dict[str, str]) -> dict[str, str]:
    """Return the labels by id, equal ones with the beginning of their ids: the browser knows an option by its label
    only."""
    counts = Counter(labels.values())
    return {key: f"{label} · {key[:4]}" if counts[label] > 1 else label for key, label in labels.items()}
