"""What a readable model gives up: a black box on the same rows, how much better it is, and where it knows more."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gamcore.additions.black_box.price import PriceOfReadability
    from gamcore.additions.black_box.reading import price_of_readability

__all__ = ["PriceOfReadability", "price_of_readability"]

_HOME = {"PriceOfReadability": "price", "price_of_readability": "reading"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
