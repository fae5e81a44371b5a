"""Validation errors as sentences: plain words, a place, no word of pydantic."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from pytest_dataeval.errors import FileErrors
from pytest_dataeval.validation import KeyProblem, nearest, parse_date, validate
from pytest_dataeval.yamlfile import parse_yaml


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    all: list[str] = []
    size: int = Field(default=1, ge=1)


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    question: str = Field(default="q", min_length=1, max_length=5)
    count: int = 0
    share: float = Field(default=0.0, ge=0, lt=1)
    on: bool = False
    tier: Literal["L1", "L2", "L3"] = "L1"
    day: Annotated[dt.date, BeforeValidator(parse_date)] = dt.date(2026, 1, 1)
    tables: Inner | list[str] | None = None
    state: Literal["auto", "any"] | list[str] = "auto"
    named: dict[str, Inner] = {}
    items: list[Inner] = Field(default=[], max_length=3)
    alias: str | None = Field(default=None, alias="as")

    @model_validator(mode="after")
    def _rule(self) -> Outer:
        if self.count == 13:
            raise KeyProblem("count", "13 brings bad luck; take 14")
        if self.count == 666:
            raise ValueError("the rule of the whole is broken")
        return self


class Needy(BaseModel):
    question: str


def outer(text: str) -> Outer:
    return validate(parse_yaml(Path("f.yaml"), text.encode()), Outer)


def problems(text: str) -> list[str]:
    with pytest.raises(FileErrors) as caught:
        outer(text)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("qestion: x", "1:1: qestion: unknown key 'qestion'; did you mean 'question'?"),
        (
            "items: [{}, {zzz: 1}]",
            "1:14: items[1].zzz: unknown key 'zzz'; known keys: all, size",
        ),
        (
            "named: {x: {alll: []}}",
            "1:13: named.x.alll: unknown key 'alll'; did you mean 'all'?",
        ),
        # The names of Python's attributes are no keys.
        (
            "alias: x",
            "1:1: alias: unknown key 'alias'; known keys: question, count, share, on,"
            " tier, day, tables, state, named, items, as",
        ),
        (
            "count: two",
            "1:1: count: expected a whole number, found the text 'two'",
        ),
        ("count: 1.5", "1:1: count: expected a whole number, found the number 1.5"),
        ("count: true", "1:1: count: expected a whole number, found true"),
        ("share: x", "1:1: share: expected a number, found the text 'x'"),
        ("share: 1", "1:1: share: must be less than 1, found the number 1"),
        (
            "on: yes",
            "1:1: on: expected true or false, found the text 'yes'",
        ),
        (
            "question: 12",
            "1:1: question: expected a text, found the number 12; put it in quotes",
        ),
        ("question:", "1:1: question: expected a text, found nothing"),
        ("question: ''", "1:1: question: must not be empty"),
        ("question: abcdef", "1:1: question: is longer than 5 characters"),
        (
            "tier: L4",
            "1:1: tier: the text 'L4' is not allowed; use L1, L2 or L3",
        ),
        (
            "day: tomorrow",
            "1:1: day: expected a date such as 2026-12-31, found the text 'tomorrow'",
        ),
        (
            "day: 20",
            "1:1: day: expected a date such as 2026-12-31, found the number 20",
        ),
        ("items: {}", "1:1: items: expected a list, found a mapping"),
        (
            "named: {x: 1}",
            "1:9: named.x: expected a mapping of keys and values, found the number 1",
        ),
        (
            "items: [{size: 0}]",
            "1:10: items[0].size: must be at least 1, found the number 0",
        ),
        # One problem for a union, of the branch that was meant.
        (
            "tables: {al: [a]}",
            "1:10: tables.al: unknown key 'al'; did you mean 'all'?",
        ),
        (
            "tables: [1]",
            "1:10: tables[0]: expected a text, found the number 1; put it in quotes",
        ),
        (
            "tables: 3",
            "1:1: tables: expected a mapping of keys and values or a list, found the"
            " number 3",
        ),
        (
            "state: ani",
            "1:1: state: expected auto, any or a list, found the text 'ani'; did you"
            " mean 'any'?",
        ),
        ("count: 13", "1:1: count: 13 brings bad luck; take 14"),
        ("on: true\ncount: 666", "1:1: the rule of the whole is broken"),
        ("[]", "1:1: expected a mapping of keys and values, found a list"),
    ],
)
def test_one_problem(text: str, message: str) -> None:
    assert problems(text) == [f"f.yaml:{message}"]


def test_a_missing_key_is_reported_at_its_parent() -> None:
    document = parse_yaml(Path("f.yaml"), b"cases:\n  - id: L3-x\n")
    with pytest.raises(FileErrors) as caught:
        validate(document, Needy, at=("cases", 0))
    assert (
        str(caught.value)
        == "f.yaml:2:5: cases[0] (L3-x).question: missing key 'question'"
    )


def test_all_problems_come_at_once_in_the_order_of_the_file() -> None:
    assert problems("tier: L9\nfoo: 1\ncount: x") == [
        "f.yaml:1:1: tier: the text 'L9' is not allowed; use L1, L2 or L3",
        "f.yaml:2:1: foo: unknown key 'foo'; known keys: question, count, share, on,"
        " tier, day, tables, state, named, items, as",
        "f.yaml:3:1: count: expected a whole number, found the text 'x'",
    ]


def test_what_is_right_is_given_back() -> None:
    read = outer("{day: 2026-12-31, tables: [a], share: 0, as: x}")
    assert read.day == dt.date(2026, 12, 31)
    assert (read.tables, read.share, read.alias) == (["a"], 0.0, "x")


def test_nearest_names_what_there_is() -> None:
    assert (
        nearest("arm", "catalg", ["none", "catalog"])
        == "unknown arm 'catalg'; known: catalog, none; did you mean 'catalog'?"
    )
    assert nearest("agent", "xyz", ["b", "a"]) == "unknown agent 'xyz'; known: a, b"
    assert nearest("profile", "x", []) == "unknown profile 'x'; known: none"
    assert nearest("agent", "Gold", ["gold"]).endswith("did you mean 'gold'?")


def test_nearest_shortens_a_long_list() -> None:
    names = [f"column_{number:02}" for number in range(42)]
    assert nearest("column", "zzz", names).endswith("column_39 and 2 more")
