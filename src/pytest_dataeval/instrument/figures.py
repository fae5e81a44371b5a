"""Numbers in prose: what a sentence states, and what only looks like a number.

Dates, times, quarters, versions, identifiers, ordinals and list numbers are no
figures. A figure keeps how it was written: the digits shown, a percent sign, a
scale word, a direction ("fell by 5"), and whether it was negated.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass, replace

from pytest_dataeval.instrument.cells import scaled


@dataclass(frozen=True, slots=True)
class Figure:
    """One number as a text states it, at `start`..`end` of the cleaned text.

    `value` has its scale applied (3.79 million is 3790000); `quantum` is the
    unit of its last digit shown, `digits` how many significant ones there are.
    `direction` is -1 after "fell by", 1 after "rose by". `is_year` marks a bare
    1900 to 2100; `is_weak` a number word that is often none ("one", "half").
    """

    value: int | float
    quantum: float
    digits: int
    start: int
    end: int
    percent: bool = False
    either_sign: bool = False
    plain_value: int | float | None = None
    direction: int = 0
    negated: bool = False
    is_bold: bool = False
    is_year: bool = False
    is_weak: bool = False


# -------------------------------------------------------------------- cleaning

_FENCE = re.compile(r"```[ \t]{0,8}(\w{0,20})[^\n]{0,80}\n(.*?)(?:```|\Z)", re.DOTALL)
_SQL_START = re.compile(r"\s*(?:--|select\b|with\b|explain\b)", re.IGNORECASE)
_SIGNS = str.maketrans(
    {
        **dict.fromkeys("−‒﹣－", "-"),
        **dict.fromkeys("\u00a0\u2007\u2009\u202f", "\u202f"),
        **dict.fromkeys("’‘ʼ", "'"),
        **dict.fromkeys("“”", '"'),
        **dict.fromkeys("–—", "–"),
    }
)


def clean(text: str) -> tuple[str, list[tuple[int, int]]]:
    """The text without markdown marks and SQL, and the spans that were bold."""
    text = text.translate(_SIGNS)
    text = _FENCE.sub(_unfenced, text)
    pieces: list[str] = []
    bold: list[tuple[int, int]] = []
    length = 0
    opened: int | None = None
    for piece in re.split(r"(\*\*|__)", text):
        if piece in ("**", "__"):
            if opened is None:
                opened = length
            else:
                bold.append((opened, length))
                opened = None
            continue
        piece = re.sub(r"[`*]", "", piece)
        pieces.append(piece)
        length += len(piece)
    return "".join(pieces), bold


def _unfenced(match: re.Match[str]) -> str:
    is_sql = match[1].lower() == "sql" or _SQL_START.match(match[2])
    return "\n" if is_sql else match[2]


# --------------------------------------------------------------------- reading

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_NO_FIGURE = re.compile(
    r"\b\d{4}-\d{1,2}-\d{1,2}(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?"
    r"(?:Z|[+-]\d{2}:?\d{2})?)?"  # a date, with or without a time
    r"|\b\d{1,2}[/.]\d{1,2}[/.]\d{2,4}\b"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}\b\.?(?:,? \d{{4}}\b)?"
    rf"|\b{_MONTH}\b\.? \d{{1,2}}(?:st|nd|rd|th)?\b(?!,\d{{3}})(?:,? \d{{4}}\b)?"
    r"|\b\d{1,2}:\d{2}(?::\d{2})?(?: ?[ap]\.?m\b)?"  # a time
    r"|\b\d+(?:st|nd|rd|th)\b"
    r"|\bv(?:er(?:sion)?)?\.? ?\d+(?:\.\d+)*\b"
    r"|\b(?!\d{1,3}(?:\.\d{3})+\b)\d+\.\d+\.\d+(?:\.\d+)*\b"
    r"|(?<!\w)#\d+|\b(?:id|no\.|number|ticket|order|invoice|case|step|page|rule|table"
    r"|figure|section|item|line|row|option|top|last|past|first) (?:#|no\.? ?)?\d+\b"
    r"(?![.,]?\d|\s*[%:=|])"
    r"|\b[a-z]{1,20}(?:-[a-z0-9]{1,20}){0,4}-\d+(?:-\d+){0,4}\b"  # INV-2024-001
    r"|\b(?:quarter|week|month|day|phase|tier|level|priority) \d+\b(?!\s*[:=|])"
    r"|https?://\S+",
    re.IGNORECASE,
)
_LIST_NUMBER = re.compile(r"^[ \t>]*\(?\d{1,3}[.)](?=\s)", re.MULTILINE)
_CURRENCY = r"(?:US\$|[A-Z]{0,2}\$|[€£¥₹]|(?:USD|EUR|GBP|CHF|JPY|INR)\s)"
_DIGITS = (
    r"(?:\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}"  # 1.234,56
    r"|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?"
    r"|\d{1,3}(?:['_\u202f]\d{3})+(?:[.,]\d+)?"
    r"|\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?|\.\d+)"
)
_SCALES = {
    **dict.fromkeys(("k", "thousand", "thousands"), 1e3),
    **dict.fromkeys(("lakh", "lakhs"), 1e5),
    **dict.fromkeys(("m", "mm", "mn", "mio", "million", "millions"), 1e6),
    **dict.fromkeys(("crore", "crores"), 1e7),
    **dict.fromkeys(("b", "bn", "billion", "billions"), 1e9),
    **dict.fromkeys(("t", "tn", "trn", "trillion", "trillions"), 1e12),
    "hundred": 1e2,
    "dozen": 12.0,
}
_SCALE = (
    r"(?:[ \u202f-]?(?:hundred|thousands?|lakhs?|millions?|crores?|billions?|trillions?"
    r"|dozen|mio|mn|bn|trn|tn)|[ \u202f]?(?:mm|[kKMB])|[mbt])(?!\w)"
)
_PERCENT = r"(?:[ \u202f]?%|[ \u202f-]?(?:percent|per cent|pct|pp)\b)"
_NUMBER = re.compile(
    rf"(?P<open>\()?(?:(?<![\w.])|(?<=\b[Ff][Yy]))(?P<sign>(?<!\d )[+-])?(?P<currency>{_CURRENCY}\s?)?"
    rf"(?P<inner>-)?(?P<digits>{_DIGITS})(?P<scale>{_SCALE})?(?P<percent>{_PERCENT})?"
    r"(?P<close>\))?(?!\.?\d)"
)
_ONES = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_WORD_VALUES = {
    **{word: number for number, word in enumerate(_ONES)},
    **{word: 10 * number for number, word in enumerate(_TENS, start=2)},
}
_WORD = "|".join(sorted(_WORD_VALUES, key=len, reverse=True))
_WORD_NUMBER = re.compile(
    rf"\b(?:(?P<words>(?:{_WORD})(?:[- ](?:{_WORD}))?)|(?P<a>an?))"
    rf"(?P<scales>(?:[ -]?\b(?:hundred|thousand|million|billion|dozen))*)"
    rf"(?:(?: and)? (?P<rest>(?:{_WORD})(?:[- ](?:{_WORD}))?))?\b(?P<percent>{_PERCENT})?",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"\b(?:none|nothing|nobody|nil|no one"
    r"|no(?! (?:data|information|info|idea|access|way|answer|doubt|longer|matter|such"
    r"|need|reason|evidence|record of|column|table|field|more|less|fewer|later|later)\b)"
    r"(?= [a-z]))\b",
    re.IGNORECASE,
)
_FILLER = (
    r"(?:(?:be|the|a|an|exactly|about|around|approximately|roughly|nearly|just|only"
    r"|really|actually|in|at|equal|to|as|reach|have|has|had|was|were|is) ){0,3}"
)
_NEGATION = re.compile(
    r"(?:\b(?:not|never|cannot|rather than|instead of|as opposed to|unlike)|n't)"
    rf"(?! only\b)[ :]+{_FILLER}$",
    re.IGNORECASE,
)
_NEGATED_AFTER = re.compile(
    r"\s*(?:\w+ ){0,2}(?:is|was|would be|are)(?: not|n't)?(?: the)?"
    r" (?:wrong|incorrect|false|not (?:the )?(?:right|correct|answer|true)|(?<=not )right"
    r"|(?<=not the )answer)",
    re.IGNORECASE,
)
_HEDGE_WORD = (
    r"(?:(?:about|around|approximately|roughly|nearly|almost|over|some|an?|~) ?){0,2}"
)
_DOWN_BEFORE = re.compile(
    r"\b(?:fell|falls?|fallen|falling|dropp(?:ed|ing)|drops?|decreas(?:ed?|es|ing)"
    r"|declin(?:ed?|es|ing)|shr[aiu]nk|reduc(?:ed|es|tion|ing)|down|negative|minus"
    r"|lower|decline|loss|sank|slipped|dipped)"
    rf"(?: (?:by|of|was|is))?[ :]{_HEDGE_WORD}$",
    re.IGNORECASE,
)
_DOWN_AFTER = re.compile(
    r"^[\w ]{0,12}?\b(?:lower|fewer|less|down|decrease|decline|drop|reduction|below)\b",
    re.IGNORECASE,
)
_UP_BEFORE = re.compile(
    r"\b(?:rose|ris(?:es?|en|ing)|grew|grow(?:s|n|th)?|increas(?:ed?|es|ing)|gain(?:ed)?"
    rf"|up|climbed|jumped)(?: (?:by|of|was|is))?[ :]{_HEDGE_WORD}$",
    re.IGNORECASE,
)
_MULTIPLE = re.compile(
    r"x\b| times (?:as|more|the|that|higher|larger|faster|slower|less|fewer)|[- ]?fold"
)
_APPROXIMATE = re.compile(
    r"(?:\b(?:about|around|approximately|approx\.?|roughly|nearly|almost|over|some"
    r"|circa|ca\.|just under|just over|more than)|~|≈) ?$",
    re.IGNORECASE,
)


def find_figures(text: str, bold: list[tuple[int, int]]) -> list[Figure]:
    """Every figure of a text that `clean` gave, in order."""
    taken = [m.span() for m in _NO_FIGURE.finditer(text)]
    taken += [m.span() for m in _LIST_NUMBER.finditer(text)]
    taken.sort()
    starts = [start for start, _ in taken]
    furthest = _running_maximum([end for _, end in taken])

    def is_free(start: int, end: int) -> bool:
        at = bisect.bisect_left(starts, end) - 1
        return at < 0 or furthest[at] <= start

    found = [
        _numeral(text, match)
        for match in _NUMBER.finditer(text)
        if is_free(match.start("digits"), match.end("digits"))
    ]
    numerals = {at for figure in found for at in range(figure.start, figure.end)}
    found += [
        figure
        for match in _WORD_NUMBER.finditer(text)
        if (figure := _number_word(match)) is not None
        and figure.start not in numerals
        and is_free(figure.start, figure.end)
    ]
    found += [
        Figure(0, 1.0, 1, m.start(), m.end(), is_weak=m[0].lower() == "no")
        for m in _NOTHING.finditer(text)
    ]
    found.sort(key=lambda figure: figure.start)
    edges = [start for start, _ in bold]
    return [
        _with_context(text, figure, _is_inside(figure, bold, edges)) for figure in found
    ]


def _running_maximum(numbers: list[int]) -> list[int]:
    highest = 0
    return [highest := max(highest, number) for number in numbers]


def _is_inside(figure: Figure, spans: list[tuple[int, int]], starts: list[int]) -> bool:
    at = bisect.bisect_right(starts, figure.start) - 1
    return at >= 0 and figure.end <= spans[at][1] + 1


def _numeral(text: str, match: re.Match[str]) -> Figure:
    digits = match["digits"]
    plain = _plain_digits(digits)
    scale_word = (match["scale"] or "").strip(" \u202f-")
    scale = _SCALES.get(scale_word.lower(), 1.0)
    value = _number(plain)
    quantum, significant = _shown(plain)
    has_separator = any(mark in digits for mark in ",'_\u202f")
    is_approximate = bool(
        _APPROXIMATE.search(text[max(0, match.start() - 20) : match.start()])
    )
    is_year = (
        not has_separator
        and not match["currency"]
        and not match["scale"]
        and not match["percent"]
        and "." not in digits
        and 1900 <= value <= 2100
    )
    if quantum == 1 and value:
        zeros = len(plain) - len(plain.rstrip("0"))
        # 94,900 may be rounded to hundreds; 410 or a year shows all its digits.
        if zeros and (is_approximate or value >= 1000) and not is_year:
            quantum = 10.0**zeros
        significant = len(plain.rstrip("0")) if zeros else significant
    in_brackets = bool(match["open"] and match["close"])
    is_negative = "-" in ((match["sign"] or "") + (match["inner"] or ""))
    value = -value if is_negative else value
    # "5m" may be metres or minutes.
    is_ambiguous = scale_word in ("m", "t", "b")
    return Figure(
        value=scaled(value, scale),
        quantum=quantum * scale,
        digits=significant,
        start=match.start("sign") if match["sign"] else match.start("digits"),
        end=match.end("percent") if match["percent"] else _end(match),
        percent=bool(match["percent"]),
        either_sign=in_brackets and not is_negative,
        plain_value=value if is_ambiguous else None,
        is_year=is_year,
    )


def _end(match: re.Match[str]) -> int:
    return match.end("scale") if match["scale"] else match.end("digits")


def _plain_digits(digits: str) -> str:
    """`digits` with a point for decimals and no separators."""
    if re.fullmatch(r"\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}", digits):
        return digits.replace(".", "").replace(",", ".")
    if re.fullmatch(r"\d{1,3}(?:['_\u202f]\d{3})+,\d+", digits):
        digits = digits.replace(",", ".")
    return re.sub(r"[,'_\u202f]", "", digits)


def _number(plain: str) -> int | float:
    if plain.isdigit():
        return int(plain[:300])
    value = float(plain)
    return int(value) if value.is_integer() and value < 1e15 else value


def _shown(plain: str) -> tuple[float, int]:
    """The unit of the last digit shown, and how many significant digits there are."""
    mantissa, _, exponent = plain.lower().partition("e")
    _, _, fraction = mantissa.partition(".")
    power = int(exponent or 0) - len(fraction)
    significant = len(mantissa.replace(".", "").lstrip("0"))
    return 10.0**power if abs(power) < 300 else 0.0, significant


def _number_word(match: re.Match[str]) -> Figure | None:
    words, scales = match["words"], match["scales"]
    if match["a"] and not scales:
        return None
    value = _small_number(words) if words else 1
    factor = 1
    for word in re.findall(r"[a-z]+", scales.lower()):
        factor *= int(_SCALES[word])
    value *= factor
    if match["rest"]:
        if factor == 1:
            return None
        value += _small_number(match["rest"])
    is_weak = (words or "").lower() == "one" and factor == 1
    return Figure(
        value,
        1.0,
        len(str(value).rstrip("0")),
        match.start(),
        match.end(),
        percent=bool(match["percent"]),
        is_weak=is_weak,
    )


def _small_number(words: str) -> int:
    return sum(_WORD_VALUES[word] for word in re.findall(r"[a-z]+", words.lower()))


def _with_context(text: str, figure: Figure, is_bold: bool) -> Figure:
    """The figure with what the words around it say about it."""
    before = text[max(0, figure.start - 60) : figure.start]
    before = re.sub(r"[$€£¥₹(]$", "", before)
    after = re.split(r"[.,;:\n!?]", text[figure.end : figure.end + 40], maxsplit=1)[0]
    direction = 0
    if _DOWN_BEFORE.search(before) or _DOWN_AFTER.search(after):
        direction = -1
    elif _UP_BEFORE.search(before):
        direction = 1
    return replace(
        figure,
        direction=direction,
        negated=bool(_NEGATION.search(before) or _NEGATED_AFTER.match(after)),
        is_bold=is_bold,
        is_weak=figure.is_weak or _MULTIPLE.match(after) is not None,
    )
