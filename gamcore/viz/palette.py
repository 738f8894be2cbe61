"""The colours of both themes by role, and names from data as labels."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Final, Literal

from gamcore.data.labels import whole_letters
from gamcore.viz.spec import ColorRole

Mode = Literal["light", "dark"]
FONT: Final = '"Source Sans", "Source Sans Pro", "Source Sans 3", sans-serif'
MOST_LABEL: Final = 28
TURNING: Final = "\u202d\u202e"
"""Unicode overrides of the writing direction."""

MARK: Final = "\ufeff"
"""The byte order mark, which some programs write into texts."""
OKABE_ITO: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
"""Categorical colours, in a fixed order (Okabe and Ito 2008)."""


@dataclass(frozen=True)
class Palette:
    """The colours of one theme; `band` and `wide` are the opacities of a band and of a wide band."""

    background: str
    ink: str
    muted: str
    hairline: str
    primary: str
    accent: str
    density: str
    zero: str
    few: str
    band: float
    wide: float

    def of(self, role: ColorRole) -> str:
        """Return the colour of a role, as #RRGGBB."""
        return OKABE_ITO[role % len(OKABE_ITO)] if isinstance(role, int) else str(getattr(self, role))

    def shade(self, role: ColorRole, opacity: float) -> str:
        """Return the colour of a role at an opacity, as rgba(...)."""
        red, green, blue = rgb(self.of(role))
        return f"rgba({red},{green},{blue},{opacity:g})"


PALETTES: Final[dict[Mode, Palette]] = {
    "light": Palette(
        background="#FFFFFF",
        ink="#0D151D",
        muted="#5E6B78",
        hairline="#E6EAEE",
        primary="#1F5FA8",
        accent="#C2571A",
        density="#C9D3DD",
        zero="#8A96A3",
        few="#A9B4BF",
        band=0.16,
        wide=0.09,
    ),
    "dark": Palette(
        background="#0F151B",
        ink="#E8EDF2",
        muted="#9AA7B4",
        hairline="#26313B",
        primary="#6FB1FF",
        accent="#FF9A5C",
        density="#33424F",
        zero="#71808E",
        few="#55636F",
        band=0.20,
        wide=0.11,
    ),
}


def rgb(color: str) -> tuple[int, int, int]:
    """Return #RRGGBB as three numbers from 0 to 255."""
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def clean(text: str) -> str:
    """Return a text without the characters that files cannot hold or that reverse the writing direction.

    Removed are controls except newlines, surrogates, unassigned characters, and the byte order mark, which breaks PDFs.
    """
    return "".join(
        c for c in text if c == "\n" or not (unicodedata.category(c) in ("Cc", "Cs", "Cn") or c in TURNING or c == MARK)
    )


def shorten(text: str, n_labels: int) -> str:
    """Return a label that leaves room for its neighbours: cut in the middle, since names often differ at their end."""
    most = MOST_LABEL if n_labels <= 8 else MOST_LABEL // 2
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}…{whole_letters(text[-(most - most // 2 - 1) :])}"
