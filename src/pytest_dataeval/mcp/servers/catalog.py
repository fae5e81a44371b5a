"""The bundled catalog server: what words and columns mean, over four MCP tools.

Tool names, arguments and fields are OpenMetadata's, so that an agent made for one
works with the other. Entries that a caller may not read are absent.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_dataeval.catalog.model import Catalog
from pytest_dataeval.mcp.personas import Persona
from pytest_dataeval.mcp.servers.entries import ENTITY_TYPES, CallersView, Payload
from pytest_dataeval.mcp.servers.toolkit import Failed, Tool, make_server

if TYPE_CHECKING:
    from mcp.server import Server

TOOLS = (
    "search_metadata",
    "semantic_search",
    "get_entity_details",
    "get_entity_lineage",
)
"""The names that a client may count on."""

_MAX_HITS = 50
_MAX_ENTITIES = 10
_COLUMN_LIMIT = 100

_INTEGER = {"type": "integer", "minimum": 0}
_ENTITY_TYPE = {
    "type": "string",
    "enum": list(ENTITY_TYPES),
    "description": "table, glossaryTerm or metric",
}
_FQN = {
    "type": "string",
    "description": "fullyQualifiedName, as a search returns it",
}
_SIZE = {**_INTEGER, "description": f"Hits to return (10; {_MAX_HITS} at most)."}
_FROM = {**_INTEGER, "description": "Hits to skip."}


def build(
    catalog: Catalog, persona: Persona | None, *, name: str = "catalog"
) -> Server[Any]:
    """The server of `catalog` for `persona` (None: whom the HTTP front verified)."""
    source = _CatalogTools(catalog)
    tools = [
        Tool(
            "search_metadata",
            "Search tables, glossary terms and metrics by words. Glossary terms and "
            "metrics hold the agreed definitions of business words.",
            {
                "query": {"type": "string", "description": "Words to look for."},
                "entityType": _ENTITY_TYPE,
                "size": _SIZE,
                "from": _FROM,
            },
            source.search_metadata,
        ),
        Tool(
            "semantic_search",
            "Search the same entries by likeness, for when the exact words are not "
            "known.",
            {
                "query": {"type": "string", "description": "A question or words."},
                "filters": {
                    "type": "object",
                    "description": 'For example {"entityType": ["metric"]}.',
                },
                "size": _SIZE,
                "from": _FROM,
            },
            source.semantic_search,
            required=("query",),
        ),
        Tool(
            "get_entity_details",
            "Everything known of one entry: a table's columns and joins, a term's "
            "columns and filter, a metric's expression.",
            {
                "entityType": _ENTITY_TYPE,
                "fqn": _FQN,
                "columnOffset": {**_INTEGER, "description": "Columns to skip."},
                "columnLimit": {
                    **_INTEGER,
                    "description": f"Columns to return ({_COLUMN_LIMIT}).",
                },
                "entities": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": f"Several at once, {_MAX_ENTITIES} at most, each "
                    "as entityType:fqn, instead of entityType and fqn.",
                },
            },
            source.get_entity_details,
        ),
        Tool(
            "get_entity_lineage",
            "What an entry is made from and what is made from it.",
            {
                "entityType": _ENTITY_TYPE,
                "fqn": _FQN,
                "upstreamDepth": _INTEGER,
                "downstreamDepth": _INTEGER,
            },
            source.get_entity_lineage,
            required=("entityType", "fqn"),
        ),
    ]
    instructions = (
        "The data catalog: what tables, columns, business terms and metrics mean. "
        "Look a business word up here before you compute it."
    )
    return make_server(name, instructions, tools, persona)


class _CatalogTools:
    """The tools; each takes the caller and checked arguments."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._views: dict[frozenset[str], CallersView] = {}
        self._lock = threading.Lock()

    def _view(self, caller: Persona) -> CallersView:
        with self._lock:
            if caller.withheld not in self._views:
                self._views[caller.withheld] = CallersView(self._catalog, caller)
            return self._views[caller.withheld]

    def search_metadata(self, caller: Persona, arguments: Mapping[str, Any]) -> Payload:
        view = self._view(caller)
        query = str(arguments.get("query", "")).strip()
        kinds: Sequence[str] = ENTITY_TYPES
        if "entityType" in arguments:
            kinds = (_entity_type(arguments["entityType"]),)
        if query in ("", "*"):
            ranked = [(fqn, 0.0) for kind in kinds for fqn in view.known(kind)]
        else:
            ranked = view.index.lexical(query)
        return _page(view, ranked, kinds, arguments)

    def semantic_search(self, caller: Persona, arguments: Mapping[str, Any]) -> Payload:
        view = self._view(caller)
        filters = arguments.get("filters", {})
        unknown = sorted(set(filters) - {"entityType"})
        if unknown:
            raise Failed(
                "arguments",
                f"unknown filter {unknown[0]!r}; filters takes: entityType",
            )
        wanted = filters.get("entityType", list(ENTITY_TYPES))
        values = wanted if isinstance(wanted, list) else [wanted]
        kinds = tuple(_entity_type(value) for value in values)
        ranked = view.index.fuzzy(str(arguments["query"]))
        return _page(view, ranked, kinds, arguments)

    def get_entity_details(
        self, caller: Persona, arguments: Mapping[str, Any]
    ) -> Payload:
        view = self._view(caller)
        if "entities" not in arguments:
            missing = [key for key in ("entityType", "fqn") if key not in arguments]
            if missing:
                raise Failed(
                    "arguments",
                    f"argument {missing[0]!r} of get_entity_details is missing; give "
                    "entityType and fqn",
                )
            return _details(view, arguments["entityType"], arguments["fqn"], arguments)
        pairs = [str(entity).partition(":") for entity in arguments["entities"]]
        if len(pairs) > _MAX_ENTITIES:
            raise Failed(
                "arguments", f"entities takes {_MAX_ENTITIES} at most; ask again"
            )
        found = [_details(view, kind, fqn, arguments) for kind, _, fqn in pairs]
        return {"entities": found}

    def get_entity_lineage(
        self, caller: Persona, arguments: Mapping[str, Any]
    ) -> Payload:
        view = self._view(caller)
        entry = _entry(view, arguments["entityType"], arguments["fqn"])
        root = str(entry["fullyQualifiedName"])
        edges = view.lineage()
        upstream = _reach(root, [(b, a) for a, b in edges], arguments, "upstreamDepth")
        downstream = _reach(root, edges, arguments, "downstreamDepth")
        nodes = {name for edge in upstream + downstream for name in edge} - {root}
        return {
            "entity": root,
            "nodes": sorted(nodes),
            "upstreamEdges": [{"from": b, "to": a} for a, b in upstream],
            "downstreamEdges": [{"from": a, "to": b} for a, b in downstream],
        }


