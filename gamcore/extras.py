"""Say which extra a library comes with, where one is missing: a model needs few, and no more are installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Import what an extra of the distribution brings; ImportError in one sentence where it is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "a library").partition(".")[0]
        raise ImportError(f'{package} is not installed: run pip install "gamcore[{name}]".', name=error.name) from error
