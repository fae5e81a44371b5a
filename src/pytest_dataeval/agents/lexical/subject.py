"""What a question asks to have computed: a metric, a term, a column or a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pytest_dataeval.agents.lexical import words
from pytest_dataeval.agents.lexical.knowledge import (
    Column,
    Knowledge,
    Metric,
    Table,
    Term,
)
from pytest_dataeval.agents.lexical.match import (
    Match,
    Weights,
    best_match,
    phrase_stems,
)
from pytest_dataeval.agents.lexical.plan import Dimension, Filter, Plan
from pytest_dataeval.agents.lexical.question import Question

# A phrase fits when this share of it, by weight, stands in the question.
_FITS = 0.6

_SQL = {
    "average": "avg({})",
    "total": "sum({})",
    "maximum": "max({})",
    "minimum": "min({})",
    "median": "median({})",
}
# Kinds of metric as catalogs call them, by what a question would call them.
_KINDS = {
    **dict.fromkeys(("average", "mean"), "average"),
    **dict.fromkeys(("ratio", "percentage", "percent", "rate", "share"), "share"),
    **{"count": "count", "sum": "total", "median": "median"},
    **{"max": "maximum", "min": "minimum"},
}


@dataclass(frozen=True, slots=True)
class Subject:
    """A bare plan with the words of the question that it accounts for.

    `text` is what the catalog says of it: words in it are not foreign to it.
    """

    plan: Plan
    match: Match
    text: str = ""


def find_subject(
    question: Question, knowledge: Knowledge, weights: Weights
) -> Subject | None:
    """The subject that fits best: registered definitions before bare names."""
    defined = [
        *_metrics(question, knowledge, weights),
        *_terms(question, knowledge, weights),
    ]
    for subjects in (
        defined,
        list(_measures(question, knowledge, weights)),
        list(_things(question, knowledge, weights)),
    ):
        fitting = [s for s in subjects if s.match.coverage >= _FITS]
        if fitting:
            return max(fitting, key=lambda subject: subject.match.rank)
    return None


def _metrics(
    question: Question, knowledge: Knowledge, weights: Weights
) -> Iterator[Subject]:
    for metric in knowledge.metrics:
        table = knowledge.table(metric.table) if metric.expression else None
        if table is None:
            continue
        match = best_match(question, (metric.name, *metric.synonyms), weights)
        registered = _aggregate_of(metric)
        if not _agree(question.aggregate, registered) or (
            question.about_time and registered in ("count", "share")
        ):
            match = replace(match, coverage=match.coverage / 2)
        elif registered is not None and registered == question.aggregate:
            # Registered for just this: it goes before a term to be aggregated.
            match = replace(match, weight=match.weight * 1.25)
        plan = Plan(
            table.name,
            metric.expression,
            metric.name,
            filters=_filters(table, metric.filter),
            definition=metric.name,
            unit=metric.unit or None,
        )
        yield Subject(plan, match, f"{metric.description} {metric.filter}")


def _filters(table: Table, sql: str) -> tuple[Filter, ...]:
    return (Filter(table.name, sql),) if sql else ()


def _aggregate_of(metric: Metric) -> str | None:
    if metric.kind in _KINDS:
        return _KINDS[metric.kind]
    stems = phrase_stems(metric.name)
    return next((stem for stem in stems if stem in words.AGGREGATES), None)


def _agree(asked: str | None, registered: str | None) -> bool:
    if asked is None or registered is None or asked == registered:
        return True
    return {asked, registered} == {"count", "total"}


def _terms(
    question: Question, knowledge: Knowledge, weights: Weights
) -> Iterator[Subject]:
    population = _population(question, knowledge)
    for term in knowledge.terms:
        match = best_match(question, (term.name, *term.synonyms), weights)
        plan = _term_plan(question, knowledge, term)
        if question.aggregate == "share" and match.positions & population:
            continue
        if plan is not None:
            yield Subject(plan, match, term.description)


def _term_plan(question: Question, knowledge: Knowledge, term: Term) -> Plan | None:
    table, columns = term_columns(knowledge, term)
    if table is None:
        return None
    numbers = [c for c in columns if c.is_number]
    asked = _measure_of(question, "time")
    if numbers and asked is not None:
        return Plan(
            table.name,
            _SQL[asked].format(numbers[0].name),
            f"{asked} {term.name}",
            filters=_filters(table, term.filter),
            definition=term.name,
        )
    if not term.filter or _is_measure(term, columns):
        return None
    if question.aggregate == "share":
        value = f"avg(case when {term.filter} then 1.0 else 0.0 end)"
        return Plan(table.name, value, f"share of {term.name}", definition=term.name)
    if question.aggregate in (None, "count", "total") and not question.about_time:
        return Plan(
            table.name,
            "count(*)",
            f"count of {term.name}",
            filters=_filters(table, term.filter),
            definition=term.name,
        )
    return None


def _is_measure(term: Term, columns: list[Column]) -> bool:
    """Whether a term names a column's figure, and no rows that could be counted."""
    stems = set(phrase_stems(term.name))
    return any(c.is_number and stems <= set(phrase_stems(c.name)) for c in columns)


