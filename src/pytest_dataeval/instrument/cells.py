"""Cells: when two values of a result are the same value.

A cell is first read into a plain form (`read`), so that 1, 1.0, Decimal("1.0")
and True are one number, a date is its midnight and an instant is its UTC time.
Numbers are then compared under a `NumberRule`, everything else by equality.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import unicodedata
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any
from uuid import UUID

if TYPE_CHECKING:
    from pytest_dataeval.cases.model import Tolerance

DEFAULT_REL_TOLERANCE = 0.005
#: How far from zero a float may lie and still be a zero that was summed up.
ZERO_DUST = 1e-9

#: None, an int, a float, a text, or a tagged tuple for every other type.
Cell = Hashable

_CANONICAL_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d{1,3})?")
_ISO_DATE = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})"
    r"(?:[T ](?P<time>\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)"
    r" ?(?P<zone>[Zz]|[+-]\d{2}(?::?\d{2})?)?)?"
)
_ISO_TIME = re.compile(
    r"\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d{2}(?::?\d{2})?)?"
)
# Beyond this a float no longer holds every whole number.
_FLOAT_EXACT = 2**53
_FLOAT_MAX = 2**1000


@dataclass(frozen=True, slots=True)
class NumberRule:
    """How far a number may lie from the reference.

    `rel` is a fraction of the reference; `abs` is in the unit of the cell and
    never counts for more than the reference itself; `decimals` compares both
    after rounding; `integers` is how far two whole numbers may differ.
    """

    rel: float = DEFAULT_REL_TOLERANCE
    abs: float | None = None
    decimals: int | None = None
    integers: int = 0


#: What `exact` means by the same number.
STRICT = NumberRule(rel=1e-9)


def rule_for(column: str, tolerance: Tolerance) -> NumberRule:
    """The rule of one reference column; its own keys win over the case's."""
    own = tolerance.columns.get(column)
    if own is None:
        wanted = column.casefold()
        for name, entry in tolerance.columns.items():
            if name.casefold() == wanted:
                own = entry
    chosen: dict[str, Any] = {}
    for key in ("rel", "abs", "decimals", "integers"):
        value = getattr(own, key) if own is not None else None
        if value is None:
            value = getattr(tolerance, key)
        if value is not None:
            chosen[key] = value
    return NumberRule(**chosen)


# --------------------------------------------------------------------- reading


def read(value: Any, *, numbers: bool = False, times: bool = False) -> Cell:
    """The plain form of one cell.

    `numbers` reads text that is a number in its canonical form as that number,
    `times` does so for times of day; both are for a text column that faces a
    column of that type. ISO 8601 text is always that date or timestamp.
    """
    if value is None:
        return None
    if isinstance(value, str):
        return _read_text(value, numbers=numbers, times=times)
    if isinstance(value, int):
        return _whole(int(value))
    if isinstance(value, float):
        return _read_float(value)
    if isinstance(value, Decimal):
        return _read_decimal(value)
    if isinstance(value, dt.datetime):
        return _instant(value)
    if isinstance(value, dt.date):
        return _instant(dt.datetime(value.year, value.month, value.day))
    if isinstance(value, dt.time):
        return _time(value)
    if isinstance(value, dt.timedelta):
        return ("interval", value)
    if isinstance(value, bytes | bytearray | memoryview):
        return ("bytes", bytes(value))
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, list | tuple):
        return ("list", tuple(_nested(item) for item in value))
    if isinstance(value, Mapping):
        items = ((str(key).casefold(), _nested(item)) for key, item in value.items())
        return ("struct", frozenset(items))
    return ("other", type(value).__name__, str(value))


def is_number(cell: Cell) -> bool:
    """Whether a cell that was read is a finite number."""
    return isinstance(cell, int | float)


def key(cell: Cell) -> Cell:
    """A hash key: equal keys mean the same value up to the dust of float sums."""
    if isinstance(cell, float):
        return float(f"{cell:.12g}") + 0.0
    return cell


def _whole(value: int) -> Cell:
    return value if abs(value) < _FLOAT_MAX else ("whole", str(value))


def _read_float(value: float) -> Cell:
    if math.isnan(value):
        return ("nan",)
    if math.isinf(value):
        return ("inf", value > 0)
    if value.is_integer() and abs(value) < _FLOAT_EXACT:
        return int(value)
    return value


def _read_decimal(value: Decimal) -> Cell:
    if value.is_nan():
        return ("nan",)
    if value.is_infinite():
        return ("inf", value > 0)
    if value.adjusted() > 300:
        return ("whole", f"{value:.30e}")
    if value == value.to_integral_value():
        return int(value)
    return float(value)


