"""Dates and times as people write them: year, day or month first, named months, times of day, and zones."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shapewise.ingest.amounts import BLANKS

Times = npt.NDArray[np.datetime64]

ORDERS: Final = {"ISO8601": "ymd", "%d-%m-%Y": "dmy", "%m-%d-%Y": "mdy"}
"""Orders of the parts of a date, keyed as plans and stored steps name them."""

MONTHS: Final = (
    "january february march april may june july august september october november december",
    "januar februar märz april mai juni juli august september oktober november dezember",
    "jänner feber mrz april mai juni juli august september oktober november dezember",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "januari februari maart april mei juni juli augustus september oktober november december",
    "januari februari mrt april maj juni juli augusti september oktober november december",
    "januar februar marts april maj juni juli august september oktober november desember",
    "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia",
    "ledna února března dubna května června července srpna září října listopadu prosince",
    "ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık",
    "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
    "január február március április május június július augusztus szeptember október november december",
    "ianuarie februarie martie aprilie mai iunie iulie august septembrie octombrie noiembrie decembrie",
    "січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня",
    "ιανουαρίου φεβρουαρίου μαρτίου απριλίου μαΐου ιουνίου ιουλίου αυγούστου σεπτεμβρίου οκτωβρίου νοεμβρίου "
    "δεκεμβρίου",
)
"""Names of months in English, German (two ways), French, Spanish, Italian, Portuguese, Dutch (and its short March),
Swedish, Danish and Norwegian, Polish, Czech, Turkish, Russian, Hungarian, Romanian, Ukrainian, Greek."""

LATEST_PLAIN: Final = 68
"""Two digits up to these are years from 2000 on, others from 1900 on, as POSIX has it."""


def _month_names() -> dict[str, int]:
    """Return the months by their names and all beginnings of three letters or more that mean one month only."""
    meant: dict[str, set[int]] = {}
    for names in MONTHS:
        for month, name in enumerate(names.split(), 1):
            for end in range(3, len(name) + 1):
                meant.setdefault(name[:end], set()).add(month)
    return {name: next(iter(months)) for name, months in meant.items() if len(months) == 1}


NAMES: Final = _month_names()
NAME_ARRAY: Final = pa.array(list(NAMES))
NAME_MONTHS: Final = np.array([*NAMES.values(), 0])

DAYS: Final = (
    "monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag freitag samstag "
    "sonnabend sonntag lundi mardi mercredi jeudi vendredi samedi dimanche lunes martes miércoles jueves viernes "
    "sábado domingo lunedì martedì mercoledì giovedì venerdì sabato domenica maandag dinsdag woensdag donderdag "
    "vrijdag zaterdag zondag"
)
"""Names of days in English, German, French, Spanish, Italian and Dutch."""

SHORT_DAYS: Final = sorted({name[:end] for name in DAYS.split() for end in range(2, len(name) + 1)} - {*NAMES})
WEEKDAY: Final = rf"(?:(?:{'|'.join(SHORT_DAYS)})[,.]?\s+)?"
BETWEEN: Final = r"[-/.]\s?|,?\s+|\s+(?:de|of)\s+|"
CLOCK: Final = (
    r"(?:(?:t|,?\s+|:)(?P<hour>\d{1,2})[:.](?P<minute>\d{2})(?:[:.](?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?"
    r"\s*(?P<half>[ap]\.?\s?m\.?)?\s*(?:(?P<zone>z|utc|gmt|(?:utc|gmt)?[+-]\d{2}(?::?\d{2})?)"
    r"(?:\s?\[[\w/+-]+\]|\s?\([\pL\s]+\))?)?(?:uhr)?)?"
)
PATTERN: Final = (
    rf"(?i)^{WEEKDAY}(?P<a>\d{{1,4}}|\pL{{3,12}})(?:st|nd|rd|th|er|º)?(?P<s>{BETWEEN})"
    rf"(?P<b>\d{{1,2}}|\pL{{3,12}})(?:st|nd|rd|th)?\.??(?P<t>{BETWEEN})(?P<c>\d{{2}}|\d{{4}}|\d)\.?{CLOCK}$"
)

DAY: Final = r"^(\d\d)(?:-(\d\d)-|/(\d\d)/|\.(\d\d)\.)(\d{4})$"
YEAR_BEHIND: Final = r"^(\pL{3} \pL{3} +\d{1,2}) (\d\d:\d\d:\d\d)(?: (UTC|GMT|[-+]\d{4}))? (\d{4})$"
"""A day with its year last, and a year behind the time: Sat Jan 31 12:00:00 2026."""

FEWEST_DAYS: Final = 5
"""Different days from which on they are told apart from years."""


class Parts:
    """The parts of cells that have the form of a date, read once and put together in any order."""

    def __init__(self, cells: pa.Array) -> None:
        fields = pc.extract_regex(_with_marks(cells), PATTERN)
        text = {part: pc.struct_field(fields, part) for part in "asbtc"}
        self._a, a_named = _number_or_month(text["a"])
        self._b, b_named = _number_or_month(text["b"])
        self._c, _ = _number_or_month(text["c"])
        lengths = {part: _whole(pc.utf8_length(text[part])) for part in "ac"}
        self._year_first = ~a_named & (lengths["a"] == 4)
        year_last = ~self._year_first & (lengths["c"] == 4)
        self._short = ~self._year_first & ~year_last & (lengths["c"] == 2)
        self._a_named, self._b_named = a_named, b_named
        same = _truth(pc.equal(text["s"], text["t"])) & _truth(pc.match_substring_regex(text["s"], r"[-/.]"))
        apart = b_named | _truth(pc.not_equal(text["t"], ""))
        named = (a_named & (self._a > 0) & apart) ^ (b_named & (self._b > 0))
        whole_year = (self._year_first & (lengths["c"] <= 2)) | year_last | self._short
        short_first = a_named | (lengths["a"] != 3)
        self.like = np.where(a_named | b_named, named, same) & whole_year & short_first
        self._clock, self.zoned = _clock({part: pc.struct_field(fields, part) for part in
                                          ("hour", "minute", "second", "fraction", "half", "zone")})  # fmt: skip
        self.short = self.like & self._short

    @property
    def ordered(self) -> npt.NDArray[np.bool_]:
        """Which cells depend on the order (n,): neither a month's name nor four digits at their begin say it."""
        return np.asarray(self.like & ~self._year_first & ~self._a_named & ~self._b_named, bool)

    @property
    def have_year_last(self) -> bool:
        """Whether years of two digits are last by what varies: most tables have more days than years."""
        first, last = (np.unique(part[self.short]).size for part in (self._a, self._c))
        return first >= max(2 * last, FEWEST_DAYS)

    def times(self, order: str) -> Times:
        """Return the cells (n,) as datetime64[us] in UTC; NaT where there is no such date in this order."""
        a, b, c = self._a, self._b, self._c
        first = self._year_first | (self._short & ~self._a_named & ~self._b_named & (order == "ymd"))
        month_first = ~first & (self._a_named | (~self._b_named & (order == "mdy")))
        year = np.where(first, a, c)
        month = np.where(first, b, np.where(month_first, a, b))
        day = np.where(first, c, np.where(month_first, b, a))
        year = np.where(self._short, np.where(year > LATEST_PLAIN, 1900, 2000) + year, year)
        valid = self.like & (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
        if order == "ymd":
            valid &= first | ~self.ordered
        start = (np.where(valid, year, 1970) - 1970).astype("datetime64[Y]").astype("datetime64[M]")
        months = start + np.where(valid, month - 1, 0)
        days = months.astype("datetime64[D]") + np.where(valid, day - 1, 0)
        valid &= days.astype("datetime64[M]") == months  # no 31st of February
        moments = days.astype("datetime64[us]") + self._clock
        return np.where(valid, moments, np.datetime64("NaT"))


def _truth(mask: pa.Array) -> npt.NDArray[np.bool_]:
    return np.asarray(pc.fill_null(mask, False).to_numpy(zero_copy_only=False), bool)


def _whole(numbers: pa.Array) -> npt.NDArray[np.int64]:
    return np.asarray(pc.fill_null(pc.cast(numbers, pa.int64()), 0).to_numpy(zero_copy_only=False))


def _digits(text: pa.Array) -> npt.NDArray[np.int64]:
    return _whole(pc.if_else(pc.equal(text, ""), None, text))


def _number_or_month(text: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return a part as a number, or as the month that it names, and which are named."""
    is_name = pc.fill_null(pc.match_substring_regex(text, r"^\pL"), False)
    place = pc.index_in(pc.utf8_lower(text), NAME_ARRAY)
    months = NAME_MONTHS[_whole(pc.fill_null(place, len(NAMES)))]
    named = _truth(is_name)
    return np.where(named, months, _digits(pc.if_else(is_name, None, text))), named


def _clock(text: dict[str, Any]) -> tuple[npt.NDArray[np.timedelta64], npt.NDArray[np.bool_]]:
    """Return the time of day, less the offset of the zone; NaT where there is no such time; and which have a zone."""
    hour, minute, second = (_digits(text[part]) for part in ("hour", "minute", "second"))
    micro = _digits(pc.utf8_slice_codeunits(pc.utf8_rpad(text["fraction"], 6, "0"), 0, 6))
    half = _truth(pc.not_equal(text["half"], ""))
    evening = _truth(pc.match_substring_regex(text["half"], "^(?i)p"))
    ends_day = (hour == 24) & (minute + second + micro == 0)  # 24:00 is 0:00 of the next day
    leaps = (minute == 59) & (second == 60)
    valid = ((hour < 24) | ends_day) & (minute < 60) & ((second < 60) | leaps) & (~half | ((hour >= 1) & (hour <= 12)))
    hour = np.where(half, hour % 12 + 12 * evening, hour)
    shift = pc.replace_substring_regex(text["zone"], "(?i)utc|gmt|:", "")
    offset = _digits(pc.utf8_slice_codeunits(pc.if_else(pc.match_substring_regex(shift, r"^[+-]"), shift, ""), 1, 5))
    offset = np.where(offset < 100, 100 * offset, offset)
    minutes = (offset // 100 * 60 + offset % 100) * np.where(_truth(pc.starts_with(shift, "-")), -1, 1)
    micros = ((hour * 60 + minute - minutes) * 60 + second) * 1_000_000 + micro
    moments = np.where(valid, micros.astype("timedelta64[us]"), np.timedelta64("NaT"))
    return moments, _truth(pc.not_equal(text["zone"], ""))


def _with_marks(cells: pa.Array) -> pa.Array:
    """Return days of eight digits before a time, times without colons, days between the signs of East Asia, and years
    behind the time, with marks and in the usual order: 20260131T120000, Sat Jan 31 12:00:00 2026."""
    cells = pc.replace_substring_regex(cells, f"[{BLANKS}]", " ")
    cells = pc.replace_substring_regex(cells, YEAR_BEHIND, r"\1 \4 \2 \3")
    cells = pc.replace_substring_regex(cells, r"^(\d{4})[年년]\s?(\d{1,2})[月월]\s?(\d{1,2})[日일]", r"\1-\2-\3")
    days = pc.replace_substring_regex(cells, r"^(\d{4})(\d{2})(\d{2})(T|\s+)(\d)", r"\1-\2-\3\4\5")
    return pc.replace_substring_regex(days, r"^(\d{4}-\d{2}-\d{2}T\d{2})(\d{2})(\d{2})", r"\1:\2:\3")


def usual(cells: pa.Array, order: str) -> pa.Array | None:
    """Return cells as times if all are as in ISO 8601, without a zone, or days as in 31/01/2026 where the year is not
    first; None if one is not. Much quicker than `Parts`."""
    if order != "ymd":
        cells = pc.replace_substring_regex(cells, DAY, r"\5-\2\3\4-\1" if order == "dmy" else r"\5-\1-\2\3\4")
    try:
        return pc.cast(cells, pa.timestamp("us"))
    except pa.ArrowInvalid:
        return None


def compact(cells: pa.Array) -> Times:
    """Return days of eight digits, such as 20260131, as datetime64[us]."""
    digits = pc.match_substring_regex(cells, r"^\d{8}$")
    spelled = pc.replace_substring_regex(pc.if_else(digits, cells, None), r"^(\d{4})(\d{2})(\d{2})$", r"\1-\2-\3")
    return Parts(spelled).times("ymd")
