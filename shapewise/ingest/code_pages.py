"""The encoding of a text that is not Unicode.

chardet ranks encodings by the pairs of letters in them. It is given the cells with letters beyond ASCII alone, as a few
towns among many codes say nothing; what it ranks about as high is told apart by what people use and by what stands
within words."""

from __future__ import annotations

import codecs
import re
import unicodedata
from dataclasses import dataclass
from typing import Final

import chardet

from shapewise.ingest.common import ReaderError

KNOWN: Final = (
    # What Windows writes, where it does not write Unicode: the name of all that read a text in the same way.
    "cp1252", "cp932", "gb18030", "big5hkscs", "cp949", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256",
    "cp1257", "cp1258", "cp874",
    # What Unix, MS-DOS and the Mac wrote.
    "euc_jis_2004", "shift_jis_2004", "iso2022_jp_2", "iso8859-15", "iso8859-1", "iso8859-2", "iso8859-4", "iso8859-5",
    "iso8859-6", "iso8859-7", "iso8859-8", "iso8859-9", "iso8859-13", "koi8-r", "koi8-u", "mac-roman", "mac-latin2",
    "mac-cyrillic", "cp437", "cp737", "cp775", "cp850", "cp852", "cp855", "cp857", "cp861", "cp862", "cp865", "cp866",
    "cp869",
)  # fmt: skip
WESTERN_PRIOR: Final = 1.3
"""How much oftener than any other the encoding of Western Europe is met."""

CELL: Final = re.compile(rb'[\r\n\t;,"]')
"""Between cells; a bar may be the second byte of a letter."""

APOSTROPHE: Final = "’"

LOOKED_AT: Final = 200_000
MOST_BYTES: Final = 20_000
CLOSE: Final = 1.3
"""Two encodings are told apart where one is this many times as likely as the other."""

LEAST: Final = 0.3
"""A single sign behind a letter may be right: it counts against an encoding, and rules none out."""

TYPOGRAPHY: Final = re.compile(
    r"(?<=[a-z])’(?=(?:s|t|re|ve|ll|m|d)\b)|“[A-Za-z0-9][^“”\n]*[A-Za-z0-9.,!?]”|(?<![^\d\s])[–—](?![^\d\s])"
    r"|€(?= ?\d)|(?<=\d)€|(?<=\d )€|(?<=\d)°|(?<![^\d\s])[¼½¾](?!\S)",
    re.IGNORECASE,
)
"""Signs where English text and amounts have them: it’s, “so”, 1 – 2, 5 €, 20°, 1½."""

KANA: Final = re.compile("[\u3040-\u30ff]")
KANA_SHARE: Final = 0.7


@dataclass(frozen=True)
class Reading:
    """What an encoding makes of the cells with letters beyond ASCII."""

    likelihood: float
    encoding: str
    text: str


def code_page_of(head: bytes, notes: list[str]) -> str:
    """Return the likeliest encoding of a text that is not Unicode, noting a cell as it is read so, and how the next
    likeliest reads it if that is about as likely."""
    part = head[:LOOKED_AT]
    if not part.isascii():
        cells = (cell.strip() for cell in CELL.split(part))
        part = b"\n".join(dict.fromkeys(cell for cell in cells if not cell.isascii()))[:MOST_BYTES]
    readings = _readings(part)
    if not readings:
        raise ReaderError("The file is not text in a known encoding: save it as UTF-8 and load it again.")
    likeliest, *others = readings
    note = f"Decoded from {likeliest.encoding}, so that a cell is {_shown(likeliest.text)}"
    if others and CLOSE * others[0].likelihood > likeliest.likelihood:
        mine, theirs = _first_difference(likeliest.text, others[0].text)
        note = (
            f"Decoded from {likeliest.encoding}, which {others[0].encoding} fits about as well: "
            f"{_shown(mine)} would be {_shown(theirs)}"
        )
    notes.append(f"{note}. If that looks odd, save the file as UTF-8.")
    return likeliest.encoding


def _readings(part: bytes) -> list[Reading]:
    """Return the ways to read a text, the likeliest first."""
    ranked = chardet.detect_all(part, ignore_threshold=True, compat_names=False, include_encodings=KNOWN)
    likelihoods = {str(rank["encoding"]): rank["confidence"] for rank in ranked if rank["encoding"]}
    # Katakana alone has too few lead bytes for chardet.
    likelihoods |= {name: 1.0 for name in ("cp932", "euc_jis_2004") if _is_kana(part, name)}
    western = _decoded(part, "cp1252")
    is_typed = western is not None and not western.isascii() and TYPOGRAPHY.sub("", western).isascii()
    likelihoods["cp1252"] = 1.0 if is_typed else WESTERN_PRIOR * likelihoods.get("cp1252", 0.0)
    names: dict[str, list[str]] = {}  # by text, in chardet's order, which tells apart what is alike
    for name in likelihoods:
        if (text := _decoded(part, name)) is not None:
            names.setdefault(text, []).append(name)
    readings = [
        Reading(max(map(likelihoods.__getitem__, alike)) * max(1 - _oddity(text), LEAST) ** 4,
                min(alike, key=KNOWN.index), text)
        for text, alike in names.items()
    ]  # fmt: skip
    return sorted(readings, key=lambda reading: -reading.likelihood)


def _decoded(part: bytes, encoding: str) -> str | None:
    try:
        return codecs.getincrementaldecoder(encoding)().decode(part)  # a long text may be cut within its last letter
    except UnicodeDecodeError:
        return None


def _is_kana(part: bytes, encoding: str) -> bool:
    text = _decoded(part, encoding)
    return text is not None and len(KANA.findall(text)) > KANA_SHARE * sum(not letter.isascii() for letter in text)


def _oddity(text: str) -> float:
    """Return the share of the characters beyond ASCII that are capitals behind small letters, letters of Greek or
    Cyrillic beside those of Latin, signs behind letters or right before small ones, or nothing at all; signs in their
    usual places are none of them."""
    odd = beyond = 0
    text = TYPOGRAPHY.sub("", text)
    for before, sign, after in zip(" " + text, text, text[1:] + " ", strict=False):
        if sign.isascii():
            continue
        beyond += 1
        kind = unicodedata.category(sign)
        capital_within = kind == "Lu" and (before.islower() or (before.isupper() and after.islower()))
        beside_latin = (
            sign.upper() != sign.lower()
            and not unicodedata.name(sign).startswith("LATIN")
            and any(letter.isascii() and letter.isalpha() for letter in (before, after))
        )
        is_sign = kind[0] in "SNZ" or kind in ("Po", "Pi", "Pf", "Ps", "Pe")
        is_sign &= not (sign == APOSTROPHE and before.isalpha() and after.isalpha())
        sign_behind = is_sign and before.isalpha() and (after.isalpha() or kind not in ("So", "Sc"))  # as in Acme®
        odd += capital_within or beside_latin or sign_behind or (kind[0] == "S" and after.islower()) or kind[0] == "C"
    return odd / max(beyond, 1)


def _first_difference(mine: str, theirs: str) -> tuple[str, str]:
    """Return the first lines in which two readings differ."""
    pairs = zip(mine.split("\n"), theirs.split("\n"), strict=False)
    return next(((line, other) for line, other in pairs if line != other), (mine, theirs))


def _shown(text: str) -> str:
    """Return the first line of a text that has letters beyond ASCII, as it is quoted."""
    lines = [line.strip() for line in text.split("\n")]
    return repr(next((line for line in lines if not line.isascii()), lines[0])[:40])