def _read_text(value: str, *, numbers: bool, times: bool) -> Cell:
    text = unicodedata.normalize("NFC", value).strip()
    if len(text) <= 40 and text[:1] in "-0123456789" and text.isascii():
        if numbers and _CANONICAL_NUMBER.fullmatch(text):
            return _read_decimal(Decimal(text))
        moment = parse_iso(text)
        if moment is not None:
            return _instant(moment)
        if times and _ISO_TIME.fullmatch(text):
            try:
                return _time(dt.time.fromisoformat(text.upper()))
            except ValueError:
                return text.casefold()
    return text.casefold()


def parse_iso(text: str) -> dt.datetime | None:
    """The date or timestamp that an ISO 8601 text is; a date is its midnight."""
    match = _ISO_DATE.fullmatch(text)
    if match is None:
        return None
    spelled = "".join(part for part in (match["date"], "T", match["time"]) if part)
    if match["time"] is None:
        spelled = match["date"]
    try:
        return dt.datetime.fromisoformat(spelled + (match["zone"] or "").upper())
    except ValueError:
        return None


def _instant(value: dt.datetime) -> Cell:
    # A timestamp without a zone is read as UTC, since engines store it so.
    if value.tzinfo is not None:
        try:
            value = value.astimezone(dt.UTC).replace(tzinfo=None)
        except OverflowError:
            return ("other", "timestamp", value.isoformat())
    return ("instant", value)


def _time(value: dt.time) -> Cell:
    if value.tzinfo is not None:
        offset = value.utcoffset() or dt.timedelta()
        moment = dt.datetime.combine(dt.date(2000, 1, 2), value.replace(tzinfo=None))
        value = (moment - offset).time()
    return ("time", value)


def _nested(value: Any) -> Cell:
    # Inside of lists and structs there is no tolerance beyond float dust.
    return key(read(value))


# -------------------------------------------------------------------- equality


def cells_equal(
    reference: Cell, returned: Cell, rule: NumberRule, factor: float = 1
) -> bool:
    """Whether `returned` is `reference`, both as `read` gives them.

    `factor` is what the reference is multiplied by first: 100 where the answer
    gives the percentage of a ratio, 0.01 where it gives the ratio.
    """
    if isinstance(reference, int | float) and isinstance(returned, int | float):
        return numbers_equal(scaled(reference, factor), returned, rule)
    return reference == returned


def scaled(number: int | float, factor: float) -> int | float:
    """`number` times `factor`, without the dust of a binary multiplication."""
    if factor == 1:
        return number
    value = float(f"{number * factor:.12g}")
    return int(value) if value.is_integer() else value


def numbers_equal(
    reference: int | float, returned: int | float, rule: NumberRule
) -> bool:
    """Whether two finite numbers agree under `rule`.

    Whole numbers of any type must be equal, or at most `integers` apart: at a
    relative tolerance of half a percent 2024 would equal 2025.
    """
    if reference == returned:
        return True
    if isinstance(reference, int) and isinstance(returned, int):
        return abs(reference - returned) <= rule.integers
    difference = abs(float(reference) - float(returned))
    if difference <= slack(reference, rule):
        return True
    if returned == 0:
        return abs(reference) < ZERO_DUST
    return rule.decimals is not None and _round_alike(
        reference, returned, rule.decimals
    )


def slack(reference: int | float, rule: NumberRule) -> float:
    """How far a number with a fraction may lie from `reference`."""
    size = abs(float(reference))
    if size >= _FLOAT_EXACT:
        return size * 1e-12
    allowed = size * max(rule.rel, 1e-12)
    if rule.abs is not None:
        allowed = max(allowed, min(rule.abs, size))
    return max(allowed, ZERO_DUST if size == 0 else 0.0)


def _round_alike(a: int | float, b: int | float, decimals: int) -> bool:
    quantum = Decimal(1).scaleb(-decimals)
    try:
        # Engines differ in how they round a half: either way counts.
        return any(
            Decimal(repr(a)).quantize(quantum, mode)
            == Decimal(repr(b)).quantize(quantum, mode)
            for mode in (ROUND_HALF_UP, ROUND_HALF_EVEN)
        )
    except InvalidOperation:
        return False


def exact_cell(value: Any) -> Cell:
    """The form that `exact` compares: text as it stands, other types as read."""
    return ("text", value) if isinstance(value, str) else read(value)
