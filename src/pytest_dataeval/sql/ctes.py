"""Which CTEs are in sight where: the one rule that all readers of tables share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_dataeval.sql.lex import dialect_name

if TYPE_CHECKING:
    from sqlglot import exp

# Here a CTE may read itself without the word RECURSIVE.
_IMPLICITLY_RECURSIVE = frozenset({"tsql", "fabric", "oracle", "snowflake"})


@dataclass(frozen=True, slots=True)
class _Layer:
    """The CTEs of one WITH, of which the first `count` are in sight."""

    ctes: Mapping[str, tuple[int, exp.CTE]]
    count: int


@dataclass(frozen=True, slots=True)
class Visible:
    """CTEs in sight at one place; the innermost WITH is last."""

    layers: tuple[_Layer, ...] = ()

    def meant_by(self, table: exp.Table, dialect: str) -> exp.CTE | None:
        """The CTE that a table reference means; None for a real table."""
        from sqlglot import exp

        qualified = table.db or table.catalog
        if not self.layers or qualified or not isinstance(table.this, exp.Identifier):
            return None
        key = _key(table.this, dialect_name(dialect))
        for layer in reversed(self.layers):
            position, cte = layer.ctes.get(key, (layer.count, None))
            if position < layer.count:
                return cte
        return None


def open_with(
    node: exp.Expr, visible: Visible, dialect: str
) -> tuple[list[tuple[exp.CTE, Visible]], Visible]:
    """The CTEs that `node` opens, each with what it sees, and what the rest sees.

    A CTE is in sight for later CTEs and for the body. It is in its own sight
    only when recursive; under RECURSIVE the order of CTEs does not matter.
    """
    from sqlglot import exp

    with_ = node.args.get("with_")
    if not isinstance(with_, exp.With):
        return [], visible
    dialect = dialect_name(dialect)
    ctes = with_.expressions
    named = {
        _key(cte.args["alias"].this, dialect): (position, cte)
        for position, cte in enumerate(ctes)
    }
    itself = 1 if dialect in _IMPLICITLY_RECURSIVE else 0
    opened = [
        (
            cte,
            Visible(
                (
                    *visible.layers,
                    _Layer(named, len(ctes) if with_.recursive else position + itself),
                )
            ),
        )
        for position, cte in enumerate(ctes)
    ]
    return opened, Visible((*visible.layers, _Layer(named, len(ctes))))


def _key(identifier: exp.Expr, dialect: str) -> str:
    """The name under which the dialect looks an identifier up."""
    from sqlglot import Dialect

    normal = Dialect.get_or_raise(dialect).normalize_identifier(identifier.copy())
    return str(normal.name)
