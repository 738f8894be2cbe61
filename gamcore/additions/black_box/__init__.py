"""What a readable model gives up: a black box on the same rows, how much better it is, and where it knows more."""

from gamcore.additions.black_box.price import PriceOfReadability
from gamcore.additions.black_box.reading import price_of_readability

__all__ = ["PriceOfReadability", "price_of_readability"]
