"""What the lexical agent has learnt from its tools about the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_dataeval.agents.base import Context
from pytest_dataeval.agents.tools import failure_message, find_tool
from pytest_dataeval.records import ToolResult

# A wide warehouse is not described whole: the question does not need it.
_MAX_TABLES = 40
_HITS = {"metric": 8, "glossaryTerm": 8, "table": 8}


@dataclass(frozen=True, slots=True)
class Column:
    """`synonyms` and `description` are empty where there is no catalog."""

    name: str
    sql_type: str
    synonyms: tuple[str, ...] = ()
    description: str = ""

    @property
    def is_text(self) -> bool:
        kind = self.sql_type.upper()
        return any(part in kind for part in ("CHAR", "TEXT", "STRING", "ENUM"))

    @property
    def is_time(self) -> bool:
        return self.sql_type.upper().startswith(("DATE", "TIMESTAMP"))

    @property
    def is_boolean(self) -> bool:
        return self.sql_type.upper().startswith(("BOOL", "BIT"))

    @property
    def is_number(self) -> bool:
        numeric = ("INT", "DEC", "NUM", "DOUBLE", "FLOAT", "REAL")
        return any(part in self.sql_type.upper() for part in numeric)


@dataclass(frozen=True, slots=True)
class Table:
    """`name` is as the warehouse calls it, `schema.table` where it says so."""

    name: str
    columns: tuple[Column, ...] = ()
    synonyms: tuple[str, ...] = ()

    @property
    def short(self) -> str:
        return self.name.rpartition(".")[2]

    def column(self, name: str) -> Column | None:
        wanted = name.lower()
        return next((c for c in self.columns if c.name.lower() == wanted), None)


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    expression: str
    table: str
    filter: str = ""
    unit: str = ""
    kind: str = ""
    description: str = ""
    synonyms: tuple[str, ...] = ()
    dimensions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Term:
    """`columns` are `schema.table.column`; `filter` names the term's rows."""

    name: str
    filter: str = ""
    description: str = ""
    synonyms: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Join:
    """A key of `table` that refers to `other_column` of `other_table`."""

    table: str
    column: str
    other_table: str
    other_column: str


@dataclass(slots=True)
class Knowledge:
    """`refusal` is what the tools said where they refused to tell anything."""

    tables: dict[str, Table] = field(default_factory=dict)
    metrics: list[Metric] = field(default_factory=list)
    terms: list[Term] = field(default_factory=list)
    joins: list[Join] = field(default_factory=list)
    withheld: bool = False
    refusal: str = ""

    def table(self, name: str) -> Table | None:
        """A table by its full name, or by its last part where that is one table's."""
        wanted = name.lower()
        if wanted in self.tables:
            return self.tables[wanted]
        short = wanted.rpartition(".")[2]
        found = [t for t in self.tables.values() if t.short.lower() == short]
        return found[0] if len(found) == 1 else None

    def joins_from(self, table: Table) -> list[Join]:
        """Joins along keys of `table`: none of them repeats its rows."""
        name = table.name.lower()
        return [join for join in self.joins if join.table.lower() == name]


async def learn(question: str, context: Context) -> Knowledge:
    """Ask the tools that are there for tables, and for what the question names."""
    knowledge = Knowledge()
    await _describe_tables(knowledge, context)
    await _search_catalog(question, knowledge, context)
    told = {(join.table.lower(), join.column.lower()) for join in knowledge.joins}
    knowledge.joins += [
        join
        for join in _guessed_joins(knowledge)
        if (join.table.lower(), join.column.lower()) not in told
    ]
    return knowledge


# -------------------------------------------------------------------- warehouse


async def _describe_tables(knowledge: Knowledge, context: Context) -> None:
    listing = find_tool(context.tools, "list_tables")
    describing = find_tool(context.tools, "describe_table")
    if listing is None or describing is None:
        return
    result = await context.call_tool(listing.name, {})
    _note_refusal(knowledge, result)
    for entry in _items(result.payload.get("tables"))[:_MAX_TABLES]:
        name = _name(entry, "qualifiedName", "name")
        if not name:
            continue
        described = await context.call_tool(describing.name, {"table": name})
        data = described.payload
        if described.is_error:
            continue
        knowledge.withheld |= bool(data.get("withheldColumns"))
        columns = [
            Column(_name(column, "name"), _name(column, "type", "dataType"))
            for column in _items(data.get("columns"))
        ]
        full = _name(data, "qualifiedName") or name
        knowledge.tables[full.lower()] = Table(full, tuple(columns))


