"""Parsing with a ceiling on size and depth; nothing a statement holds can raise.

Trees are cached and shared between callers: treat them as immutable, copy
before a change.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_dataeval.sql.effort import TooMuchWork, doublings, parse_in_steps
from pytest_dataeval.sql.lex import (
    code_only,
    dialect_name,
    has_template_mark,
    nesting,
)
from pytest_dataeval.sql.remember import remembered

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.tokenizer_core import Token

MAX_LENGTH = 100_000
MAX_DEPTH = 100

_MAX_DOUBLINGS = 7
_RECURSION_LIMIT = 10_000


@dataclass(frozen=True, slots=True)
class Unparsable:
    """Why a text could not be read; `rule` is a code, `reason` a sentence.

    Rules: `empty`, `too_long`, `too_deep`, `unparsable`, `several_statements`.
    """

    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class Parsed:
    """One statement as a sqlglot tree, with T-SQL's harmless openings before it.

    `preamble` holds `SET NOCOUNT ON` and `DECLARE @x type = value`, which many
    T-SQL clients write in front of a query.
    """

    tree: exp.Expr
    preamble: tuple[exp.Expr, ...] = ()


def parse_one(
    sql: str,
    dialect: str,
    *,
    max_length: int = MAX_LENGTH,
    max_depth: int = MAX_DEPTH,
) -> Parsed | Unparsable:
    """The single statement in `sql`. Never raises for what `sql` holds.

    `max_length` is in characters, `max_depth` in levels of brackets or CASE.
    Raises ValueError for a dialect that does not exist.
    """
    statements = parse_all(sql, dialect, max_length=max_length, max_depth=max_depth)
    if isinstance(statements, Unparsable):
        return statements
    *before, last = statements
    if not all(_is_harmless_opening(statement, dialect) for statement in before):
        return Unparsable(
            "several_statements",
            f"The text holds {len(statements)} statements; send exactly one.",
        )
    return Parsed(last, tuple(before))


def parse_all(
    sql: str,
    dialect: str,
    *,
    max_length: int = MAX_LENGTH,
    max_depth: int = MAX_DEPTH,
) -> tuple[exp.Expr, ...] | Unparsable:
    """Every statement in `sql`, at least one. Limits and errors as `parse_one`."""
    name = dialect_name(dialect)
    _require_dialect(name)
    too_big = _too_big(sql, name, max_length, max_depth)
    if too_big is not None:
        return too_big
    return _parse(sql, name)


def statement_count(sql: str, dialect: str) -> int | None:
    """How many statements the text holds; None if it cannot be parsed."""
    statements = parse_all(sql, dialect)
    if isinstance(statements, Unparsable):
        return 0 if statements.rule == "empty" else None
    return len(statements)


def tokens(sql: str, dialect: str) -> tuple[Token, ...] | None:
    """sqlglot's tokens, without comments; None if the text has no such form.

    Nesting does not matter here; cap the length of hostile text before.
    """
    name = dialect_name(dialect)
    _require_dialect(name)
    return _tokenize(sql, name)


@contextlib.contextmanager
def deep_recursion() -> Iterator[None]:
    """Room for recursion over a tree; the limit is put back with the last user."""
    with _recursion.lock:
        if _recursion.users == 0:
            _recursion.before = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_RECURSION_LIMIT, _recursion.before))
        _recursion.users += 1
    try:
        yield
    finally:
        with _recursion.lock:
            _recursion.users -= 1
            if _recursion.users == 0:
                sys.setrecursionlimit(_recursion.before)


class _Recursion:
    """The interpreter's limit is one for all threads, so its users are counted."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.before = 0


_recursion = _Recursion()


class _Silence(logging.Filter):
    """Drops sqlglot's warnings while this module parses: they quote the SQL."""

    def __init__(self) -> None:
        super().__init__()
        self.here = threading.local()

    def filter(self, record: logging.LogRecord) -> bool:
        return not getattr(self.here, "parsing", False)

    @contextlib.contextmanager
    def parsing(self) -> Iterator[None]:
        before = getattr(self.here, "parsing", False)
        self.here.parsing = True
        try:
            yield
        finally:
            self.here.parsing = before


_silence = _Silence()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep sqlglot's log lines of this thread out of the user's output."""
    logging.getLogger("sqlglot").addFilter(_silence)  # a second time is no change
    with _silence.parsing():
        yield


def _too_big(
    sql: str, dialect: str, max_length: int, max_depth: int
) -> Unparsable | None:
    if len(sql) > max_length:
        return Unparsable(
            "too_long",
            f"The statement has {len(sql)} characters; at most {max_length} are read.",
        )
    code = code_only(sql, dialect)
    if not code.strip(" \t\r\n\f;"):
        return Unparsable("empty", "There is no statement in the text.")
    depth = nesting(code)
    if depth > max_depth:
        return Unparsable(
            "too_deep",
            f"The statement nests {depth} levels deep; at most {max_depth} are read.",
        )
    if "\0" in sql or has_template_mark(code):
        return Unparsable(
            "unparsable",
            "The statement holds a template mark or a null character; send plain SQL.",
        )
    return None


@remembered(256)
def _parse(sql: str, dialect: str) -> tuple[exp.Expr, ...] | Unparsable:
    from sqlglot import exp

    read = tokens(sql, dialect)
    if read is None:
        return Unparsable(
            "unparsable",
            f"The statement cannot be read as {dialect}: a quote or comment is open.",
        )
    try:
        if doublings(read, dialect) > _MAX_DOUBLINGS:
            raise TooMuchWork
        with deep_recursion(), quiet():
            found = parse_in_steps(read, sql, dialect)
    except TooMuchWork:
        return Unparsable(
            "too_deep",
            "The statement nests joins before their ON, or types, too deep to be read;"
            " write each condition behind its join.",
        )
    # Compiled and pure sqlglot raise assorted internal errors on odd text.
    except Exception as error:
        return Unparsable(
            "unparsable",
            f"The statement cannot be read as {dialect}: {_first_line(error)}",
        )
    statements = tuple(
        statement
        for statement in found
        if statement is not None and not isinstance(statement, exp.Semicolon)
    )
    if not statements:
        return Unparsable("empty", "There is no statement in the text.")
    return statements


@remembered(64)
def _tokenize(sql: str, dialect: str) -> tuple[Token, ...] | None:
    import sqlglot

    try:
        with quiet():
            return tuple(sqlglot.tokenize(sql, read=dialect))
    # As above: an unterminated string is one of many ways.
    except Exception:
        return None


@functools.lru_cache(maxsize=32)
def _require_dialect(name: str) -> None:
    from sqlglot import Dialect

    Dialect.get_or_raise(name)


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _is_harmless_opening(statement: exp.Expr, dialect: str) -> bool:
    from sqlglot import exp

    if dialect_name(dialect) not in {"tsql", "fabric"}:
        return False
    if isinstance(statement, exp.Set):
        with deep_recursion():
            text = statement.sql("tsql")
        return " ".join(text.lower().replace("=", " ").split()) == "set nocount on"
    return isinstance(statement, exp.Declare) and not statement.find(
        exp.Query, exp.Table, exp.Schema, exp.Func
    )
