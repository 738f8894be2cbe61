"""Numba's knowledge of types and of code, with a memory for what a kernel asks again and again.

Numba tries all its rules for `a + b` at each `+` of each kernel, and looks for new rules whenever an array is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from numba.core import types
from numba.core.cpu import CPUContext
from numba.core.imputils import RegistryLoader
from numba.core.typing import Context

KINDS = RegistryLoader.registry_items
"""What a registry of numba has lists of."""


class RememberedTypes(Context):  # type: ignore[misc]
    """A typing context that shares all that another knows, and remembers what its built-in functions return."""

    def __init__(self, shared: Context) -> None:
        self.__dict__ = shared.__dict__
        self._remembered: dict[Any, Any] = {}

    def _resolve_user_function_type(self, func: Any, args: Any, kws: Any, literals: Any = None) -> Any:
        own_rules = isinstance(func, types.Callable) and type(func) is not types.Function  # such as another kernel
        if kws or own_rules or not all(isinstance(kind, types.Type) for kind in args):
            return super()._resolve_user_function_type(func, args, kws, literals)
        key = func, tuple(args)
        if self._remembered.get(key) is None:
            self._remembered[key] = super()._resolve_user_function_type(func, args, kws, literals)
        return self._remembered[key]


@cache
def remembered_types(shared: Context) -> RememberedTypes:
    """Return the one such context."""
    return RememberedTypes(shared)


@contextmanager
def refreshed_if_needed(code: CPUContext) -> Iterator[None]:
    """Look for new rules only where some were registered. For use under numba's lock of compilations."""
    always = code.refresh
    seen: list[int] = []

    def refresh() -> None:
        registered = [len(getattr(rules, kind)) for rules in code._registries for kind in KINDS]
        if not seen or seen != registered:
            always()
            seen[:] = registered

    code.refresh = refresh
    try:
        yield
    finally:
        del code.refresh
