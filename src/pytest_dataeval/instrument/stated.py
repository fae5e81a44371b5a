"""states_figure: does the prose say what the reference says?"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pytest_dataeval.instrument.cells import is_number, parse_iso, read, rule_for
from pytest_dataeval.instrument.contradiction import NamedRow, contradiction
from pytest_dataeval.instrument.figures import Figure
from pytest_dataeval.instrument.prose import Prose, date_names, text_names
from pytest_dataeval.instrument.targets import Target, states
from pytest_dataeval.records import ResultSet

if TYPE_CHECKING:
    from pytest_dataeval.cases.model import Case

_PERCENT_NAME = re.compile(r"(?:^|_|\b)(?:pct|percent|percentage|perc)(?:$|_|\b)|%")
_LABEL_NAME = re.compile(
    r"(?:^|.*(?<!per)[_ ])(?:year|fy|month|quarter|week|day|hour|id|rank|nr|code|key)"
)
_FALLING = re.compile(
    r"(?:^|_|\b)(?:drop|dropp\w*|decreas\w*|declin\w*|fall|fell|loss|lost|reduc\w*"
    r"|shr[iau]nk|churn\w*|down|lower|fewer|less|saving\w*|saved)(?:$|_|\b)"
)
#: Figures of a long reference that are counted as stated or not.
MOST_COUNTED = 500
#: Rows of a reference that a text can be expected to state one by one.
MOST_STATED_ROWS = 20


@dataclass(frozen=True, slots=True)
class Statement:
    """What the prose states of a reference.

    `holds` is the rule's judgement, None where it does not apply; `reason` says
    why it fails; `every_row` whether each reference row is stated.
    """

    holds: bool | None
    reason: str | None = None
    detail: str = ""
    every_row: bool = False
    headline: bool | None = None


@dataclass(frozen=True)
class _Row:
    """One reference row as the prose may say it."""

    names: tuple[tuple[str, ...], ...]
    targets: tuple[Target, ...]


class Rule:
    """The statement rule of one reference beside one text.

    `left_out` holds indexes of optional columns that the answer does not have.
    """

    def __init__(
        self,
        reference: ResultSet,
        prose: Prose,
        case: Case,
        left_out: frozenset[int] = frozenset(),
    ) -> None:
        self.prose = prose
        self.case = case
        self.reference = reference
        self._columns = [
            index for index in range(len(reference.names)) if index not in left_out
        ]
        self._cells = [[read(cell) for cell in row] for row in reference.rows]
        self._numeric = [i for i in self._columns if self._is_numeric(i)]
        labels = [i for i in self._numeric if self._is_label(i)]
        # A year beside a revenue is a name; a year alone is the figure.
        self._labels = labels if len(labels) < len(self._numeric) else []
        self._figures = [i for i in self._numeric if i not in self._labels]
        self._stated: dict[tuple[int, int], bool] = {}
        # How a column is read, as a target without a value.
        self._models: dict[int, Target] = {}

    @property
    def has_figures(self) -> bool:
        """Whether the reference holds a number that a text can state."""
        return bool(self._figures)

    # -------------------------------------------------------------- the rule

    def judge(self) -> Statement:
        """Apply the case's `state` to the prose."""
        holds, reason, detail = self._judged()
        contradicted = self._contradiction()
        if contradicted:
            holds, reason, detail = False, "figure_contradicted", contradicted
        return Statement(
            holds,
            reason if holds is False else None,
            detail,
            every_row=self._is_every_row_stated(),
            headline=self._headline(),
        )

    def _judged(self) -> tuple[bool | None, str, str]:
        state = self.case.state
        if state == "none":
            return None, "", ""
        if isinstance(state, list):
            return self._named_columns(state)
        cells = [(row, i) for row in range(len(self._cells)) for i in self._figures]
        cells = [cell for cell in cells if self._cells[cell[0]][cell[1]] is not None]
        counted = cells if state == "all" else cells[:MOST_COUNTED]
        stated = sum(self.is_stated(*cell) for cell in counted)
        if not stated:
            stated = any(self.is_stated(*cell) for cell in cells[MOST_COUNTED:])
        detail = self._counted(stated, len(cells))
        if state == "all":
            names, missing = self._names_stated()
            if not cells:
                return names, "name_not_stated", missing
            return stated == len(cells), "figure_not_stated", detail
        if cells:
            if not stated:
                return False, "figure_not_stated", detail
            if state == "any" or len(self._cells) > 1:
                return True, "", detail
            names, missing = self._names_stated()
            return names is not False, "name_not_stated", missing
        return self._without_figures()

    def _without_figures(self) -> tuple[bool | None, str, str]:
        names, missing = self._names_stated()
        if names is not None:
            if len(self._cells) > 1:
                some = any(self._named(row) for row in self._rows)
                return some, "name_not_stated", missing
            return names, "name_not_stated", missing
        return self._dates_or_booleans()

    def _dates_or_booleans(self) -> tuple[bool | None, str, str]:
        values = [cell for row in self.reference.rows for cell in row]
        dates = [value for value in values if isinstance(value, dt.date)]
        if dates:
            if any(self.prose.mentions(date_names(value)) for value in dates):
                return True, "", ""
            known = self.prose.has_date()
            return (False if known else None), "figure_not_stated", ""
        booleans = [value for value in values if isinstance(value, bool)]
        if len(booleans) == 1:
            said = _yes_or_no(self.prose)
            return (
                None if said is None else said == booleans[0],
                "figure_not_stated",
                "",
            )
        return None, "", ""

    def _named_columns(self, columns: Sequence[str]) -> tuple[bool, str, str]:
        wanted = {name.casefold() for name in columns}
        for index, name in enumerate(self.reference.names):
            if name.casefold() not in wanted:
                continue
            for number, row in enumerate(self.reference.rows):
                if row[index] is None:
                    continue
                if is_number(read(row[index])):
                    if not self.is_stated(number, index):
                        detail = f"{name} is {row[index]}."
                        return False, "figure_not_stated", detail
                elif not self.prose.mentions(self._names_of(row[index])):
                    return False, "name_not_stated", f"{name} is {row[index]}."
        return True, "", ""

    def _counted(self, stated: int, total: int) -> str:
        if not total:
            return ""
        if stated or total > 1:
            return f"{stated} of {total} figures stated."
        value = next(
            self.reference.rows[row][i]
            for row in range(len(self._cells))
            for i in self._figures
            if self._target(row, i) is not None
        )
        return f"It is {value}."

    def _names_stated(self) -> tuple[bool | None, str]:
        """Whether every text value is named, and the first that is not."""
        found = False
        for row in self._rows:
            for names in row.names:
                found = True
                if not self.prose.mentions(names):
                    return False, f"{names[0]} is not named."
        return (True if found else None), ""

    # --------------------------------------------------------------- figures

    def is_stated(self, row: int, column: int) -> bool:
        """Whether a figure of the prose states this reference cell."""
        if (row, column) not in self._stated:
            target = self._target(row, column)
            self._stated[row, column] = target is not None and any(
                states(figure, target) for figure in self.prose.figures
            )
        return self._stated[row, column]

    def states_any(self, figure: Figure) -> bool:
        """Whether this figure states any figure of the reference."""
        return any(states(figure, t) for row in self._rows for t in row.targets)

    def _headline(self) -> bool | None:
        if not self._figures:
            return None
        figure = self.prose.headline()
        return figure is not None and self.states_any(figure)

    def _is_numeric(self, column: int) -> bool:
        values = [row[column] for row in self.reference.rows]
        return any(is_number(read(v)) and not isinstance(v, bool) for v in values)

    def _is_label(self, column: int) -> bool:
        cells = [row[column] for row in self._cells if row[column] is not None]
        if not all(isinstance(cell, int) for cell in cells):
            return False
        named = _LABEL_NAME.fullmatch(self.reference.names[column].casefold())
        return bool(named) or all(
            isinstance(cell, int) and 1900 <= cell <= 2100 for cell in cells
        )

    def _target(self, row: int, column: int) -> Target | None:
        cell = self._cells[row][column]
        if not isinstance(cell, int | float):
            return None
        if column not in self._models:
            name = self.reference.names[column]
            scale, bare = self._scale(column, name.casefold())
            self._models[column] = Target(
                0,
                rule_for(name, self.case.tolerance),
                scale,
                bare_percent=bare,
                falling=bool(_FALLING.search(name.casefold()) or self._asks_for_a_fall),
            )
        return replace(self._models[column], value=cell)

    def _scale(self, column: int, name: str) -> tuple[str, bool]:
        """What a percent sign means for a column, and whether it may be left out."""
        unit = (self.case.unit or "").strip().casefold()
        is_named_percent = _PERCENT_NAME.search(name) is not None
        if unit == "ratio":
            return "ratio", self.prose.speaks_of_percent
        if unit == "percent":
            return "percent", True
        if unit:
            return ("percent" if is_named_percent else "none"), False
        cells = [row[column] for row in self._cells]
        numbers = [cell for cell in cells if isinstance(cell, int | float)]
        is_fraction = all(abs(n) <= 1 for n in numbers) and any(
            0 < abs(n) < 1 for n in numbers
        )
        if is_fraction and not is_named_percent:
            return "ratio", self.prose.speaks_of_percent
        return "percent", False

    @cached_property
    def _asks_for_a_fall(self) -> bool:
        return _FALLING.search(self.case.question.casefold()) is not None

    # ------------------------------------------------------------------ rows

    @cached_property
    def _rows(self) -> list[_Row]:
        rows: list[_Row] = []
        for number, row in enumerate(self.reference.rows):
            names = tuple(
                tuple(text_names(row[i], self.case.synonyms))
                for i in self._columns
                if isinstance(row[i], str) and parse_iso(row[i].strip()) is None
            )
            targets = tuple(
                target
                for i in self._figures
                if (target := self._target(number, i)) is not None
            )
            rows.append(_Row(names, targets))
        return rows

    def _names_of(self, value: Any) -> list[str]:
        if isinstance(value, dt.date):
            return date_names(value)
        if isinstance(value, str):
            moment = parse_iso(value.strip())
            if moment is not None:
                return date_names(moment)
            return text_names(value, self.case.synonyms)
        if isinstance(value, int):
            return [str(value), f"FY{value}", f"FY {value}"]
        return [str(value)]

    def _named(self, row: _Row) -> bool:
        return all(self.prose.mentions(names) for names in row.names)

    def _is_every_row_stated(self) -> bool:
        if len(self._rows) > MOST_STATED_ROWS:
            return False
        for number, row in enumerate(self._rows):
            if not (row.names or row.targets) or not self._named(row):
                return False
            if row.targets and not any(
                self.is_stated(number, i) for i in self._figures
            ):
                return False
        return True

    def _row_names(self) -> list[list[str]] | None:
        """The names of each row in the first column whose values tell rows apart."""
        kinds: list[list[int]] = [[], [], []]
        for index in self._columns:
            sample = self.reference.rows[0][index]
            if isinstance(sample, str):
                kinds[0].append(index)
            elif isinstance(sample, dt.date):
                kinds[1].append(index)
            elif index in self._labels:
                kinds[2].append(index)
        for index in [*kinds[0], *kinds[1], *kinds[2]]:
            values = [row[index] for row in self.reference.rows]
            folded = {str(value).strip().casefold() for value in values}
            if len(folded) == len(values) and None not in values:
                return [self._names_of(value) for value in values]
        return None

    def _contradiction(self) -> str:
        names = self._row_names() if self._figures else None
        if names is None or self.case.state == "none":
            return ""
        rows = [
            NamedRow(tuple(own), row.names, row.targets, shown)
            for own, row, shown in zip(
                names, self._rows, self.reference.rows, strict=True
            )
        ]
        return contradiction(self.prose, rows)


def _yes_or_no(prose: Prose) -> bool | None:
    said = {
        word in ("yes", "true", "correct")
        for word in re.findall(r"\b(?:yes|true|correct|no|false)\b", prose.folded)
    }
    first = re.match(r"\W*(yes|no)\b", prose.folded)
    if first:
        return first[1] == "yes"
    return said.pop() if len(said) == 1 else None
