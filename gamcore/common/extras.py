"""Optional libraries: a missing one is reported with the extra that installs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Guard the import of an extra's libraries: raise ImportError with the command that installs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "a library").partition(".")[0]
        raise ImportError(
            f'{package} is not installed: run pip install "shapewise[{name}]".', name=error.name
        ) from error
