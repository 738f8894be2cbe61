"""Names that break code which does not escape them."""

from __future__ import annotations

EVIL = "<img src=x onerror=alert(1)> [a](http://b) $x$ :red[c]"