def _note_refusal(knowledge: Knowledge, result: ToolResult) -> None:
    if result.refusal is not None and not knowledge.refusal:
        knowledge.refusal = failure_message(result)


def _guessed_joins(knowledge: Knowledge) -> list[Join]:
    """Joins by names alone: `x_id` refers to `id` of the table `x` or `xs`."""
    joins = []
    for table in knowledge.tables.values():
        for column in table.columns:
            stem = column.name.lower().removesuffix("_id")
            if stem == column.name.lower():
                continue
            for other in knowledge.tables.values():
                named = other.short.lower() in (stem, f"{stem}s", f"{stem}es")
                if named and other.column("id") is not None:
                    joins.append(Join(table.name, column.name, other.name, "id"))
    return joins


# ---------------------------------------------------------------------- catalog


async def _search_catalog(
    question: str, knowledge: Knowledge, context: Context
) -> None:
    searching = find_tool(context.tools, "search_metadata")
    detailing = find_tool(context.tools, "get_entity_details")
    if searching is None:
        return
    for kind, size in _HITS.items():
        arguments = {"query": question, "entityType": kind, "size": size}
        result = await context.call_tool(searching.name, arguments)
        _note_refusal(knowledge, result)
        data = result.payload
        for hit in _items(data.get("results", data.get("hits"))):
            if not isinstance(hit, Mapping):
                continue
            fqn = _name(hit, "fullyQualifiedName")
            entry: Mapping[str, Any] = hit
            if detailing is not None and fqn:
                details = await context.call_tool(
                    detailing.name, {"entityType": kind, "fqn": fqn}
                )
                entry = {**hit, **details.payload} if not details.is_error else hit
            _add_entry(kind, entry, knowledge)


def _add_entry(kind: str, entry: Mapping[str, Any], knowledge: Knowledge) -> None:
    name = _name(entry, "displayName", "name")
    synonyms = _texts(entry.get("synonyms"))
    description = _name(entry, "description")
    if kind == "metric":
        knowledge.metrics.append(
            Metric(
                name,
                expression=_name(entry, "metricExpression", "expression"),
                table=_name(entry, "table"),
                filter=_name(entry, "filter"),
                unit=_name(entry, "unitOfMeasurement", "unit"),
                kind=_name(entry, "metricType").lower(),
                description=description,
                synonyms=synonyms,
                dimensions=_texts(entry.get("granularity")),
            )
        )
    elif kind == "glossaryTerm":
        knowledge.terms.append(
            Term(
                name,
                filter=_name(entry, "filter"),
                description=description,
                synonyms=synonyms,
                columns=_texts(entry.get("columns")),
            )
        )
    else:
        _add_table(entry, synonyms, knowledge)


def _add_table(
    entry: Mapping[str, Any], synonyms: tuple[str, ...], knowledge: Knowledge
) -> None:
    schema, name = _name(entry, "databaseSchema"), _name(entry, "name")
    full = f"{schema}.{name}" if schema and "." not in name else name
    described = knowledge.table(full)
    entries = {
        _name(column, "name").lower(): column
        for column in _items(entry.get("columns"))
        if isinstance(column, Mapping)
    }
    columns = (
        described.columns
        if described is not None
        else tuple(
            Column(_name(c, "name"), _name(c, "dataType", "type"))
            for c in entries.values()
        )
    )
    known = tuple(
        Column(
            column.name,
            column.sql_type,
            _texts(entries.get(column.name.lower(), {}).get("synonyms")),
            _name(entries.get(column.name.lower()), "description"),
        )
        for column in columns
    )
    full = described.name if described is not None else full
    knowledge.tables[full.lower()] = Table(full, known, synonyms)
    for edge in _items(entry.get("joins")):
        if not isinstance(edge, Mapping):
            continue
        source, target = _name(edge, "from"), _name(edge, "to")
        if "." in source and "." in target:
            table, _, column = source.rpartition(".")
            other_table, _, other_column = target.rpartition(".")
            join = Join(table, column, other_table, other_column)
            if join not in knowledge.joins:
                knowledge.joins.append(join)


# ---------------------------------------------------------------- reading JSON


def _items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _name(entry: Any, *keys: str) -> str:
    """The text of an entry: itself, or the first of the keys that holds one."""
    if isinstance(entry, str):
        return entry
    if isinstance(entry, Mapping):
        for key in keys:
            value = entry.get(key)
            if isinstance(value, str) and value:
                return value
    return ""


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(_name(item, "name", "displayName") for item in _items(value))
