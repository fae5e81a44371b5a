"""An answer's text: its figures, and where it names a value.

Names count as whole words, whatever their case, in any of their synonyms; a
name that is negated ("Asia, not Africa") is not named.
"""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from pytest_dataeval.instrument.figures import Figure, clean, find_figures

Span = tuple[int, int]

_SENTENCE_END = re.compile(r"\n|[.!?](?=\s|$)|;")
_NEGATED_NAME = re.compile(
    r"(?:\bnot|n't|\bnever|\brather than|\binstead of|\bunlike|\bneither|\bnor"
    r"|\bother than)(?: (?:the|a|an|in|for|by|be|is|was))*\s*[\"'(]?$",
    re.IGNORECASE,
)
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_SOME_DATE = re.compile(
    r"\b\d{4}[-/]\d{1,2}[-/]\d{1,2}\b|\b\d{1,2}[-/.]\d{1,2}[-/.]\d{4}\b"
    rf"|\b(?:{'|'.join(m[:3] for m in _MONTHS)})[a-z]*\.? \d",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Prose:
    """A text that was cleaned and read once; positions refer to `text`."""

    text: str
    folded: str
    figures: tuple[Figure, ...]

    @cached_property
    def sentences(self) -> list[Span]:
        """Spans of sentences; a line, such as a table row, is one too."""
        spans: list[Span] = []
        start = 0
        for match in _SENTENCE_END.finditer(self.text):
            spans.append((start, match.end()))
            start = match.end()
        spans.append((start, len(self.text)))
        return [span for span in spans if self.text[slice(*span)].strip()]

    def headline(self) -> Figure | None:
        """The figure that the text puts first: in bold, else the first one."""
        strong = [f for f in self.figures if not (f.is_weak or f.negated)]
        chosen = [f for f in strong if not f.is_year] or strong
        return next((f for f in chosen if f.is_bold), chosen[0] if chosen else None)

    def mentions(
        self, names: Sequence[str], *, negated_too: bool = False
    ) -> list[Span]:
        """Where one of `names` stands as whole words and is not negated."""
        spans: set[Span] = set()
        for name in names:
            parts, is_code = _name_parts(name)
            # Cheap, and enough for nearly all of a long reference's names.
            if not parts or any(p not in self.text for p in parts if is_code):
                continue
            if any(p not in self.folded for p in parts if p.isalnum() and not is_code):
                continue
            pattern = _name_pattern(parts)
            for match in pattern.finditer(self.text if is_code else self.folded):
                before = self.text[max(0, match.start() - 40) : match.start()]
                if negated_too or not _NEGATED_NAME.search(before):
                    spans.add(match.span())
        return sorted(spans)

    def has_date(self) -> bool:
        """Whether any date is written in the text."""
        return _SOME_DATE.search(self.text) is not None

    @property
    def speaks_of_percent(self) -> bool:
        """Whether a bare 38 may be a percentage: a header says so, for example."""
        return re.search(r"%|\bper ?cent|\bpct\b", self.folded) is not None


@lru_cache(maxsize=64)
def read_prose(text: str) -> Prose:
    """Read an answer's text."""
    cleaned, bold = clean(unicodedata.normalize("NFC", text))
    return Prose(cleaned, _fold(cleaned), tuple(find_figures(cleaned, bold)))


def _fold(text: str) -> str:
    """Lower case, character by character, so that positions stay."""
    return "".join(c if len(c.lower()) != 1 else c.lower() for c in text)


def _name_parts(name: str) -> tuple[tuple[str, ...], bool]:
    """A name's words and signs, and whether its case matters."""
    name = unicodedata.normalize("NFC", name).strip()
    # IN, OR and US are words of any English sentence: a code keeps its case.
    is_code = len(name) <= 3 and name.isalpha() and name.isupper()
    folded = name if is_code else _fold(name)
    return tuple(re.findall(r"[^\W_]+|[&+#]", folded)), is_code


@lru_cache(maxsize=4096)
def _name_pattern(parts: tuple[str, ...]) -> re.Pattern[str]:
    pattern = r"(?<![^\W_])"
    for before, part in zip(["", *parts], parts, strict=False):
        if part in "+#":
            pattern += r"\s?" + re.escape(part)
        elif part == "&":
            pattern += r"[\W_]{0,3}(?:&|and)"
        elif before in ("", "+", "#", "&"):
            pattern += r"[\W_]{0,3}" * bool(before) + re.escape(part)
        else:
            pattern += r"[\W_]{1,3}" + re.escape(part)
    return re.compile(pattern + r"(?![^\W_])")


def text_names(value: str, synonyms: Mapping[str, Sequence[str]]) -> list[str]:
    """A text value and the other names that the case gives for it."""
    folded = value.strip().casefold()
    names = [value]
    for known, others in synonyms.items():
        if known.strip().casefold() == folded:
            names.extend(others)
    return names


def date_names(value: dt.date) -> list[str]:
    """The ways in which a text may write a date; a first of a month also as one."""
    day, month, year = value.day, _MONTHS[value.month - 1], value.year
    ordinal = f"{day}{_ordinal(day)}"
    names = [
        f"{year}-{value.month:02}-{day:02}",
        f"{day:02}.{value.month:02}.{year}",
        f"{day:02}/{value.month:02}/{year}",
        f"{value.month:02}/{day:02}/{year}",
        f"{value.month}/{day}/{year}",
    ]
    for spelled in (month, month[:3]):
        names += [
            f"{day} {spelled} {year}",
            f"{ordinal} {spelled} {year}",
            f"{ordinal} of {spelled} {year}",
            f"{spelled} {day} {year}",
            f"{spelled} {ordinal} {year}",
        ]
        if day == 1:
            names.append(f"{spelled} {year}")
    if day == 1:
        names.append(f"{year}-{value.month:02}")
    return names


def _ordinal(day: int) -> str:
    if 10 < day < 14:
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
