"""Why a rate differs between two groups of rows: who came, what changed, and what neither explains."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gamcore.additions.why.moved import WhyMoved
    from gamcore.additions.why.reading import why_moved

__all__ = ["WhyMoved", "why_moved"]

_HOME = {"WhyMoved": "moved", "why_moved": "reading"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
