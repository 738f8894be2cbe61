"""Where the core looks for what stands beside it, without importing it: the only place that does so by name.

An addition is a folder in `gamcore/additions`. It gives the core instances of classes that the core defines, as
constants of its `addition.py`; which class it is says what they are for. One without that file gives the core nothing:
it only takes fitted models. Its public names are the `__all__` of its `__init__.py`, which is read and not run, so that
listing names loads nothing.
"""

from __future__ import annotations

import ast
import pkgutil
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final, TypeVar

Declared = TypeVar("Declared")

FOLDER: Final = Path(__file__).parent / "additions"
PACKAGE: Final = "gamcore.additions"


@cache
def additions() -> tuple[str, ...]:
    """Return the names of the additions that are there, in order."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules([str(FOLDER)]) if module.ispkg))


@cache
def public_names() -> dict[str, str]:
    """Return the addition of each public name that additions give to `gamcore`."""
    return {name: addition for addition in additions() for name in _listed(FOLDER / addition / "__init__.py")}


def public(name: str) -> object:
    """Return what an addition gives to `gamcore` under one of its public names."""
    return getattr(import_module(f"{PACKAGE}.{public_names()[name]}"), name)


def declared(kind: type[Declared]) -> dict[str, Declared]:
    """Return what each addition declares of a kind, by the addition's name; those without are left out."""
    known = {addition: declared_by(addition, kind) for addition in additions()}
    return {addition: value for addition, value in known.items() if value is not None}


def declared_by(addition: str, kind: type[Declared]) -> Declared | None:
    """Return what one addition declares of a kind; None where it declares nothing, or is not there."""
    if addition not in additions() or not (FOLDER / addition / "addition.py").is_file():
        return None
    variables = vars(_declaration(addition)).items()
    return next((value for name, value in variables if isinstance(value, kind) and name.isupper()), None)


def _declaration(addition: str) -> ModuleType:
    return import_module(f"{PACKAGE}.{addition}.addition")


def _listed(path: Path) -> list[str]:
    """Return the names that a module lists in `__all__`, which has to be a plain list of texts."""
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            return list(ast.literal_eval(statement.value))
    return []
