"""Text that is not Unicode, in the languages and encodings that offices write: is each letter read right?

    python -m benchmarks.files.encodings --doc docs/benchmarks/files.md

The words are real: names of places, or of languages, in the Unicode CLDR (by Babel). Most tables have few of them among
codes and English, as exports have. What the reader was developed on are the places."""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

import pandas as pd
from babel import Locale

from benchmarks.harness.page import markdown, publish
from shapewise.ingest.common import ReaderError
from shapewise.ingest.layout import encoding_of

Words = Literal["places", "languages"]
MARKS: Final = ("<!-- encodings -->", "<!-- /encodings -->")
WRITTEN: Final = {
    "pl cs hu": "cp1250 iso8859_2 cp852 mac_latin2", "hr ro": "cp1250 iso8859_2",
    "de fr": "cp1252 iso8859_15 mac_roman cp850", "es pt sv": "cp1252 mac_roman cp850", "da": "cp1252 mac_roman cp865",
    "is": "cp1252", "tr": "cp1254 cp857", "el": "cp1253 iso8859_7 cp737",
    "ru": "cp1251 koi8_r cp866 iso8859_5 mac_cyrillic", "uk": "cp1251 koi8_u", "bg": "cp1251", "he": "cp1255",
    "ar": "cp1256 iso8859_6", "lt lv et": "cp1257", "vi": "cp1258", "th": "cp874", "ja": "cp932 euc_jp iso2022_jp",
    "zh_Hans": "gb18030", "zh_Hant": "big5", "ko": "cp949",
}  # fmt: skip
SIZES: Final = {"3 of 30 rows": (3, 30), "10 of 300": (10, 300), "all of 20": (20, 20), "all of 1,000": (1000, 1000)}
OUTCOMES: Final = ("right", "right, in doubt", "wrong, in doubt", "wrong, a cell shown", "wrong, silent", "refused")
SEEDS: Final = 3
FEWEST_WORDS: Final = 10


@dataclass(frozen=True)
class Case:
    """A table: rows with a word of the language, of all rows."""

    language: str
    encoding: str
    size: str
    words: Words
    seed: int

    def text(self) -> str:
        """Return the table as it should be read."""
        drawn = random.Random(f"{self.language}{self.encoding}{self.size}{self.words}{self.seed}")
        own = [word for word in words(self.language, self.words) if _fits(word, self.encoding)]
        english = [word for word in words("en", self.words) if word.isascii()]
        some, rows = SIZES[self.size]
        own = own if some == rows else [word for word in own if not word.isascii()]
        places = set(drawn.sample(range(rows), some))
        lines = [
            f"{row};{drawn.choice(own if row in places else english)};{drawn.choice('ABC')};{drawn.randint(1, 9999)}"
            for row in range(rows)
        ]
        return "\n".join(["id;name;kind;price", *lines, ""])

    def outcome(self) -> str:
        """Return what the reader makes of it."""
        text, notes = self.text(), list[str]()
        try:
            read = text.encode(self.encoding).decode(encoding_of(text.encode(self.encoding), notes))
        except ReaderError:
            return "refused"
        doubt = any("about as well" in note for note in notes)
        if read == text:
            return "right, in doubt" if doubt else "right"
        return "wrong, in doubt" if doubt else "wrong, a cell shown" if notes else "wrong, silent"


def words(language: str, kind: Words) -> list[str]:
    """Return the names that a language has of places or of languages, without marks of the table."""
    locale = Locale.parse(language)
    towns = [str(zone["city"]) for zone in locale.time_zones.values() if zone.get("city")]
    names = [*locale.territories.values(), *towns] if kind == "places" else [*locale.languages.values()]
    return [name for name in names if not set(name) & set(';"\n’ʼ')]


def cases(kind: Words) -> Iterator[Case]:
    """Yield all tables."""
    for languages, encodings in WRITTEN.items():
        for language in languages.split():
            for encoding in encodings.split():
                if sum(not word.isascii() and _fits(word, encoding) for word in words(language, kind)) >= FEWEST_WORDS:
                    for size in SIZES:
                        yield from (Case(language, encoding, size, kind, seed) for seed in range(SEEDS))


def _fits(word: str, encoding: str) -> bool:
    try:
        return word.encode(encoding).decode(encoding) == word
    except UnicodeError:
        return False


def main() -> None:
    """Read all tables, print those that are wrong, and write the shares on a page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--doc", type=Path, help="page that gets the table")
    asked = parser.parse_args()
    shares = {}
    for kind in get_args(Words):
        by_case = {case: case.outcome() for case in cases(kind)}
        print(*(f"{case}: {outcome}" for case, outcome in by_case.items() if "right" not in outcome), sep="\n")
        counts = Counter(by_case.values())
        shares[kind] = [
            str(counts.total()),
            *(f"{counts[outcome]} ({counts[outcome] / counts.total():.1%})" for outcome in OUTCOMES),
        ]
    lines = markdown(pd.DataFrame(shares, index=["tables", *OUTCOMES]).T.rename_axis("words"))
    publish(lines, asked.doc, MARKS)


if __name__ == "__main__":
    main()
