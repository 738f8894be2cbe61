"""Settings of the estimators, each declared once: default, range, meaning and form input.

Constructors, validation, docstrings, forms, tuning, cost estimates and docs/api/parameters.md read these declarations.
A setting is a dataclass field, which gives the constructor its signature; everything else is in the field's metadata.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cache
from numbers import Integral, Real
from textwrap import indent, wrap
from typing import Any, Final, TypeVar

from sklearn.utils._param_validation import Interval, StrOptions

MAX_ROUNDS: Final = 1_000_000
MOST_REFITS: Final = 1_000
THREADS: Final = [Interval(Integral, None, -1, closed="right"), Interval(Integral, 1, 4096, closed="both"), None]
"""A number of threads; -1 is all processors, -2 all but one, as in scikit-learn."""

LINE: Final = 116

Value = TypeVar("Value")


@dataclass(frozen=True)
class Input:
    """Form input of a number: its label, a hint on what it does, and the range offered."""

    label: str
    hint: str
    low: float
    high: float
    step: float | None = None
    format: str | None = None

    @property
    def range(self) -> dict[str, Any]:
        """Arguments of a numeric form field."""
        options = {"min_value": self.low, "max_value": self.high, "step": self.step, "format": self.format}
        return {name: value for name, value in options.items() if value is not None}


@dataclass(frozen=True)
class Setting:
    """Metadata of a setting, besides its name, type and default.

    allowed : scikit-learn validation constraints.
    meaning : text for docstrings and docs.
    paper : its name or value in the papers; empty where they have none.
    search : values that tuning draws from; a value listed twice is drawn twice as often.
    """

    allowed: list[Any]
    meaning: str
    form: Input | None = None
    paper: str = ""
    search: tuple[Any, ...] = ()


def parameter(
    default: Value,
    allowed: list[Any],
    meaning: str,
    *,
    form: Input | None = None,
    paper: str = "",
    search: tuple[Any, ...] = (),
) -> Value:
    """Declare a setting as a dataclass field."""
    setting: Value = field(default=default, metadata={"about": Setting(allowed, meaning, form, paper, search)})
    return setting


def one_of(*names: str) -> list[Any]:
    """Return the validation constraint for one of these strings."""
    return [StrOptions(set(names))]


def whole(low: int, high: int | None = None) -> list[Any]:
    """Return the validation constraint for a whole number, both ends included."""
    return [Interval(Integral, low, high, closed="left" if high is None else "both")]


def real(low: float, high: float, closed: str) -> list[Any]:
    """Return the validation constraint for a real number; `closed` says which ends are included."""
    return [Interval(Real, low, high, closed=closed)]


@cache
def abouts(cls: type) -> dict[str, Setting]:
    """Return the metadata of each setting of an estimator."""
    return {setting.name: setting.metadata["about"] for setting in _declared(cls)}


def constraints(cls: type) -> dict[str, Any]:
    """Return the validation constraints of each setting."""
    return {setting.name: setting.metadata["about"].allowed for setting in _declared(cls)}


@cache
def _defaults(cls: type) -> dict[str, Any]:
    return {setting.name: setting.default for setting in _declared(cls)}


def defaults(cls: type) -> dict[str, Any]:
    """Return the default of each setting."""
    return dict(_defaults(cls))


def inputs(cls: type) -> dict[str, Input]:
    """Return the form inputs of the settings that have one."""
    return {name: about.form for name, about in abouts(cls).items() if about.form is not None}


def searched(cls: type) -> dict[str, list[Any]]:
    """Return the values that tuning draws from, for each tuned setting."""
    return {name: list(about.search) for name, about in abouts(cls).items() if about.search}


def document(cls: type) -> str:
    """Return the settings as a section of a docstring."""
    lines = []
    for setting in _declared(cls):
        lines.append(f"{setting.name} : {type_of(setting)}, default {setting.default!r}")
        lines.append(indent("\n".join(wrap(setting.metadata["about"].meaning, LINE - 8)), "    "))
    return indent("\n".join(lines), "    ").lstrip()


def table(cls: type) -> list[tuple[str, str, str]]:
    """Return the name, default and paper's name or value of each setting, for docs."""
    return [(setting.name, repr(setting.default), setting.metadata["about"].paper) for setting in _declared(cls)]


def type_of(setting: Field[Any]) -> str:
    """Return a setting's type, in words."""
    text = str(setting.type).replace("Literal[", "").replace("np.random.", "").replace("]", "")
    named = {"callback": 'callable, "progress" or None', "interactions": 'int, "auto" or list of pairs',
             "triples": 'int, "auto" or list of triples',
             "categorical_features": '"infer" or list of columns',
             "common_features": '"all", "shared" or list of columns'}  # fmt: skip
    if text == "str":  # one of names that are not known to the type
        text = ", ".join(f'"{name}"' for option in setting.metadata["about"].allowed for name in sorted(option.options))
    return named.get(setting.name, text.replace(" | None", " or None").replace(", ", " | "))


def _declared(cls: type) -> list[Field[Any]]:
    return [setting for setting in fields(cls) if setting.default is not MISSING]
