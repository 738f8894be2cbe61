"""Where a core looks for what stands beside it, without importing it: the only place that does so by name.

An addition is a folder in `additions`. It gives the core instances of classes that the core defines, as constants of
its `addition.py`; which class it is says what they are for. One without that file gives the core nothing: it only
takes fitted models. Its public names are the `__all__` of its `__init__.py`, which is read and not run, so that
listing names loads nothing. The application has additions of its own (`shapewise/seam.py`).
"""

from __future__ import annotations

import ast
import pkgutil
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Final, TypeVar

Declared = TypeVar("Declared")


@dataclass(frozen=True)
class Additions:
    """What stands beside the core of a package. folder : where the additions are. package : its name in imports."""

    folder: Path
    package: str

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the additions that are there, in order."""
        return tuple(sorted(module.name for module in pkgutil.iter_modules([str(self.folder)]) if module.ispkg))

    @cached_property
    def public_names(self) -> dict[str, str]:
        """The addition of each public name that additions give to the package."""
        return {name: addition for addition in self.names for name in _listed(self.folder / addition / "__init__.py")}

    def public(self, name: str) -> object:
        """Return what an addition gives to the package under one of its public names."""
        return getattr(import_module(f"{self.package}.{self.public_names[name]}"), name)

    def declared(self, kind: type[Declared]) -> list[Declared]:
        """Return all that the additions declare of a kind, by the order of their names."""
        return [value for addition in self.names for value in self.declared_by(addition, kind)]

    def declared_by(self, addition: str, kind: type[Declared]) -> list[Declared]:
        """Return what one addition declares of a kind; nothing where it is not there."""
        if addition not in self.names or not (self.folder / addition / "addition.py").is_file():
            return []
        variables = vars(import_module(f"{self.package}.{addition}.addition")).items()
        return [value for name, value in variables if isinstance(value, kind) and name.isupper()]


ADDITIONS: Final = Additions(Path(__file__).parents[1] / "additions", "gamcore.additions")
"""Those of the library."""


def _listed(path: Path) -> list[str]:
    """Return the names that a module lists in `__all__`, which has to be a plain list of texts."""
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            return list(ast.literal_eval(statement.value))
    return []
