"""SQL as characters: what is code, and how deep it nests. Knows no grammar.

This runs before the parser, on text that may be hostile, so it is one pass
without recursion. It is also the last resort for text that no parser reads.
"""

from __future__ import annotations

import re

from pytest_dataeval.sql.remember import remembered

ALIASES = {"postgresql": "postgres", "mssql": "tsql"}

_BACKSLASH = frozenset({"mysql", "bigquery", "databricks", "snowflake", "spark"})
_BRACKET_NAMES = frozenset({"tsql", "fabric", "sqlite"})
_DOLLAR = frozenset({"postgres", "duckdb", "redshift", "snowflake"})
_ESCAPE_STRINGS = frozenset({"postgres", "duckdb", "redshift"})
_FLAT_COMMENTS = frozenset({"sqlite", "mysql", "bigquery", "snowflake"})

_DOLLAR_TAG = re.compile(r"\$(?:[^\W\d]\w*)?\$")
# Words that open a level which brackets do not show. A long run of them takes
# a compiled parser down with a segmentation fault that nothing can catch.
_LEVEL = re.compile(r"\|>|[^\W\d]\w*|[^\w\s]")
_TEMPLATE = re.compile(r"\{[{#%]")


def dialect_name(dialect: str) -> str:
    """sqlglot's name of a dialect, lower-cased."""
    name = dialect.strip().lower()
    return ALIASES.get(name, name)


@remembered(256)
def code_only(sql: str, dialect: str, *, slash_comments: bool = False) -> str:
    """The text with comments and string literals blanked; same length.

    One pass from left to right, so a quote inside a comment opens nothing and
    a comment mark inside a string hides nothing. Quoted identifiers stay. With
    `slash_comments`, `//` starts a comment as in modelling languages.
    """
    dialect = dialect_name(dialect)
    kept: list[str] = []
    at = 0
    while at < len(sql):
        end, blank = _piece(sql, at, dialect, slash_comments)
        piece = sql[at:end]
        kept.append(re.sub(r"[^\n]", " ", piece) if blank else piece)
        at = end
    return "".join(kept)


def _piece(sql: str, at: int, dialect: str, slash: bool) -> tuple[int, bool]:
    """Where the piece that starts at `at` ends, and whether it is no code."""
    char = sql[at]
    pair = sql[at : at + 2]
    if pair == "--" or (slash and pair == "//"):
        end = sql.find("\n", at)
        return (len(sql) if end < 0 else end), True
    if pair == "/*":
        return _comment_end(sql, at, nested=dialect not in _FLAT_COMMENTS), True
    if char == "'":
        escapes = dialect in _BACKSLASH or (
            dialect in _ESCAPE_STRINGS and _follows_escape_mark(sql, at)
        )
        return _quoted_end(sql, at, "'", escapes=escapes), True
    if char in '"`':
        return _quoted_end(sql, at, char, escapes=False), False
    if char == "[" and dialect in _BRACKET_NAMES:
        return _quoted_end(sql, at, "]", escapes=False), False
    if char == "$" and dialect in _DOLLAR and not _inside_word(sql, at):
        tag = _DOLLAR_TAG.match(sql, at)
        if tag is not None:
            end = sql.find(tag[0], tag.end())
            return (len(sql) if end < 0 else end + len(tag[0])), True
    return at + 1, False


def _inside_word(sql: str, at: int) -> bool:
    return at > 0 and (sql[at - 1].isalnum() or sql[at - 1] in "_$")


def _follows_escape_mark(sql: str, at: int) -> bool:
    return at > 0 and sql[at - 1] in "eE" and not _inside_word(sql, at - 1)


def _comment_end(sql: str, at: int, *, nested: bool) -> int:
    depth = 0
    for mark in re.finditer(r"/\*|\*/", sql[at:]):
        if mark[0] == "*/":
            depth -= 1
        elif nested or depth == 0:
            depth += 1
        if depth == 0:
            return at + mark.end()
    return len(sql)


def _quoted_end(sql: str, at: int, quote: str, *, escapes: bool) -> int:
    """The end of a quoted piece; a doubled quote stands for itself."""
    at += 1
    while at < len(sql):
        if (escapes and sql[at] == "\\") or sql.startswith(quote * 2, at):
            at += 2
        elif sql[at] == quote:
            return at + 1
        else:
            at += 1
    return len(sql)


def nesting(code: str) -> int:
    """The deepest level of brackets, CASE, and repeated prefix words in `code`.

    `code` is text from `code_only`. Pipe steps count as levels as well: parsing
    them costs the square of their number.
    """
    deepest = depth = cases = run = pipes = 0
    last = ""
    for match in _LEVEL.finditer(code):
        word = match[0].lower()
        run = run + 1 if word == last and word[0].isalpha() else 1
        last = word
        if word in "([{":
            depth += 1
        elif word in ")]}":
            depth = max(0, depth - 1)
        elif word == "|>":
            pipes += 1
        elif word in {"case", "if"}:
            cases += not (word == "if" and code[match.end() :][:1] == "(")
        elif word == "end":
            cases = max(0, cases - 1)
        deepest = max(deepest, depth + cases, run, pipes)
    return deepest


def has_template_mark(code: str) -> bool:
    """Whether `{{`, `{%` or `{#` stands in code.

    sqlglot reads those as template blocks and comments in every dialect, which
    no engine does: what it skips there would still be sent.
    """
    return _TEMPLATE.search(code) is not None
