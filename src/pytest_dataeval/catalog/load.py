"""Reading a catalog file, and checking that it speaks of what it describes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..errors import FileErrors
from ..validation import nearest, validate
from ..yamlfile import KeyPath, read_yaml
from .model import Catalog

Problem = tuple[KeyPath, str]


def load_catalog(path: Path) -> Catalog:
    """Read a catalog. Raises FileErrors with every problem of the file.

    Names must be unique, and whatever a term, a metric, a join or an edge of the
    lineage names must stand under `tables`, `terms` or `metrics`.
    """
    document = read_yaml(path)
    catalog = validate(document, Catalog)
    problems = [
        document.error(key_path, message)
        for check in (_repeated, _dangling_names, _dangling_edges)
        for key_path, message in check(catalog)
    ]
    if problems:
        problems.sort(key=lambda p: (p.position.line, p.position.column))
        raise FileErrors(problems)
    return catalog


def _repeated(catalog: Catalog) -> Iterator[Problem]:
    sections: list[tuple[str, Sequence[str]]] = [
        ("tables", [table.name for table in catalog.tables]),
        ("terms", [term.name for term in catalog.terms]),
        ("metrics", [metric.name for metric in catalog.metrics]),
    ]
    for section, names in sections:
        for index, message in _second_uses(names):
            yield (section, index, "name"), message
    for number, table in enumerate(catalog.tables):
        for index, message in _second_uses([c.name for c in table.columns]):
            yield ("tables", number, "columns", index, "name"), message


def _second_uses(names: Sequence[str]) -> Iterator[tuple[int, str]]:
    seen: Counter[str] = Counter()
    for index, name in enumerate(names):
        seen[name] += 1
        if seen[name] > 1:
            yield index, f"the name {name!r} is used a second time; rename one"


def _dangling_names(catalog: Catalog) -> Iterator[Problem]:
    tables = {table.name for table in catalog.tables}
    columns = _columns(catalog)
    terms = {term.name for term in catalog.terms}
    named = terms | {metric.name for metric in catalog.metrics}
    for number, term in enumerate(catalog.terms):
        at: KeyPath = ("terms", number)
        yield from _missing((*at, "columns"), term.columns, columns, "column")
        yield from _missing((*at, "related"), term.related, named, "term or metric")
    for number, metric in enumerate(catalog.metrics):
        at = ("metrics", number)
        if metric.table not in tables:
            yield (*at, "table"), nearest("table", metric.table, tables)
        yield from _missing((*at, "terms"), metric.terms, terms, "term")


def _dangling_edges(catalog: Catalog) -> Iterator[Problem]:
    columns = _columns(catalog)
    entities = columns | {table.name for table in catalog.tables}
    for section, edges, known, kind in (
        ("joins", catalog.joins, columns, "column"),
        ("lineage", catalog.lineage, entities, "table or column"),
    ):
        for number, edge in enumerate(edges):
            for key, name in (("from", edge.source), ("to", edge.target)):
                if name not in known:
                    yield (section, number, key), nearest(kind, name, known)


def _columns(catalog: Catalog) -> set[str]:
    return {f"{t.name}.{column.name}" for t in catalog.tables for column in t.columns}


def _missing(
    at: KeyPath, names: Sequence[str], known: set[str], kind: str
) -> Iterator[Problem]:
    for index, name in enumerate(names):
        if name not in known:
            yield (*at, index), nearest(kind, name, known)