def _entity_type(value: Any) -> str:
    if value not in ENTITY_TYPES:
        known = ", ".join(ENTITY_TYPES)
        raise Failed(
            "arguments", f"there is no entityType {value!r}; entityType is: {known}"
        )
    return str(value)


def _page(
    view: CallersView,
    ranked: Sequence[tuple[str, float]],
    kinds: Sequence[str],
    arguments: Mapping[str, Any],
) -> Payload:
    found = [
        {**view.hit(fqn), "score": round(score, 4)}
        for fqn, score in ranked
        if view.hit(fqn)["entityType"] in kinds
    ]
    size = min(_MAX_HITS, max(0, int(arguments.get("size", 10))))
    start = max(0, int(arguments.get("from", 0)))
    page = found[start : start + size]
    return {
        "results": page,
        "totalFound": len(found),
        "returnedCount": len(page),
        "from": start,
    }


def _entry(view: CallersView, entity_type: Any, fqn: Any) -> Payload:
    kind = _entity_type(entity_type)
    entry = view.details(str(fqn))
    if entry is None or entry["entityType"] != kind:
        raise Failed(
            "not_found",
            f"there is no {kind} {str(fqn)!r}; search_metadata with entityType {kind} "
            "lists fully qualified names",
        )
    return entry


def _details(
    view: CallersView, entity_type: Any, fqn: Any, arguments: Mapping[str, Any]
) -> Payload:
    entry = _entry(view, entity_type, fqn)
    if entry["entityType"] != "table":
        return entry
    columns = entry["columns"]
    start = max(0, int(arguments.get("columnOffset", 0)))
    limit = max(0, int(arguments.get("columnLimit", _COLUMN_LIMIT)))
    page = columns[start : start + limit]
    more = start + len(page) < len(columns)
    return {
        **entry,
        "columns": page,
        "columnOffset": start,
        "totalColumns": len(columns),
        "hasMoreColumns": more,
    }


def _reach(
    root: str,
    edges: Sequence[tuple[str, str]],
    arguments: Mapping[str, Any],
    key: str,
) -> list[tuple[str, str]]:
    """Edges that lead away from `root` or its columns, `key` steps deep."""
    depth = min(10, max(0, int(arguments.get(key, 1))))
    found: list[tuple[str, str]] = []
    front = {root}
    for _ in range(depth):
        step = [
            edge
            for edge in edges
            if edge not in found
            and any(edge[0] == name or edge[0].startswith(name + ".") for name in front)
        ]
        if not step:
            break
        found += step
        front = {edge[1] for edge in step}
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """`python -m pytest_dataeval.mcp.servers.catalog --catalog FILE ...`"""
    from pytest_dataeval.mcp.servers.launch import run_catalog

    run_catalog(arguments)


if __name__ == "__main__":
    main()
