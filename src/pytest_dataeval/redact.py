"""Masking: no secret and no withheld value reaches a file or the terminal.

`[secret]` stands for a secret, `[withheld:<index>]` for the value at that index
of a case's `must_not_contain`. A marker is never touched again.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from .records import ResultSet

SECRET = "[secret]"
MIN_SECRET_CHARS = 6

_MARKER = re.compile(r"(\[secret\]|\[withheld:\d+\])")
_NUMBER = re.compile(r"([-−]?)(0|[1-9][0-9]*)(?:\.([0-9]+))?\Z")
# Between the thousands of a figure.
_SEPARATOR = re.compile("[,'’ \u00a0\u202f]")

# In JSON text a value may follow an escape such as \n, whose n is no letter of it.
_STARTS_TOKEN = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf]))"
_STARTS_WORD = r"(?:(?<!\w)|(?<=\\[nrtbf]))"

# Each pattern either succeeds once begun or gives up within a bounded number of
# characters: the time stays linear in hostile text.
_TOKENS = (
    r"eyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]+)*",
    _STARTS_TOKEN + r"sk-(?=[A-Za-z_-]{0,200}[0-9])[A-Za-z0-9_-]{16,}",
    r"gh[opsur]_[A-Za-z0-9]{20,}",
    r"github_pat_[A-Za-z0-9_]{20,}",
    _STARTS_TOKEN + r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])",
    r"xox[a-z]-[A-Za-z0-9-]{10,}",
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----"
    r"[A-Za-z0-9+/=\s\\,:]*(?:-(?!----)[A-Za-z0-9+/=\s\\,:]*)*"
    r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----)?",
)
_KEPT_PREFIX = (
    r"(?P<bearer>(?i:bearer)\s{1,8})"
    r"(?:[A-Za-z0-9._~+/=-]{20,}"
    r"|(?=[A-Za-z._~+/=-]{0,19}[0-9])[A-Za-z0-9._~+/=-]{8,})",
    r"(?P<url>://[^\s:@/]{0,200}:)[^\s@/]{1,400}(?=@)",
)


class Masker:
    """Replaces secrets, token-shaped strings and withheld values by markers.

    `secrets` are literal values; those under 6 characters are left alone, since
    they would blank ordinary words. `withheld` are the values of one case, in
    order; they are matched whatever their case, as whole words or whole figures.
    """

    def __init__(
        self, secrets: Iterable[str] = (), withheld: Sequence[str] = ()
    ) -> None:
        self._withheld = _Withheld(withheld)
        literal = {
            spelling
            for secret in secrets
            if len(secret) >= MIN_SECRET_CHARS
            for spelling in _spellings(secret)
        }
        ordered = sorted(literal, key=lambda s: (-len(s), s))
        parts = [*map(re.escape, ordered), *_TOKENS, *_KEPT_PREFIX]
        if self._withheld.pattern:
            parts.append(f"(?P<withheld>{self._withheld.pattern})")
        self._pattern = re.compile("|".join(parts))

    def text(self, text: str) -> str:
        """The text with markers. Masking twice gives the same as masking once."""
        if self._pattern.search(text) is None:
            return text  # most texts: a marker's ends start and end no word
        while True:
            pieces = _MARKER.split(text)
            # A marker can free a word that stood against a secret, hence again.
            pieces[::2] = [self._masked(piece) for piece in pieces[::2]]
            masked = "".join(pieces)
            if masked == text:
                return text
            text = masked

    def data(self, value: Any, *, numbers: bool = False) -> Any:
        """The same for every text in dicts (keys too), lists and tuples.

        `numbers` also masks numbers that equal a withheld figure; it is meant for
        payloads of tools and rows, not for counts of our own.
        """
        if isinstance(value, str):
            return self.text(value)
        if value is None or value is True or value is False:
            return value
        if isinstance(value, Mapping):
            return {
                self.data(key): self.data(inner, numbers=numbers)
                for key, inner in value.items()
            }
        if isinstance(value, list):
            return [self.data(inner, numbers=numbers) for inner in value]
        if isinstance(value, tuple):
            return tuple(self.data(inner, numbers=numbers) for inner in value)
        if (
            numbers
            and isinstance(value, int | float | Decimal)
            and not isinstance(value, bool)
        ):
            shown = self.text(
                f"{value:f}" if isinstance(value, Decimal) else repr(value)
            )
            return shown if _MARKER.fullmatch(shown) else value
        return value

    def event(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """The same for the values of an event, whose own keys are ours."""
        return {key: self.data(value) for key, value in event.items()}

    def result(self, result: ResultSet) -> ResultSet:
        """A result whose cells and column names are masked, numbers included."""
        return replace(
            result,
            columns=tuple(replace(c, name=self.text(c.name)) for c in result.columns),
            rows=tuple(self.data(row, numbers=True) for row in result.rows),
        )

    def contains_withheld(self, text: str) -> list[int]:
        """Indexes of the withheld values in `text`, as such or as markers."""
        return self._withheld.indexes_in(text)

    def _masked(self, piece: str) -> str:
        spans = self._withheld.spans_in(piece)
        ends = [end for _, end, _ in spans]

        def marker(match: re.Match[str]) -> str:
            if match.lastgroup == "withheld":
                return f"[withheld:{self._withheld.index(match[0])}]"
            kept = match[match.lastgroup] if match.lastgroup else ""
            # A withheld value inside of a secret must still count as a hit.
            inside: list[str] = []
            first = bisect_right(ends, match.start() + len(kept))
            for position in range(first, len(spans)):
                start, _, index = spans[position]
                if start >= match.end():
                    break
                inside.append(f"[withheld:{index}]")
            return f"{kept}{SECRET}{''.join(dict.fromkeys(inside))}"

        return self._pattern.sub(marker, piece)


class _Withheld:
    """The withheld values as one pattern, and the way back to their indexes."""

    def __init__(self, values: Sequence[str]) -> None:
        self._count = len(values)
        self._index_of: dict[str, int] = {}
        texts: set[str] = set()
        figures: set[tuple[str, str, str]] = set()
        for index, value in enumerate(values):
            value = " ".join(value.split())
            figure = _figure(value)
            if figure is not None:
                figures.add(figure)
                self._index_of.setdefault("".join(figure), index)
            elif value:
                for spelling in (value, json.dumps(value)[1:-1]):
                    texts.add(spelling)
                    self._index_of.setdefault(spelling.casefold(), index)
        pattern = "|".join([*_figure_patterns(figures), *_text_patterns(texts)])
        self.pattern = f"(?i:{pattern})" if pattern else ""
        self._search = re.compile(self.pattern) if pattern else None

    def index(self, found: str) -> int:
        """Which value the matched text `found` is."""
        figure = _figure(_SEPARATOR.sub("", found))
        key = "".join(figure) if figure else " ".join(found.split()).casefold()
        if key in self._index_of:
            return self._index_of[key]
        # A few letters match another whose case folding differs (ſ and s).
        for spelling, index in self._index_of.items():
            if re.fullmatch(re.escape(spelling), key, re.IGNORECASE):
                return index
        raise AssertionError(f"a match of no value, of length {len(found)}")

    def indexes_in(self, text: str) -> list[int]:
        found: set[int] = set()
        for position, piece in enumerate(_MARKER.split(text)):
            if position % 2:
                index = piece.removeprefix("[withheld:").removesuffix("]")
                if index.isdigit() and int(index) < self._count:
                    found.add(int(index))
            else:
                found.update(index for _, _, index in self.spans_in(piece))
        return sorted(found)

    def spans_in(self, piece: str) -> list[tuple[int, int, int]]:
        """Start, end and index of each value in a text without markers."""
        if self._search is None:
            return []
        matches = self._search.finditer(piece)
        return [(m.start(), m.end(), self.index(m[0])) for m in matches]


def _spellings(secret: str) -> set[str]:
    """The secret as such, inside JSON, and inside a URL."""
    return {secret, json.dumps(secret)[1:-1], quote(secret, safe="")}


def _figure(value: str) -> tuple[str, str, str] | None:
    """Sign, whole part and fraction of a number, in one spelling for each value."""
    match = _NUMBER.match(value)
    if match is None:
        return None
    sign, whole, fraction = match.groups("")
    fraction = fraction.rstrip("0")
    return "-" if sign else "", whole, f".{fraction}" if fraction else ""


def _figure_patterns(figures: set[tuple[str, str, str]]) -> list[str]:
    """Numbers as whole figures: `1200` is in "$1,200.00", not in "31,200"."""
    if not figures:
        return []
    branches: dict[str, list[str]] = {}
    for sign, whole, fraction in sorted(figures, key=lambda f: (-len(f[1]), f)):
        ending = rf"\{fraction}0*" if fraction else r"(?:\.0+)?"
        head = len(whole) % 3 or 3
        groups = [whole[:head], *re.findall("...", whole[head:])]
        forms = [(groups, "")]
        if len(groups) > 1:
            forms.insert(0, (groups, _SEPARATOR.pattern))
        for parts, joint in forms:
            is_grouped = bool(joint) or len(parts) == 1
            # Behind the first digit: it may not go on a thousand, as in 31,200.
            before = r"(?<!\d,.)" if is_grouped and head == 3 and not sign else ""
            after = r"(?!,\d{3}(?!\d))" if is_grouped and not fraction else ""
            digits = joint.join(parts)
            first, rest = ("[-−]", digits) if sign else (digits[0], digits[1:])
            branches.setdefault(first, []).append(f"{before}{rest}{ending}{after}")
    inner = "|".join(
        f"{first}(?:{'|'.join(rests)})" for first, rests in branches.items()
    )
    return [rf"{_STARTS_WORD}(?<!\d\.)(?:{inner})(?!\w)(?!\.\d)"]


def _text_patterns(texts: set[str]) -> list[str]:
    """Alternatives for the values, bucketed by their first character.

    The regular expression engine skips a branch whose first character, compared
    as it is, does not fit: a thousand values cost little more than a few.
    """
    words: dict[str, list[str]] = {}
    others: dict[str, list[str]] = {}
    for text in sorted(texts, key=lambda t: (-len(t), t)):
        buckets = words if re.match(r"\w", text) else others
        buckets.setdefault(text[0].casefold(), []).append(text)
    patterns = []
    for start, buckets in ((_STARTS_WORD, words), ("", others)):
        if buckets:
            branches = "|".join(_bucket(members) for members in buckets.values())
            patterns.append(f"{start}(?:{branches})")
    return patterns


def _bucket(texts: list[str]) -> str:
    firsts = {
        form
        for text in texts
        for form in (text[0], text[0].lower(), text[0].upper())
        if len(form) == 1
    }
    first = "".join(re.escape(character) for character in sorted(firsts))
    rests = "|".join(_rest_pattern(text) for text in texts)
    return f"(?-i:[{first}])(?:{rests})"


def _rest_pattern(text: str) -> str:
    """All but the first character; any white space matches a space."""
    rest = r"\s+".join(re.escape(part) for part in text[1:].split(" "))
    return rest + (r"(?!\w)" if re.match(r"\w", text[-1]) else "")
