"""The outermost clauses of one query, as places in its text.

Edits are made in the text, since a statement printed from its tree is not
always the one that was written; each edit is then parsed and checked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_dataeval.sql.lex import dialect_name
from pytest_dataeval.sql.parse import (
    Parsed,
    Unparsable,
    deep_recursion,
    parse_one,
    quiet,
    tokens,
)

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.tokenizer_core import Token


@dataclass(frozen=True, slots=True)
class TopLevel:
    """A query, its tree without outer brackets, and its tokens outside brackets.

    `tokens` are those of the query without outer brackets, T-SQL openings and
    closing semicolons, which lies at `start:end` of `sql`; `top` are the ones
    outside all brackets.
    """

    sql: str
    dialect: str
    tree: exp.Expr
    tokens: tuple[Token, ...]
    top: tuple[Token, ...]
    start: int
    end: int

    def find(self, kinds: Collection[str], after: int = -1) -> list[Token]:
        """Tokens at level zero of these sqlglot token types, behind a place."""
        return [
            token
            for token in self.top
            if token.token_type.name in kinds and token.start > after
        ]

    def text(self, start: int, end: int) -> str:
        return self.sql[start:end]

    def replaced(self, start: int, end: int, new: str) -> str:
        """The whole statement with one stretch of it exchanged."""
        return self.sql[:start] + new + self.sql[end:]

    def if_same(self, changed: str, expect: Callable[[exp.Expr], object]) -> str | None:
        """`changed` if it parses as the tree that `expect` makes of a copy."""
        parsed = parse_one(changed, self.dialect)
        if isinstance(parsed, Unparsable):
            return None
        wanted = self.tree.copy()
        expect(wanted)
        new = _without_brackets(parsed.tree)
        if _printed(new, self.dialect) != _printed(wanted, self.dialect):
            return None
        return changed


def top_level(sql: str, dialect: str) -> TopLevel | None:
    """Find the clauses of the single query in `sql`; None if it is not one."""
    from sqlglot import exp

    dialect = dialect_name(dialect)
    parsed = parse_one(sql, dialect)
    found = tokens(sql, dialect)
    if not isinstance(parsed, Parsed) or found is None:
        return None
    tree = _without_brackets(parsed.tree)
    if not isinstance(tree, exp.Query | exp.Values) or isinstance(tree, exp.DDL):
        return None
    body = _without_outer_brackets(_last_statement(found))
    if not body:
        return None
    return TopLevel(
        sql,
        dialect,
        tree,
        tuple(body),
        tuple(token for token, depth in _with_depth(body) if depth == 0),
        body[0].start,
        body[-1].end + 1,
    )


def _printed(tree: exp.Expr, dialect: str) -> str:
    try:
        with deep_recursion(), quiet():
            return tree.sql(dialect, comments=False)
    # Printing recurses and has holes of its own; then no edit is trusted.
    except Exception:
        return f"unprintable {id(tree)}"


def _without_brackets(tree: exp.Expr) -> exp.Expr:
    from sqlglot import exp

    while isinstance(tree, exp.Subquery) and not any(
        value for key, value in tree.args.items() if key != "this"
    ):
        tree = tree.this
    return tree


def _last_statement(found: tuple[Token, ...]) -> list[Token]:
    ends = [index for index, token in enumerate(found) if token.text == ";"]
    kept = list(found)
    while kept and kept[-1].token_type.name == "SEMICOLON":
        kept.pop()
    inner = [index for index in ends if index < len(kept)]
    return kept[inner[-1] + 1 :] if inner else kept


def _without_outer_brackets(body: list[Token]) -> list[Token]:
    while len(body) > 2 and body[0].text == "(":
        closing = next(
            (
                index
                for index, (_, depth) in enumerate(_with_depth(body))
                if index and depth == 0
            ),
            None,
        )
        if closing != len(body) - 1:
            return body
        body = body[1:-1]
    return body


def _with_depth(body: list[Token]) -> Iterator[tuple[Token, int]]:
    """Each token with its bracket level; brackets count as outside themselves."""
    depth = 0
    for token in body:
        if token.token_type.name in {"L_PAREN", "L_BRACKET", "L_BRACE"}:
            yield token, depth
            depth += 1
        elif token.token_type.name in {"R_PAREN", "R_BRACKET", "R_BRACE"}:
            depth -= 1
            yield token, depth
        else:
            yield token, depth
