"""figure_contradicted: a named row stands beside a figure that is not its own."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_dataeval.instrument.figures import Figure
from pytest_dataeval.instrument.prose import Prose, Span
from pytest_dataeval.instrument.targets import Target, states

#: What may stand between a name and a figure that is said of it.
_DIRECT_LINK = re.compile(
    r"[\s\W]*(?:(?:has|had|have|with|is|was|are|were|at|averages?|totals?|totalled"
    r"|totaled|takes?|took|reached|made|brought in|saw|about|around|roughly"
    r"|approximately|only|just|a|an|the)\b[\s\W]*){0,4}",
    re.IGNORECASE,
)
_DIRECT_CHARS = 80
_CONTRAST = re.compile(r"\b(?:while|whereas|but|although)\b", re.IGNORECASE)
_DIFFERENCE = re.compile(r"\bby [$€£]?$")


@dataclass(frozen=True, slots=True)
class NamedRow:
    """A reference row: the forms of the name that tells it apart, all its other
    names, the figures that are its own, and its cells for display."""

    key: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]
    targets: tuple[Target, ...]
    cells: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Beside:
    row: int
    figure: Figure
    is_direct: bool


def contradiction(prose: Prose, rows: Sequence[NamedRow]) -> str:
    """A sentence on the first row whose figures are all another's; else empty.

    A row that is somewhere given a figure of its own is not contradicted.
    """
    beside = list(_figures_beside(prose, rows))
    fitting = {
        found.row
        for found in beside
        if any(states(found.figure, target) for target in rows[found.row].targets)
    }
    for found in beside:
        row = rows[found.row]
        if not row.targets or found.row in fitting or found.figure.is_year:
            continue
        is_of_another = any(
            states(found.figure, target)
            for other in rows
            if other is not row
            for target in other.targets
        )
        if found.is_direct or is_of_another:
            shown = prose.text[found.figure.start : found.figure.end]
            return f"{row.key[0]} is given {shown}, but is {row.cells}."
    return ""


def _figures_beside(prose: Prose, rows: Sequence[NamedRow]) -> Iterator[_Beside]:
    """Figures with the row that they are said of, sentence by sentence.

    A figure belongs to the name before it; where the sentence starts with a
    figure and ends with a name, to the name behind it.
    """
    mentions = _outermost(
        (span, number)
        for number, row in enumerate(rows)
        for span in prose.mentions(row.key)
    )
    if not mentions:
        return
    other_names = {form for row in rows for forms in row.names for form in forms}
    spans = [span for span, _ in mentions] + prose.mentions(sorted(other_names))
    in_name = {at for span in spans for at in range(*span)}
    figures = [
        figure
        for figure in prose.figures
        if not (figure.is_weak or figure.negated)
        and figure.start not in in_name
        and not _DIFFERENCE.search(prose.folded, max(0, figure.start - 6), figure.start)
    ]
    starts = [figure.start for figure in figures]
    places = [span[0] for span, _ in mentions]
    full = _FullNames(prose, rows)
    for start, end in _clauses(prose):
        numbers = figures[bisect_left(starts, start) : bisect_left(starts, end)]
        here = mentions[bisect_left(places, start) : bisect_left(places, end)]
        if not here or not numbers:
            continue
        here = full.only(here, (start, end))
        is_behind = numbers[0].start < here[0][0][0] and (
            here[-1][0][0] > numbers[-1].start
        )
        own_places = [span[0] for span, _ in here]
        for figure in numbers:
            at = bisect_left(own_places, figure.start) - (0 if is_behind else 1)
            if not 0 <= at < len(here):
                continue
            span, row = here[at]
            is_direct = (
                figure.start - span[1] <= _DIRECT_CHARS
                and _DIRECT_LINK.fullmatch(prose.text, span[1], figure.start)
                is not None
            )
            yield _Beside(row, figure, is_direct)


def _clauses(prose: Prose) -> Iterator[Span]:
    """Sentences, and the two sides of a contrast in one."""
    for start, end in prose.sentences:
        for match in _CONTRAST.finditer(prose.text, start, end):
            yield start, match.start()
            start = match.start()
        yield start, end


class _FullNames:
    """Where each name of each row stands, to see which rows are named in full."""

    def __init__(self, prose: Prose, rows: Sequence[NamedRow]) -> None:
        self._prose = prose
        self._rows = rows
        self._places: dict[tuple[str, ...], list[int]] = {}

    def only(
        self, mentions: list[tuple[Span, int]], clause: Span
    ) -> list[tuple[Span, int]]:
        """The rows that a clause names in full, or all if it names none so.

        One name may stand in two columns: `Billing, North` is not the row `North`.
        """
        full = {
            number
            for number in {number for _, number in mentions}
            if all(self._is_in(forms, clause) for forms in self._rows[number].names)
        }
        return [mention for mention in mentions if mention[1] in full] or mentions

    def _is_in(self, forms: tuple[str, ...], clause: Span) -> bool:
        if forms not in self._places:
            found = self._prose.mentions(forms)
            self._places[forms] = [span[0] for span in found]
        places = self._places[forms]
        at = bisect_left(places, clause[0])
        return at < len(places) and places[at] < clause[1]


def _outermost(mentions: Iterator[tuple[Span, int]]) -> list[tuple[Span, int]]:
    """In order, without those inside of a longer one: `North` in `North East`."""
    kept: list[tuple[Span, int]] = []
    furthest = -1
    for span, row in sorted(mentions, key=lambda m: (m[0][0], -m[0][1])):
        if span[1] > furthest:
            kept.append((span, row))
            furthest = span[1]
    return kept
