"""What holds of every result and every text."""

from __future__ import annotations

import datetime as dt
import math
import random
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pytest_dataeval.instrument.compare import compare, is_exact
from pytest_dataeval.instrument.score import score
from pytest_dataeval.records import ResultSet, Score

from .conftest import SETTING, ask, case, table

GOLDEN = case(reference={"sql": "select 1"})

CELLS: list[st.SearchStrategy[Any]] = [
    st.integers(-(10**20), 10**20),
    st.integers(0, 3),
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(1, 2),
    st.decimals(-(10**6), 10**6, places=2),
    st.text(max_size=6),
    st.sampled_from(["North", "north ", "007", "7", "2024-04-01", "1.50"]),
    st.booleans(),
    st.dates(),
    st.datetimes(),
    st.times(),
    st.timedeltas(),
    st.binary(max_size=4),
    st.lists(st.integers(0, 3), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(0, 3), max_size=2),
]


@st.composite
def results(draw: st.DrawFn, *, least_rows: int = 1) -> ResultSet:
    width = draw(st.integers(1, 4))
    kinds = [draw(st.sampled_from(CELLS)) for _ in range(width)]
    cells = [st.one_of(st.none(), kind) for kind in kinds]
    rows = draw(st.lists(st.tuples(*cells), min_size=least_rows, max_size=6))
    names = [draw(st.sampled_from(["n", "k", "count(*)", "x"])) for _ in range(width)]
    return table(" ".join(names), *rows)


QUICK = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


@given(results())
@QUICK
def test_a_reference_carries_itself(reference: ResultSet) -> None:
    assert compare(reference, reference, GOLDEN).match
    assert is_exact(reference, reference, ordered=True)


@given(results(), st.randoms(use_true_random=False))
@QUICK
def test_row_order_never_matters_unless_it_is_asked_for(
    reference: ResultSet, draws: random.Random
) -> None:
    rows = list(reference.rows)
    draws.shuffle(rows)
    shuffled = ResultSet(reference.columns, tuple(rows))
    assert compare(reference, shuffled, GOLDEN).match


@given(results(), st.randoms(use_true_random=False))
@QUICK
def test_column_order_never_matters(reference: ResultSet, draws: random.Random) -> None:
    order = list(range(len(reference.columns)))
    draws.shuffle(order)
    moved = ResultSet(
        tuple(reference.columns[at] for at in order),
        tuple(tuple(row[at] for at in order) for row in reference.rows),
    )
    assert compare(reference, moved, GOLDEN).match


@given(results(), st.data())
@QUICK
def test_one_more_column_never_hurts(reference: ResultSet, data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(CELLS))
    added = [data.draw(kind) for _ in reference.rows]
    wider = table(
        " ".join([*reference.names, "added_by_the_agent"]),
        *((*row, cell) for row, cell in zip(reference.rows, added, strict=True)),
    )
    assert compare(reference, wider, GOLDEN).match


@given(results())
@QUICK
def test_a_missing_row_is_always_missed(reference: ResultSet) -> None:
    fewer = ResultSet(reference.columns, reference.rows[1:])
    assert not compare(reference, fewer, GOLDEN).match


@given(
    st.lists(st.floats(1, 1e6), min_size=1, max_size=8),
    st.sampled_from([0.9, 0.98, 1.02, 1.1, 3.0]),
)
@QUICK
def test_a_column_scaled_beyond_the_tolerance_is_another(
    numbers: list[float], factor: float
) -> None:
    # The largest number has no partner below it, the smallest none above.
    scaled = [number * factor for number in numbers]
    assume(not any(math.isclose(n, s, rel_tol=0.006) for n in numbers for s in scaled))
    reference = table("n", *([number] for number in numbers))
    assert not compare(reference, table("n", *([s] for s in scaled)), GOLDEN).match


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=8))
@QUICK
def test_rounding_within_the_tolerance_changes_nothing(numbers: list[float]) -> None:
    reference = table("n", *([number] for number in numbers))
    rounded = table("n", *([round(number, 2)] for number in reversed(numbers)))
    golden = case(reference={"sql": "select 1"}, tolerance={"decimals": 2})
    assert compare(reference, rounded, golden).match