def _population(question: Question, knowledge: Knowledge) -> set[int]:
    """The word after "share of": it says of which rows, unless it names a table."""
    nouns = {
        stem
        for table in knowledge.tables.values()
        for phrase in (table.short, *table.synonyms)
        for stem in phrase_stems(phrase)
    }
    if "share" not in question.stems:
        return set()
    start = question.stems.index("share")
    following = [i for i in question.content if i > start][:1]
    return {i for i in following if question.stems[i] not in nouns}


def term_columns(knowledge: Knowledge, term: Term) -> tuple[Table | None, list[Column]]:
    """The table that a term is about, and which of its columns."""
    for name in term.columns:
        table = knowledge.table(name.rpartition(".")[0])
        if table is not None:
            parts = (column.rpartition(".") for column in term.columns)
            found = [
                table.column(column)
                for owner, _, column in parts
                if knowledge.table(owner) is table
            ]
            return table, [column for column in found if column is not None]
    return None, []


def _measure_of(question: Question, kind: str) -> str | None:
    """The aggregate of a measure: the asked one, else what its kind suggests."""
    if question.aggregate in _SQL:
        return question.aggregate
    if question.aggregate is None and (question.about_time or question.order):
        return "average" if kind == "time" else "total"
    return None


def _measures(
    question: Question, knowledge: Knowledge, weights: Weights
) -> Iterator[Subject]:
    """Columns by their names alone, where a question asks for a measure."""
    for table in knowledge.tables.values():
        for column in table.columns:
            match = best_match(question, (column.name, *column.synonyms), weights)
            stems = phrase_stems(column.name)
            if column.is_boolean and question.aggregate == "share":
                value = f"avg(case when {column.name} then 1.0 else 0.0 end)"
                plan = Plan(table.name, value, f"share of {column.name}")
                yield Subject(plan, match)
                continue
            asked = _measure_of(question, "time" if "time" in stems else "")
            is_key = column.name.lower() == "id" or column.name.lower().endswith("_id")
            if asked is None or is_key or not column.is_number:
                continue
            plan = Plan(
                table.name,
                _SQL[asked].format(column.name),
                f"{asked} {column.name}",
            )
            yield Subject(plan, match)


def _things(
    question: Question, knowledge: Knowledge, weights: Weights
) -> Iterator[Subject]:
    """Counts of rows or of different texts, and plain lists of texts."""
    if question.aggregate not in (None, "count", "total"):
        return
    head = _head(question)
    counts = question.aggregate is not None or question.order is not None
    for table in knowledge.tables.values():
        if counts:
            free = None if question.aggregate is None else head
            phrases = (table.short, *table.synonyms)
            match = best_match(question, phrases, weights, free=free)
            plan = Plan(table.name, "count(*)", f"count of {table.short}")
            yield Subject(plan, match)
        for column in table.columns:
            if not column.is_text:
                continue
            phrases = (column.name, *column.synonyms)
            match = best_match(question, phrases, weights, free=head)
            plan = (
                Plan(
                    table.name,
                    f"count(distinct {column.name})",
                    f"count of {column.name}",
                )
                if question.aggregate is not None
                else Plan(
                    table.name,
                    None,
                    column.name,
                    dimensions=(Dimension(table.name, column.name),),
                )
            )
            if counts and question.aggregate is None:
                continue
            yield Subject(plan, match)


def _head(question: Question) -> list[int]:
    """The word that is counted or listed: the first that is no mere filler, or a
    filler before it that data may be called by."""
    places: list[int] = []
    for i in question.content:
        if question.stems[i] in words.AGGREGATES:
            continue
        places.append(i)
        if not words.is_filler(question.tokens[i]):
            break
    return places
