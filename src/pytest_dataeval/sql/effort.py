"""Short texts that would keep the parser busy for years.

sqlglot tries some constructs in two ways, one after the other. Where they nest,
each level doubles the work: 30 joins without their conditions, or `int(int(...`,
are never read to the end. The known shapes are counted beforehand, in one pass
over the tokens; for the others the parser's steps are counted as it goes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pytest_dataeval.sql.lex import dialect_name

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.tokenizer_core import Token

_OPENING = frozenset({"L_PAREN", "L_BRACKET", "L_BRACE"})
_CLOSING = frozenset({"R_PAREN", "R_BRACKET", "R_BRACE"})
# What stands behind these is tried more than once, brackets and all.
_TRIED_TWICE = frozenset({"FETCH", "IF", "INTERVAL", "LIMIT", "TABLE", "TOP"})

# A statement takes one to two steps a token; one that is tried in two ways on
# seven levels takes about forty.
_STEPS_PER_TOKEN = 50
_STEPS_TO_START = 2_000


class TooMuchWork(Exception):
    """The parser goes over the same tokens again and again."""


def doublings(tokens: Iterable[Token], dialect: str) -> int:
    """How many levels of double work a text holds; statements people write: 0 to 3.

    Counted are brackets behind the name of a type that stand in each other, and
    joins that are open because their ON or USING has not come yet.
    """
    from sqlglot import Dialect

    types = Dialect.get_or_raise(dialect_name(dialect)).parser_class.TYPE_TOKENS
    most = hot_brackets = open_joins = 0
    # What stood open at each bracket: its kind, whether it is hot, joins outside.
    brackets: list[tuple[str, bool, int]] = []
    twice = [False]
    before: Token | None = None
    for token in tokens:
        kind = token.token_type.name
        before_kind = before.token_type.name if before is not None else ""
        is_type = before is not None and before.token_type in types
        if kind in _OPENING or (kind == "LT" and is_type):
            is_hot = is_type or twice[-1]
            brackets.append((kind, is_hot, open_joins))
            twice.append(False)
            hot_brackets += is_hot
        elif kind in _CLOSING or (
            kind == "GT" and brackets and brackets[-1][0] == "LT"
        ):
            while brackets:
                opening, was_hot, open_joins = brackets.pop()
                twice.pop()
                hot_brackets -= was_hot
                if (opening == "LT") == (kind == "GT"):
                    break
        elif kind == "JOIN" and before_kind != "CROSS":
            open_joins += 1
        elif kind in {"ON", "USING"}:
            outside = brackets[-1][2] if brackets else 0
            open_joins = max(outside, open_joins - 1)
        elif token.text.upper() in _TRIED_TWICE:
            twice[-1] = True
        most = max(most, hot_brackets + open_joins)
        before = token
    return most


def parse_in_steps(
    tokens: Sequence[Token], sql: str, dialect: str
) -> list[exp.Expr | None]:
    """sqlglot's trees of `tokens`. Raises TooMuchWork beside sqlglot's errors.

    The compiled parser does not let its steps be counted; it is some four times
    faster, and `doublings` stands before it.
    """
    from sqlglot import Dialect

    known = Dialect.get_or_raise(dialect_name(dialect))
    counting = _counting(known.parser_class)
    parser: Any = (counting or known.parser_class)(dialect=known)
    if counting is not None:
        parser.steps_left = _STEPS_TO_START + _STEPS_PER_TOKEN * len(tokens)
    trees: list[exp.Expr | None] = parser.parse(list(tokens), sql)
    return trees


@functools.lru_cache(maxsize=32)
def _counting(parser_class: Any) -> Any:
    """A parser that counts its steps; None if the class is compiled."""
    import sqlglot.parser

    if not str(sqlglot.parser.__file__).endswith(".py"):
        return None

    def advance(self: Any, times: int = 1) -> None:
        self.steps_left -= 1
        if self.steps_left < 0:
            raise TooMuchWork
        parser_class._advance(self, times)

    return type(parser_class.__name__, (parser_class,), {"_advance": advance})