@given(results(least_rows=0), results(least_rows=0), st.text(), st.data())
@QUICK
def test_no_input_raises(
    reference: ResultSet, returned: ResultSet, text: str, data: st.DataObject
) -> None:
    golden = case(
        reference={"sql": "select a from t order by a limit 1"},
        ordered=data.draw(st.sampled_from([True, False, ["n"], ["nowhere"]])),
        unit=data.draw(st.sampled_from([None, "ratio", "kg"])),
        duplicates=data.draw(st.sampled_from(["count", "ignore"])),
        state=data.draw(st.sampled_from(["auto", "any", "all", "none", ["n"]])),
        optional=data.draw(st.sampled_from([[], ["n"], ["k"]])),
        allow_empty=data.draw(st.booleans()),
    )
    evidence = {
        "reference": reference,
        "statement:0": returned,
        "reference:keys": reference,
        "reference:ties": reference,
    }
    found = score(golden, ask(text, "select 1"), evidence, SETTING)
    assert isinstance(found, Score)
    assert found.verdict in {"pass", "fail", "unscored"}


PIECES = (
    st.just("|")
    | st.just("9" * 400)
    | st.sampled_from(
        [
            "North",
            "South",
            "11",
            "22",
            "-5",
            "(5)",
            "38%",
            "3.8 million",
            "not",
            "fell by",
            "no",
            "none",
            "**",
            "`",
            "\n",
            ". ",
            ", ",
            " ",
            "2024-04-01",
            "Q3",
            "```",
            "twenty-one",
            "a dozen",
            "1,234",
            "1.234,56",
            "$",
            "1e999",
            "٣",
            "½",
        ]
    )
)


@given(st.lists(PIECES, max_size=25).map("".join))
@QUICK
def test_no_text_raises(text: str) -> None:
    reference = table("region n", ["North", 11], ["South", 22.5])
    evidence = {"reference": reference, "statement:0": reference}
    found = score(GOLDEN, ask(text, "select 1"), evidence, SETTING)
    assert isinstance(found, Score)


@pytest.mark.parametrize(
    "piece",
    ["1 ", "(", "no ", "**", "```", "North 11 ", "a-", "1.111.", "not ", "-$", "\n"],
)
def test_long_hostile_texts_are_read(piece: str) -> None:
    reference = table("region n", ["North", 11], ["South", 22.5])
    evidence = {"reference": reference, "statement:0": reference}
    found = score(GOLDEN, ask(piece * 20_000, "select 1"), evidence, SETTING)
    assert isinstance(found, Score)


def test_long_and_wide_results_are_compared() -> None:
    rows = 10_000
    draws = random.Random(7)

    def row(number: int) -> tuple[Any, ...]:
        noise = [draws.uniform(0, 1000) for _ in range(10)]
        flags = [draws.random() < 0.5 for _ in range(5)]
        day = dt.date(2024, 1, 1) + dt.timedelta(days=number % 365)
        price = Decimal(draws.randrange(10**6)) / 100
        return (number, f"customer {number}", day, price, None, *noise, *flags)

    data = [row(number) for number in range(rows)]
    width = len(data[0])
    reference = table(" ".join(f"a{i}" for i in range(width)), *data)
    order = list(range(width))
    draws.shuffle(order)
    moved = [tuple(r[at] for at in order) for r in data]
    draws.shuffle(moved)
    names = " ".join(f"b{i}" for i in range(width))
    assert width == 20
    assert compare(reference, table(names, *moved), GOLDEN).match
    # Two customers' numbers change places: no column alone shows it.
    at = order.index(0)
    one, two = list(moved[0]), list(moved[1])
    one[at], two[at] = two[at], one[at]
    few = [data[one[at]], data[two[at]]]
    part = table(" ".join(reference.names), *few, *data[:1000])
    crossed = [[r[c] for c in order] for r in data[:1000]]
    assert not compare(part, table(names, one, two, *crossed), GOLDEN).match
    rows_of_one = table("a", *([0] for _ in range(rows)))
    assert compare(rows_of_one, table("b", *([0] for _ in range(rows))), GOLDEN).match


def test_columns_that_look_alike_are_paired_without_trying_permutations() -> None:
    # 26 columns have 26! orders.
    draws = random.Random(26)
    data = [[draws.randrange(2) for _ in range(26)] for _ in range(40)]
    reference = table(" ".join(f"a{i}" for i in range(26)), *data)
    order = list(range(26))
    draws.shuffle(order)
    moved = [[row[at] for at in order] for row in data]
    names = " ".join(f"b{i}" for i in range(26))
    assert compare(reference, table(names, *moved), GOLDEN).match
    moved[0][0] = 1 - moved[0][0]
    moved[1][0] = 1 - moved[1][0]
    assert not compare(reference, table(names, *moved), GOLDEN).match
