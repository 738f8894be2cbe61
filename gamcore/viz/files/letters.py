"""Fonts for the letters of a text, and what they need on a line.

The house font has Latin, Greek and Cyrillic letters. For all others the fonts that the machine has are looked at,
DejaVu Sans first, which comes with matplotlib. Where none has a letter, a sentence says so: nobody should have to guess
what a box stands for.
"""

from __future__ import annotations

import base64
import io
import re
import textwrap
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from fontTools import subset
from fontTools.ttLib import TTFont
from fontTools.unicodedata import block, script, script_name
from matplotlib.font_manager import FontEntry, findSystemFonts, ttfFontProperty
from matplotlib.ft2font import FT2Font

HOUSE: Final = "Shapewise Sans"
FILES: Final = {
    weight: Path(__file__).parent / "fonts" / f"ShapewiseSans-{name}.ttf"
    for name, weight in (("Regular", 400), ("SemiBold", 600))
}
"""The files of the house font by weight."""
UNSEEN: Final = ("Cc", "Cf")
"""Categories of characters that are not drawn."""
NO_SCRIPT: Final = ("Zyyy", "Zinh", "Zzzz")
"""Codes of what all scripts share, such as signs, and of what belongs to none: it is named by its block."""
RESTRICTED: Final = 0x2
"""The embedding permission of fonts that may be in no file."""
FILLER: Final = "\0"
"""Stands beside a wide letter while lines are counted."""


@dataclass(frozen=True, eq=False)
class Face:
    """A font for a text. entry : the font as matplotlib lists it; codes : the sorted code points that it has."""

    entry: FontEntry
    codes: np.ndarray

    def having(self, letters: Iterable[str]) -> set[str]:
        """Return those of some letters that the font has."""
        given = sorted(letters)
        return {letter for letter, has in zip(given, np.isin([*map(ord, given)], self.codes), strict=True) if has}

    @property
    def is_postscript(self) -> bool:
        """Whether its outlines are PostScript's, which a PDF cannot hold as TrueType."""
        with TTFont(self.entry.fname, fontNumber=self.entry.index, lazy=True) as font:
            return str(font.sfntVersion) == "OTTO"


def letters_of(value: object) -> frozenset[str]:
    """Return the letters of all texts of a description."""
    return frozenset().union(*map(set, _texts(value))) - {"\n"}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif is_dataclass(value) and not isinstance(value, type):
        for each in fields(value):
            yield from _texts(getattr(value, each.name))
    elif isinstance(value, tuple | list) or (isinstance(value, np.ndarray) and value.dtype == object):
        for item in value:
            yield from _texts(item)


def faces(letters: frozenset[str]) -> list[Face]:
    """Return fonts that together have what the house font lacks of some letters, as far as the machine has any.

    Letters of one script come from one font if possible, since their forms depend on each other. The fonts with the
    fewest letters are first, and those of signs last: none should take a few letters from the font that was made for
    their script.
    """
    return _chosen(_foreign(letters))


def lacking(letters: frozenset[str]) -> str:
    """Return the sentence about letters that no font of the machine has; "" if there are none."""
    left = _foreign(letters).difference(*(face.having(letters) for face in faces(letters)))
    if not left:
        return ""
    names = sorted({block(c) if script(c) in NO_SCRIPT else script_name(script(c)) for c in left})
    named = " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
    return (
        f"No font on the machine that made this has its letters of {named}: "
        "install one there, such as a Noto font (fonts.google.com/noto)."
    )


def families(letters: frozenset[str]) -> list[str]:
    """Return the names of fonts that a text is written in after the house font, for matplotlib and for CSS."""
    return [*dict.fromkeys(face.entry.name for face in faces(letters))]


def font_faces(letters: frozenset[str], house: str = HOUSE, *, whole: bool = False) -> str:
    """Return CSS that brings the house font and the `families` of a text along, with the letters that are used of each.

    house : the name of the house font there. whole : whether it has all of its letters, for a page that writes more
    than these.
    """
    kept = letters if not whole else frozenset(map(chr, _house().codes))
    rules = [_rule(house, weight, path, letters=kept, features=("kern",)) for weight, path in FILES.items()]
    for face in faces(letters):
        font, used = face.entry, frozenset(face.having(letters))
        rules.append(_rule(font.name, int(font.weight), font.fname, letters=used, index=font.index))
    return "".join(rules)


