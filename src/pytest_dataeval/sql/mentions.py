"""Fields as people write them in a case, and as a statement mentions them.

A mention is a dotted lower-case path (`support.tickets.cost`, as much of it as
is known), or `name()` for a function. A field is an identifier, a dotted path
or a call; anything else is prose, for a person or a judge.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_dataeval.sql.levels import Use
from pytest_dataeval.sql.resolve import WHOLE_ROW, Resolver
from pytest_dataeval.sql.tables import table_parts

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

_PART = r'(?:[^\W\d][\w$]*|"[^"]+")'
_PATH = re.compile(rf"{_PART}(?:\s*\.\s*{_PART})*")
_CALL = re.compile(r"(?P<name>[^\W\d]\w*)\s*\(\s*(?P<inside>[^()]*?)\s*\)?")
_METHOD_CALL = re.compile(rf"(?P<path>{_PART}(?:\.{_PART})*)\.\w+\(\s*\)")
_CODE_PATH = re.compile(rf"{_PART}(?:\.{_PART})*\s*\(?")
_ANYTHING = frozenset({"", "...", "…", "*"})

Occurrence = Literal["hit", "leaf"]


@dataclass(frozen=True, slots=True)
class Field:
    """A path, or a function: then `path` is what it is applied to, if given."""

    path: tuple[str, ...] = ()
    function: str = ""


def parse_field(text: str) -> Field | None:
    """Read a field as written in a case; None for prose.

    `year(...)`, `year(` and `year()` are the function; `avg(cost)` is the
    function applied to the field; a trailing aggregate (`t.cost.avg()`) is
    dropped from its path.
    """
    text = text.strip()
    if re.search(r"\s(as|through)\s", text, re.IGNORECASE):
        return None
    if _PATH.fullmatch(text):
        return Field(path=_parts(text))
    method = _METHOD_CALL.fullmatch(text)
    if method is not None:
        return Field(path=_parts(method["path"]))
    call = _CALL.fullmatch(text)
    if call is None:
        return None
    function = call["name"].lower()
    if call["inside"] in _ANYTHING:
        return Field(function=function)
    if _PATH.fullmatch(call["inside"]):
        return Field(path=_parts(call["inside"]), function=function)
    return None


def occurrence(field: Field, mentions: Collection[str]) -> Occurrence | None:
    """How a path, or a function as such, occurs among `mentions`.

    Whole identifiers only. `leaf`: only the last name of a dotted path occurs,
    bare, which may be another table's column.
    """
    if field.function and not field.path:
        return "hit" if f"{field.function}()" in mentions else None
    paths = [tuple(mention.split(".")) for mention in mentions]
    if any(_contains(path, field.path) for path in paths):
        return "hit"
    if len(field.path) == 1:
        return "hit" if f"{field.path[0]}()" in mentions else None
    return "leaf" if (field.path[-1],) in paths else None


def mentions_of(use: Use, resolver: Resolver) -> frozenset[str]:
    """What a use mentions itself: nothing where it means a column of a query."""
    from sqlglot import exp

    node = use.node
    if not isinstance(node, exp.Column | exp.Identifier) or use.level.outputs_only:
        return frozenset()
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        return frozenset()
    column_parts = [node] if isinstance(node, exp.Identifier) else node.parts
    parts = [part.name.lower() for part in column_parts]
    path = (*parts, *_fields_behind(node))
    found: set[str] = set()
    sources = resolver.sources_of(use)
    for source, column in sources:
        if source.table is not None and len(parts) > 1 and column in parts:
            name = table_parts(source.table)
            found.add(".".join((*name, *path[parts.index(column) :])))
        elif source.table is not None:
            found.add(".".join(path))
        elif column != WHOLE_ROW and not resolver.has(source, column):
            # A star in between hides whether the column comes from a table.
            found.add(".".join(path[parts.index(column) :]))
    if not sources and parts[0] not in use.level.aliases:
        found.add(".".join(path))
    return frozenset(found)


def mentions_in_tokens(tokens: Iterable[Token]) -> frozenset[str]:
    """Paths and calls in text that no parser reads: every name outside strings."""
    pieces: list[str] = []
    for token in tokens:
        kind = token.token_type.name
        quoted = kind == "IDENTIFIER"
        blind = "STRING" in kind or kind == "NUMBER"
        pieces.append(
            " '' " if blind else f'"{token.text}"' if quoted else f" {token.text} "
        )
    text = re.sub(r"\s*\.\s*", ".", "".join(pieces))
    return mentions_in_code(text)


def mentions_in_code(code: str) -> frozenset[str]:
    """Paths and calls in text whose comments and strings are blanked."""
    found: set[str] = set()
    for match in _CODE_PATH.finditer(code):
        path = ".".join(_parts(match[0].rstrip("( \t\r\n")))
        found.add(path)
        if match[0].endswith("("):
            found.add(f"{path.rpartition('.')[2]}()")
    return frozenset(found)


def _fields_behind(node: object) -> list[str]:
    """Names behind a column that are no part of it: fields of a struct."""
    from sqlglot import exp

    names: list[str] = []
    child = node
    while isinstance(child, exp.Expr) and isinstance(child.parent, exp.Dot | exp.Paren):
        parent = child.parent
        if isinstance(parent, exp.Dot):
            if parent.this is not child or not isinstance(
                parent.expression, exp.Identifier
            ):
                break
            names.append(parent.expression.name.lower())
        child = parent
    return names


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part.strip('"').lower() for part in re.findall(_PART, path))


def _contains(path: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    return any(
        path[start : start + len(wanted)] == wanted
        for start in range(len(path) - len(wanted) + 1)
    )
