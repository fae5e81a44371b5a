"""Numbers in prose."""

from __future__ import annotations

import pytest

from pytest_dataeval.instrument.cells import NumberRule
from pytest_dataeval.instrument.figures import Figure
from pytest_dataeval.instrument.prose import read_prose
from pytest_dataeval.instrument.targets import Target, states


def figures(text: str) -> list[Figure]:
    return list(read_prose(text).figures)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("$903,636.65", [903636.65]),
        ("EUR 1.234,56", [1234.56]),
        ("1'234'567 rows", [1234567]),
        ("1\u202f234\u202f567 rows", [1234567]),
        ("12,34,567 rupees", [1234567]),
        ("3.79 million, 450k, 2.5bn and 3 thousand", [3.79e6, 450e3, 2.5e9, 3000]),
        ("a value of -5, or \u22125", [-5, -5]),
        ("from 10-20, or 10\u201320", [10, 20, 10, 20]),
        ("6.02e3", [6020]),
        ("twenty-one, two hundred and five, a dozen", [21, 205, 12]),
        ("There is one open ticket, or two.", [1, 2]),
        ("FY2024 and FY 2025", [2024, 2025]),
        ("1.234.567,89 €", [1234567.89]),
        ("There are none.", [0]),
        ("Nothing is open, zero in all.", [0, 0]),
        ("| North | 11 |\n| South | 22 |", [11, 22]),
        ("North,11\nSouth,22", [11, 22]),
        ("1. North: 11\n2. South: 22", [11, 22]),
        ("The total is **94,931**, `407` are open.", [94931, 407]),
        ("12345678901234567890123 rows", [12345678901234567890123]),
    ],
)
def test_figures(text: str, values: list[float]) -> None:
    assert [figure.value for figure in figures(text)] == values


@pytest.mark.parametrize(
    "text",
    [
        "on 2024-04-01 at 09:30",
        "on April 5, 2024, the 3rd of 12 March",
        "in Q3, H1, P1",
        "version 2.3 and v1.2.3, build 10.0.4",
        "ticket #123, INV-2024-001, id 17, case 4",
        "the top 10 and the last 3",
        "see https://example.com/2024/17",
        "```sql\nselect 7 from t where year = 2024\n```",
        "No, there was an error. I have no data, no idea and no access.",
    ],
)
def test_what_is_no_figure(text: str) -> None:
    assert figures(text) == []


@pytest.mark.parametrize(
    ("text", "direction"),
    [
        ("It fell by 5.", -1),
        ("Down 5%", -1),
        ("a decrease of about 5", -1),
        ("5% lower", -1),
        ("5 fewer tickets", -1),
        ("It rose by 5.", 1),
        ("up 5", 1),
        ("It fell to 5.", 0),
        ("fewer than 5", 0),
        ("It is 5.", 0),
    ],
)
def test_direction(text: str, direction: int) -> None:
    assert [figure.direction for figure in figures(text)] == [direction]


@pytest.mark.parametrize(
    ("text", "negated"),
    [
        ("It is not 407 but 512.", [True, False]),
        ("It isn't about 407.", [True]),
        ("512 rather than 407", [False, True]),
        ("407 is wrong.", [True]),
        ("Not only 407 tickets are open.", [False]),
        ("I did not round; it is 407.", [False]),
    ],
)
def test_negation(text: str, negated: list[bool]) -> None:
    assert [figure.negated for figure in figures(text)] == negated


RULE = NumberRule()


@pytest.mark.parametrize(
    ("text", "target", "stated"),
    [
        # rounded to the digits shown, two of them at least, at most 5% off
        ("3.79 million", Target(3793239.84, RULE), True),
        ("3.79 million", Target(3793240, RULE), True),
        ("3.8 million", Target(3793240, RULE), True),
        ("4 million", Target(3793240, RULE), False),
        ("about 95,000", Target(94931, RULE), True),
        ("94,900", Target(94931, RULE), True),
        ("94,930", Target(94931, RULE), True),
        ("94,932", Target(94931, RULE), False),
        ("410", Target(407, RULE), False),
        ("about 410", Target(407, RULE), True),
        ("2020", Target(2024, RULE), False),
        ("1 million", Target(1499999, RULE), False),
        ("100", Target(10, RULE), False),
        # percent and ratio
        ("38%", Target(0.38, RULE, "ratio"), True),
        ("38 percent", Target(0.38, RULE, "ratio"), True),
        ("0.5%", Target(0.5, RULE, "ratio"), False),
        ("0.5%", Target(0.5, RULE, "percent"), True),
        ("38%", Target(38, RULE, "none"), False),
        ("38", Target(0.38, RULE, "ratio"), False),
        ("38", Target(0.38, RULE, "ratio", bare_percent=True), True),
        ("37 stores", Target(0.044991, RULE, "ratio", bare_percent=True), False),
        # signs
        ("It fell by 5.", Target(-5, RULE), True),
        ("It fell by 5.", Target(5, RULE), False),
        ("It fell by 5.", Target(5, RULE, falling=True), True),
        ("($1,234.50)", Target(-1234.5, RULE), True),
        ("a revenue (1,234.50)", Target(1234.5, RULE), True),
        ("5", Target(-5, RULE), False),
        # 5m may be five metres, five minutes or five million
        ("5m", Target(5, RULE), True),
        ("5m", Target(5_000_000, RULE), True),
        ("5M", Target(5, RULE), False),
    ],
)
def test_states(text: str, target: Target, stated: bool) -> None:
    assert any(states(figure, target) for figure in figures(text)) is stated
