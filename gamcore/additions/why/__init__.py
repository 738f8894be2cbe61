"""Why a rate differs between two groups of rows: who came, what changed, and what neither explains."""

from gamcore.additions.why.moved import WhyMoved
from gamcore.additions.why.reading import why_moved

__all__ = ["WhyMoved", "why_moved"]
