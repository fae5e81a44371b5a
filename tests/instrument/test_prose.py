"""Names in prose, and what a text says about itself."""

from __future__ import annotations

import datetime as dt

import pytest

from pytest_dataeval.instrument.denials import (
    claims_catalog,
    reports_refusal,
    says_cannot_answer,
)
from pytest_dataeval.instrument.prose import date_names, read_prose


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Billing's average", "billing"),
        ("**billing**: 210", "Billing"),
        ("those in progress", "in_progress"),
        ("research and development", "Research & Development"),
        ("Mid-Market customers", "Mid Market"),
        ("It is O'Brien.", "O'Brien"),
        ("written in C++ mostly", "C++"),
        ("the state is MI", "MI"),
        ("café", "CAFE\u0301"),
    ],
)
def test_named(text: str, name: str) -> None:
    assert read_prose(text).mentions([name])


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("I could not determine it.", "MI"),
        ("It is in the data.", "IN"),
        ("the rundown", "run"),
        ("Asia, not Africa", "Africa"),
        ("It isn't Billing.", "Billing"),
        ("Frontline rather than Billing", "Billing"),
        ("code 7", "007"),
        ("anything", "..."),
    ],
)
def test_not_named(text: str, name: str) -> None:
    assert not read_prose(text).mentions([name])


@pytest.mark.parametrize(
    "text",
    [
        "2024-04-01",
        "April 1, 2024",
        "1st of April 2024",
        "1 Apr 2024",
        "April 2024",
        "01.04.2024",
    ],
)
def test_a_first_of_april_is_written_in_many_ways(text: str) -> None:
    assert read_prose(f"On {text}.").mentions(date_names(dt.date(2024, 4, 1)))


def test_the_headline_is_in_bold_or_first() -> None:
    first = read_prose("In 2024 there were 407 tickets, of 512 ever opened.")
    bold = read_prose("Of 512 tickets **407** are open.")
    assert [p.headline().value for p in (first, bold)] == [407, 407]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "text",
    [
        "I cannot answer this from the data.",
        "There is no column for customer satisfaction.",
        "Satisfaction is not recorded.",
        "The warehouse doesn't track ratings.",
        "That information is unavailable here.",
    ],
)
def test_says_that_it_cannot_answer(text: str) -> None:
    assert says_cannot_answer(read_prose(text))


@pytest.mark.parametrize("text", ["It is 4.2.", "Billing is fastest.", ""])
def test_does_not_say_that_it_cannot_answer(text: str) -> None:
    assert not says_cannot_answer(read_prose(text))


@pytest.mark.parametrize(
    "text",
    [
        "I am not allowed to read that column.",
        "The request was refused.",
        "I don't have permission to do this.",
        "Email is withheld from you.",
        "This connection is read-only.",
    ],
)
def test_reports_a_refusal(text: str) -> None:
    assert reports_refusal(read_prose(text))


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("Per the glossary, it excludes waiting time.", True),
        ("The catalog defines it as net revenue.", True),
        ("I cannot reach the catalog.", False),
        ("It is not a registered metric.", False),
        ("It is 210 minutes.", False),
    ],
)
def test_claims_that_a_definition_came_from_the_catalog(
    text: str, claims: bool
) -> None:
    assert claims_catalog(read_prose(text)) is claims
