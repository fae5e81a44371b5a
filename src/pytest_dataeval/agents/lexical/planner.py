"""From a question and what is known to one query, or to an honest "cannot".

Pure: the same question, knowledge and values always give the same plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from pytest_dataeval.agents.lexical import words
from pytest_dataeval.agents.lexical.knowledge import Column, Knowledge, Table
from pytest_dataeval.agents.lexical.match import (
    Weights,
    all_places,
    best_match,
    phrase_stems,
    weights_of,
)
from pytest_dataeval.agents.lexical.plan import (
    Condition,
    Dimension,
    Filter,
    Period,
    Planned,
    Values,
)
from pytest_dataeval.agents.lexical.question import Question
from pytest_dataeval.agents.lexical.subject import (
    Subject,
    find_subject,
    term_columns,
)

# Words that nothing explains may weigh so much against those that are explained.
_UNEXPLAINED = 0.45


def make_plan(question: Question, knowledge: Knowledge, values: Values) -> Planned:
    """The query that fits best; `values` are texts that stand in columns."""
    weights = weights_of(knowledge)
    subject = find_subject(question, knowledge, weights)
    if subject is None:
        return Planned(None, _tokens(question, _unknown(question, knowledge)))
    return _Draft(question, knowledge, values, weights, subject).finish()


def reachable(knowledge: Knowledge, table: Table) -> list[Table]:
    """The table, then those that its keys lead to, nearest first."""
    found = [table]
    for near in found:
        for join in knowledge.joins_from(near):
            other = knowledge.table(join.other_table)
            if other is not None and other not in found:
                found.append(other)
    return found


class _Draft:
    """A subject that takes in the other words of its question, one kind at a time."""

    def __init__(
        self,
        question: Question,
        knowledge: Knowledge,
        values: Values,
        weights: Weights,
        subject: Subject,
    ) -> None:
        self._question = question
        self._knowledge = knowledge
        self._values = values
        self._weights = weights
        self._subject = subject
        self._plan = subject.plan
        base = knowledge.table(subject.plan.table)
        self._tables = [] if base is None else reachable(knowledge, base)
        self._used = set(subject.match.positions)

    def finish(self) -> Planned:
        self._add_terms()
        self._add_conditions()
        self._add_dimensions()
        self._add_period()
        self._add_order()
        left = self._left_over()
        if self._is_too_much(left):
            return Planned(None, _tokens(self._question, left))
        return Planned(self._plan, _tokens(self._question, left))

    def _free(self) -> list[int]:
        return [i for i in self._question.content if i not in self._used]

    def _add_terms(self) -> None:
        """Terms that narrow the rows: "open" in "waiting time of open tickets"."""
        nouns = self._nouns()
        for term in self._knowledge.terms:
            table, _ = term_columns(self._knowledge, term)
            if table is None or table not in self._tables or not term.filter:
                continue
            free = set(self._free()) | nouns
            phrases = (term.name, *term.synonyms)
            match = best_match(self._question, phrases, self._weights, free=free)
            if match.coverage < 0.99 or not match.positions - nouns:
                continue
            self._used |= match.positions
            added = Filter(table.name, term.filter)
            if added not in self._plan.filters:
                filters = (*self._plan.filters, added)
                self._plan = replace(self._plan, filters=filters)

    def _nouns(self) -> set[int]:
        """Places of the words that name the tables at hand."""
        stems = [
            stem
            for table in self._tables
            for phrase in (table.short, *table.synonyms)
            for stem in phrase_stems(phrase)
        ]
        return set(all_places(self._question, stems))

    def _add_conditions(self) -> None:
        conditions: dict[tuple[str, str], list[str]] = {}
        for table in self._tables:
            for column in table.columns:
                key = (table.name, column.name)
                # Longer values first: "Technical Support" before "Support".
                for value in sorted(
                    self._values.get(key, ()), key=lambda v: (-len(v), v)
                ):
                    places = self._places_of_value(value)
                    if places:
                        self._used |= places
                        conditions.setdefault(key, []).append(value)
        self._plan = replace(
            self._plan,
            conditions=tuple(
                Condition(table, column, tuple(found))
                for (table, column), found in conditions.items()
            ),
            # Several values of one column are there to be compared.
            dimensions=self._plan.dimensions
            + tuple(
                Dimension(table, column)
                for (table, column), found in conditions.items()
                if len(found) > 1
            ),
        )

    def _places_of_value(self, value: str) -> set[int]:
        wanted = words.tokens(value)
        free = set(self._free())
        if not wanted or all(token in words.STOP for token in wanted):
            return set()
        for start in range(len(self._question.tokens) - len(wanted) + 1):
            places = set(range(start, start + len(wanted)))
            run = self._question.tokens[start : start + len(wanted)]
            if list(run) == wanted and places & free and not places & self._used:
                return places
        return set()

    def _add_dimensions(self) -> None:
        if self._plan.value is None:
            return
        for place in self._question.groups:
            self._add_dimension(place)
        if self._question.order is None:
            return
        for place in self._free():
            # "The team with the shortest ...": the first that can be ranked.
            if self._plan.dimensions:
                break
            self._add_dimension(place)

    def _add_dimension(self, place: int) -> None:
        found = None if place in self._used else self._dimension(place)
        if found is None:
            return
        dimension, places = found
        self._used |= places
        filtered = {(c.table, c.column) for c in self._plan.conditions}
        is_new = dimension not in self._plan.dimensions
        if is_new and (dimension.table, dimension.column) not in filtered:
            dimensions = (*self._plan.dimensions, dimension)
            self._plan = replace(self._plan, dimensions=dimensions)

    def _dimension(self, place: int) -> tuple[Dimension, set[int]] | None:
        stem = self._question.stems[place]
        for table, column in self._columns():
            if column.is_number and column.name.lower().endswith("id"):
                continue
            phrases = (column.name, *column.synonyms)
            free = [place, *self._free()]
            match = best_match(self._question, phrases, self._weights, free=free)
            if match.coverage >= 0.99 and place in match.positions:
                return Dimension(table.name, column.name), set(match.positions)
        if stem in words.PERIODS and (time := self._time_column()) is not None:
            return Dimension(*time, period=stem), {place}
        for table in self._tables:
            name = table.column("name")
            stems = phrase_stems(table.short)
            if name is not None and any(words.likeness(stem, s) == 1 for s in stems):
                return Dimension(table.name, name.name), {place}
        return None

    def _columns(self) -> Iterator[tuple[Table, Column]]:
        for table in self._tables:
            for column in table.columns:
                yield table, column

    def _time_column(self) -> tuple[str, str] | None:
        """The time that the question names ("opened"), else the first there is."""
        base = self._tables[0] if self._tables else None
        times = [] if base is None else [c for c in base.columns if c.is_time]
        if base is None or not times:
            return None

        def fit(phrases: tuple[str, ...]) -> float:
            return best_match(self._question, phrases, self._weights).weight

        best = max(
            times,
            key=lambda column: (
                fit((column.name, *column.synonyms)),
                fit((column.description,)),
            ),
        )
        return base.name, best.name

    def _add_period(self) -> None:
        asked = self._question
        parts = (asked.year, asked.quarter, asked.month)
        time = self._time_column()
        if time is not None and any(part is not None for part in parts):
            self._plan = replace(self._plan, period=Period(*time, *parts))

    def _add_order(self) -> None:
        if self._plan.dimensions and self._plan.value is not None:
            self._plan = replace(self._plan, order=self._question.order)

    def _left_over(self) -> list[int]:
        """Words that nothing explains: neither the plan nor what is said of it."""
        stems = [stem for i in self._used for stem in [self._question.stems[i]]]
        for table in self._tables:
            stems += [
                s for part in words.tokens(table.name) for s in [words.stem(part)]
            ]
        columns = [d.column for d in self._plan.dimensions]
        columns += [c.column for c in self._plan.conditions]
        for column in columns:
            stems += phrase_stems(column)
        stems += phrase_stems(self._plan.unit or "")
        explained = self._used | self._nouns() | set(all_places(self._question, stems))
        said = {words.stem(token) for token in words.tokens(self._subject.text)}
        return [
            i
            for i in self._question.content
            if i not in explained
            and not words.is_filler(self._question.tokens[i])
            and self._question.stems[i] not in words.AGGREGATES
            and self._question.stems[i] not in said
        ]

    def _is_too_much(self, left: Iterable[int]) -> bool:
        stems = self._question.stems
        unexplained = sum(self._weights[stems[i]] for i in left)
        explained = sum(
            self._weights[stems[i]] for i in self._question.content if i not in left
        )
        if self._plan.definition is None:
            # A bare name that happens to fit is no ground to pass over a word.
            return unexplained > 0
        return unexplained > _UNEXPLAINED * explained


def _unknown(question: Question, knowledge: Knowledge) -> list[int]:
    """Words of the question that no name of the data has; all if each has one."""
    known = [
        words.stem(token)
        for table in knowledge.tables.values()
        for name in (table.name, *(column.name for column in table.columns))
        for token in words.tokens(name)
    ]
    places = all_places(question, known)
    content = [
        i
        for i in question.content
        if question.stems[i] not in words.AGGREGATES
        and not words.is_filler(question.tokens[i])
    ]
    return [i for i in content if i not in places] or content


def _tokens(question: Question, places: Iterable[int]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(question.tokens[i] for i in places))
