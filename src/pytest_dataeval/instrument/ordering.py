"""The order that a case asks for, and the rows that tie with those at a LIMIT."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from pytest_dataeval.instrument.cells import Cell, key, read
from pytest_dataeval.instrument.compare import Boundary, Order, Row
from pytest_dataeval.instrument.evidence import Desk
from pytest_dataeval.records import ResultSet

if TYPE_CHECKING:
    from pytest_dataeval.cases.model import Case
    from pytest_dataeval.sql.order import OrderKey, OrderSpec

Keys = tuple[tuple[Cell, ...], ...]


class BoundaryUnknown(Exception):
    """So many rows tie at the LIMIT that the row limit cuts them."""


@dataclass(frozen=True)
class Ordering:
    """What is known of the reference's order; `keys` has one key a row."""

    order: Order | None
    keys: Keys | None
    spec: OrderSpec | None
    used: tuple[OrderKey, ...] = ()


def ordering_of(case: Case, reference: ResultSet, desk: Desk) -> Ordering:
    """The groups of reference rows that tie in the asked key.

    Without a key that can be read, each row must stand in its place.
    """
    spec = _spec(case, desk)
    if not case.ordered:
        used = spec.keys if spec is not None else ()
        if not used or spec is None or not _is_cut(spec, reference):
            return Ordering(None, None, spec)
        return Ordering(None, _selected(reference, used), spec, used)
    rows = range(len(reference.rows))
    used, keys = _asked(case, reference, spec, desk)
    if keys is None:
        return Ordering(Order(tuple((row,) for row in rows)), None, spec)
    groups = tuple(tuple(g) for _, g in groupby(rows, key=lambda row: keys[row]))
    return Ordering(Order(groups), keys, spec, used)


def boundary_of(
    case: Case, reference: ResultSet, ordering: Ordering, desk: Desk
) -> Boundary | None:
    """The rows that tie with the last ones of a reference that a LIMIT cuts.

    Raises BoundaryUnknown if they cannot be fetched as a whole.
    """
    from pytest_dataeval.sql.order import with_order_keys, without_limit

    spec = ordering.spec
    if spec is None or not _is_cut(spec, reference) or not spec.keys:
        return None
    sql, dialect = desk.reference_sql(case)
    with_keys = with_order_keys(sql, dialect)
    if with_keys is None:
        return None
    keys = ordering.keys
    used = ordering.used
    if keys is None:
        if case.ordered:
            return None
        used, keys = spec.keys, _fetched(reference, spec, with_keys, desk)
        if keys is None:
            return None
    everything = without_limit(with_keys, dialect)
    if everything is None:
        return None
    found = desk.run("reference:ties", everything, "reference")
    if not isinstance(found, ResultSet):
        return None
    width = len(reference.names)
    where = _positions(used, spec, reference)
    if where is None or any(at >= len(found.names) for at in where):
        return None
    there = [_key_of(row, where) for row in found.rows]
    if found.truncated and there[-1] == keys[-1]:
        raise BoundaryUnknown
    tied: tuple[Row, ...] = tuple(
        row[:width]
        for row, own in zip(found.rows, there, strict=True)
        if own == keys[-1]
    )
    count = 0
    for own in reversed(keys):
        if own != keys[-1]:
            break
        count += 1
    return Boundary(count, tied) if len(tied) > count else None


def _spec(case: Case, desk: Desk) -> OrderSpec | None:
    from pytest_dataeval.sql.order import order_keys

    if case.reference is None or case.reference.sql is None or desk.dialect is None:
        return None
    sql, dialect = desk.reference_sql(case)
    return order_keys(sql, dialect)


def _is_cut(spec: OrderSpec, reference: ResultSet) -> bool:
    return (
        bool(reference.rows)
        and spec.limit is not None
        and spec.limit == len(reference.rows)
        and not spec.with_ties
    )


def _asked(
    case: Case, reference: ResultSet, spec: OrderSpec | None, desk: Desk
) -> tuple[tuple[OrderKey, ...], Keys | None]:
    """The order keys that the case asks about, with the key of each row."""
    if isinstance(case.ordered, list):
        folded = [name.casefold() for name in reference.names]
        wanted = [name.strip().casefold() for name in case.ordered]
        used = tuple(
            k for k in (spec.keys if spec else ()) if _is_named(k, wanted, folded)
        )
        if all(name in folded for name in wanted):
            where = [folded.index(name) for name in wanted]
            return used, tuple(_key_of(row, where) for row in reference.rows)
    else:
        used = spec.keys if spec is not None else ()
    if spec is None or not used:
        return (), None
    keys = _selected(reference, used)
    if keys is None:
        keys = _fetched_with_keys(case, reference, spec, used, desk)
    return used, keys


def _is_named(order_key: OrderKey, wanted: list[str], names: list[str]) -> bool:
    if order_key.index is not None and order_key.index < len(names):
        return names[order_key.index] in wanted
    return order_key.expression.strip().casefold() in wanted


def _selected(reference: ResultSet, used: tuple[OrderKey, ...]) -> Keys | None:
    where = [order_key.index for order_key in used]
    if any(at is None or at >= len(reference.names) for at in where):
        return None
    columns = [at for at in where if at is not None]
    return tuple(_key_of(row, columns) for row in reference.rows)


def _fetched_with_keys(
    case: Case,
    reference: ResultSet,
    spec: OrderSpec,
    used: tuple[OrderKey, ...],
    desk: Desk,
) -> Keys | None:
    from pytest_dataeval.sql.order import with_order_keys

    sql, dialect = desk.reference_sql(case)
    with_keys = with_order_keys(sql, dialect)
    return None if with_keys is None else _fetched(reference, spec, with_keys, desk)


def _fetched(
    reference: ResultSet, spec: OrderSpec, with_keys: str, desk: Desk
) -> Keys | None:
    """The whole key of each reference row, by a query that selects it too."""
    found = desk.run("reference:keys", with_keys, "reference")
    if not isinstance(found, ResultSet) or len(found.rows) != len(reference.rows):
        return None
    where = _positions(spec.keys, spec, reference)
    if where is None or any(at >= len(found.names) for at in where):
        return None
    return tuple(_key_of(row, where) for row in found.rows)


def _positions(
    used: tuple[OrderKey, ...], spec: OrderSpec, reference: ResultSet
) -> list[int] | None:
    """Where each used key stands in a result of `with_order_keys`."""
    added = len(reference.names)
    positions: dict[int, int] = {}
    for number, order_key in enumerate(spec.keys):
        if order_key.index is None:
            positions[number] = added
            added += 1
        else:
            positions[number] = order_key.index
    where = [positions[spec.keys.index(order_key)] for order_key in used]
    return where or None


def _key_of(row: Row, where: list[int]) -> tuple[Cell, ...]:
    return tuple(key(read(row[at])) for at in where)
