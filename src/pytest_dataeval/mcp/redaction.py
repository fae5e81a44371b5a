"""Schema-only: what a catalog says, emptied of meaning, names and types kept.

An arm with `descriptions: schema` keeps every server, tool, input schema and call;
only the content of tool results changes, by this table. Keys are compared without
case, `_` and `-`. In a result a scalar under an emptied key becomes "", a list or
an object goes together with its key; numbers, true and false count as scalars.

| keys | fate in a catalog's results | because |
|---|---|---|
| name, fullyQualifiedName, fqn, id, entityType, service, database, databaseSchema, | kept | the schema and the way to the next call |
| columnNames, columns, dataType, type, joins, lineage edges and nodes, | | |
| paging and counts | | |
| description, displayName, summary, explanation, question, answer, note, notes, | emptied | prose in the company's words |
| comment, comments, purpose, highlight(s), annotation(s) | | |
| synonyms, aliases, tags, tier, domain(s), owners, certification, classification(s), | emptied | meaning by association |
| glossary, glossaryTerm(s), terms, relatedTerms, dataProducts, customProperties, extension | | |
| expression, metricExpression, formula, calculation, definition(s), sql, filter, | emptied | the definition itself |
| metricType, unit, unitOfMeasurement, granularity, constraints, sampleData, values, examples | | |
| columns, columnNames, table, tables of a glossary term or a metric | emptied | which column a term means is its definition |

What cannot be read as JSON in a catalog's successful result is replaced whole by
`UNREADABLE`: prose might define something. Error texts stay: they teach how to call.

A warehouse's results keep their refusals and the `note` on withheld columns, and
rows are never touched (a column may be called `description`); descriptions of
tables and columns are emptied there too, so that no meaning comes by that door.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def _keys(text: str) -> frozenset[str]:
    return frozenset(text.split())


UNREADABLE = "[text left out: this arm shows names and types only]"

_PROSE = _keys(
    "description displayname summary explanation question answer comment comments "
    "purpose highlight highlights annotation annotations"
)
_CATALOG_PROSE = frozenset({"note", "notes"})
_ASSOCIATION = _keys(
    "synonyms aliases tags tier domain domains owners certification classification "
    "classifications glossary glossaryterm glossaryterms terms relatedterms related "
    "dataproducts customproperties extension"
)
_DEFINITION = _keys(
    "expression metricexpression formula calculation definition definitions sql "
    "filter metrictype unit unitofmeasurement granularity constraints sampledata "
    "values examples"
)
_OF_A_TERM = frozenset({"columns", "columnnames", "table", "tables"})
_DEFINED_KINDS = frozenset({"glossaryterm", "metric"})
_ROWS = frozenset({"rows", "data", "records"})

_IN_CATALOG = _PROSE | _CATALOG_PROSE | _ASSOCIATION | _DEFINITION
_IN_WAREHOUSE = _PROSE | (_ASSOCIATION - {"domain", "domains"})


def redact_text(text: str, *, catalog: bool, entity_type: str | None = None) -> str:
    """One text block of a successful result without meaning.

    `entity_type` is what the call asked for, where the result does not say it.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict | list):
        return UNREADABLE if catalog and text.strip() else text
    redacted = redact_json(data, catalog=catalog, entity_type=entity_type)
    return json.dumps(redacted, ensure_ascii=False, separators=(",", ":"))


def redact_json(data: Any, *, catalog: bool, entity_type: str | None = None) -> Any:
    """`data` with the meaning removed, as the table above says."""
    keys = _IN_CATALOG if catalog else _IN_WAREHOUSE
    if catalog and _plain(entity_type or "") in _DEFINED_KINDS:
        keys = keys | _OF_A_TERM
    return _redact(data, keys, catalog)


def _redact(data: Any, keys: frozenset[str], catalog: bool) -> Any:
    if isinstance(data, list | tuple):
        return [_redact(item, keys, catalog) for item in data]
    if not isinstance(data, Mapping):
        return data
    if catalog and _plain(str(data.get("entityType", ""))) in _DEFINED_KINDS:
        keys = keys | _OF_A_TERM
    kept: dict[str, Any] = {}
    for key, value in data.items():
        plain = _plain(key)
        if not catalog and plain in _ROWS:
            kept[key] = value
        elif plain not in keys:
            kept[key] = _redact(value, keys, catalog)
        elif value is None or isinstance(value, str | int | float):
            kept[key] = None if value is None else ""
    return kept


def _plain(key: str) -> str:
    return key.lower().replace("_", "").replace("-", "")