@lru_cache(32)
def _rule(
    family: str, weight: int, path: str | Path, *, letters: frozenset[str], index: int = 0,
    features: tuple[str, ...] = (),
) -> str:  # fmt: skip
    """Return the CSS of one font with some of its letters. features : how letters change each other; all if empty."""
    options = subset.Options(flavor="woff", notdef_outline=True, hinting=False, font_number=index)
    options.drop_tables += ["FFTM"]  # when it was edited
    options.layout_features = list(features) or options.layout_features
    with subset.load_font(str(path), options) as font:
        chosen = subset.Subsetter(options)
        chosen.populate(unicodes=[*map(ord, letters)])
        chosen.subset(font)
        file = io.BytesIO()
        subset.save_font(font, file, options)
    source = f"url(data:font/woff;base64,{base64.b64encode(file.getvalue()).decode()})"
    return f"@font-face{{font-family:'{family}';font-weight:{weight};src:{source}}}"


def _foreign(letters: frozenset[str]) -> frozenset[str]:
    """Return the letters to draw that the house font lacks."""
    return frozenset(c for c in letters - _house().having(letters) if unicodedata.category(c) not in UNSEEN)


@cache
def _house() -> Face:
    return _face(str(FILES[400]), 0)


@lru_cache(64)
def _chosen(letters: frozenset[str]) -> list[Face]:
    groups: defaultdict[str, set[str]] = defaultdict(set)
    for letter in letters:
        groups["" if (code := script(letter)) in NO_SCRIPT else code].add(letter)
    region = "JP" if groups.keys() & {"Hira", "Kana"} else "KR" if "Hang" in groups else "SC"
    signs = groups.pop("", set())
    chosen: list[Face] = []
    for _, group in sorted(groups.items()):
        chosen += _together(group, chosen, region)
    chosen.sort(key=lambda face: face.codes.size)
    return chosen + _together(signs, chosen, region)


def _together(letters: set[str], chosen: Sequence[Face], region: str) -> list[Face]:
    """Return fonts for those of some letters that the fonts chosen before lack."""
    more: list[Face] = []
    left = letters.difference(*(face.having(letters) for face in chosen))
    while left and (best := max(_installed(), key=lambda face: _fit(face, left, region))).having(left):
        more.append(best)
        left -= best.having(left)
    return more


def _fit(face: Face, letters: set[str], region: str) -> tuple[int, bool, bool, bool, int]:
    """Return how well a font is suited, to be compared: the letters that it has, then how plain it looks."""
    font = face.entry
    plain = font.style == font.stretch == "normal"
    sans = "Sans" in font.name and "Mono" not in font.name
    return len(face.having(letters)), plain, sans, font.name.endswith(region), -abs(int(font.weight) - 400)


@cache
def _installed() -> list[Face]:
    """Return the machine's fonts that can be drawn and embedded; of equal ones the first is taken."""
    own = Path(mpl.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    listed = []
    for path in [str(own), *sorted(findSystemFonts())]:
        try:
            count = FT2Font(path).num_faces
            listed += [_face(path, k) for k in range(count)]
        except (RuntimeError, OSError, NotImplementedError, ValueError, KeyError):
            continue  # a font that cannot be read, or of pixels only
    return [face for face in listed if face.codes.size]


def _face(path: str, index: int) -> Face:
    font = FT2Font(path, face_index=index)
    permissions: Any = font.get_sfnt_table("OS/2") or {}
    usable = permissions.get("fsType", 0) & 0xF != RESTRICTED
    codes = np.fromiter(font.get_charmap(), np.int64) if usable else np.empty(0, np.int64)
    return Face(ttfFontProperty(font), np.sort(codes))


def span_of(text: str) -> int:
    """Return how many columns a text takes: letters of Chinese, Japanese and Korean take two."""
    return len(_filled(text))


def wrap(text: str, width: int) -> list[str]:
    """Return a paragraph wrapped to lines of at most `width` columns."""
    filled = _filled(text)
    room = max(width - (FILLER in filled), 1)  # a line may end between a letter and its filler
    return [line.replace(FILLER, "") for line in textwrap.wrap(filled, room)]


def _filled(text: str) -> str:
    return re.sub(r"[^\x00-\u10ff]", lambda match: match[0] + FILLER * _is_wide(match[0]), text)


def _is_wide(letter: str) -> bool:
    return unicodedata.east_asian_width(letter) in ("W", "F")
