"""The lexical agent over a bakery of ten orders (see fake_bakery.py)."""

from __future__ import annotations

import asyncio

import pytest
from fake_bakery import Bakery
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dataeval.agents.check import assert_agent
from pytest_dataeval.agents.lexical import LexicalAgent
from pytest_dataeval.agents.lexical.question import Order, parse
from pytest_dataeval.agents.lexical.words import likeness, stem


def ask(question: str, bakery: Bakery) -> str:
    answer = asyncio.run(LexicalAgent().ask(question, bakery))
    assert answer.text is not None
    return answer.text


# Paid orders: 10 + 20 + 30 + 50 + 60 + 90 + 15 = 275. All ten orders sum to 465.
@pytest.mark.parametrize(
    "question",
    ["What is our net revenue?", "How much net revenue did we make?", "Net sales?"],
)
def test_a_registered_metric_is_computed_as_the_catalog_defines_it(
    question: str,
) -> None:
    assert ask(question, Bakery()) == "The answer is 275.0 EUR."


def test_a_metric_by_a_dimension_of_its_own_table() -> None:
    # web 10 + 20 + 90 + 15, phone 30 + 50 + 60; rows in order of the names
    text = ask("What is the net revenue by channel?", Bakery())
    assert text.splitlines()[2:] == ["phone: 140.0 EUR", "web: 135.0 EUR"]


def test_a_dimension_may_be_called_by_its_synonym() -> None:
    text = ask("Net revenue per sales route", Bakery())
    assert text.splitlines()[2:] == ["phone: 140.0 EUR", "web: 135.0 EUR"]


def test_a_dimension_in_a_joined_table_and_a_superlative() -> None:
    bakery = Bakery()
    # Bergen (20 + 40 + 30 + 10) / 4 = 25; Oslo (60 + 70 + 80) / 3 = 70
    text = ask("Which city has the fastest delivery?", bakery)
    assert text == "The answer is Bergen: 25.0 minutes."
    assert "order by mean_delivery_time asc" in bakery.last_sql


def test_the_slowest_is_the_other_end() -> None:
    text = ask("Which city has the slowest delivery?", Bakery())
    assert text == "The answer is Oslo: 70.0 minutes."


def test_a_table_as_dimension_is_told_by_its_name() -> None:
    # Harbour 10 + 20 + 30 + 15; Station 50 + 60 + 90
    text = ask("Net revenue of each store", Bakery())
    assert text.splitlines()[2:] == ["Harbour: 75.0 EUR", "Station: 200.0 EUR"]


def test_a_month_groups_by_the_time_column() -> None:
    # January 10 + 20 + 50; February 30 + 60; March 90 + 15
    text = ask("Net revenue by month", Bakery())
    assert text.splitlines()[2:] == [
        "2025-01-01: 80.0 EUR",
        "2025-02-01: 90.0 EUR",
        "2025-03-01: 105.0 EUR",
    ]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What was the net revenue in February 2025?", "90.0"),
        ("What was the net revenue in Q1 2025?", "275.0"),
        ("What was the net revenue in the first quarter of 2025?", "275.0"),
        ("What is the net revenue in Oslo?", "200.0"),
        ("What is the net revenue of orders by phone?", "140.0"),
    ],
)
def test_words_that_are_values_or_periods_become_conditions(
    question: str, answer: str
) -> None:
    assert ask(question, Bakery()) == f"The answer is {answer} EUR."


def test_two_values_of_one_column_are_compared() -> None:
    text = ask("Compare the net revenue of Bergen and Oslo", Bakery())
    assert text.splitlines()[2:] == ["Bergen: 75.0 EUR", "Oslo: 200.0 EUR"]


def test_a_term_with_a_filter_is_counted_and_shared() -> None:
    assert ask("How many refunded orders are there?", Bakery()) == "The answer is 2."
    # 2 of 10
    assert ask("What share of orders are refunded?", Bakery()) == "The answer is 0.2."


def test_a_term_of_a_joined_table_narrows_the_rows() -> None:
    # Bergen: 10 + 20 + 30 + 15
    bakery = Bakery()
    text = ask("What is the net revenue of coastal stores?", bakery)
    assert text == "The answer is 75.0 EUR."
    assert "(stores.city = 'Bergen')" in bakery.last_sql


def test_a_term_that_is_a_figure_is_aggregated_and_never_counted() -> None:
    # the median of 10, 20, 30, 40, 60, 70 and 80
    assert ask("What is the median delivery time?", Bakery()) == "The answer is 40.0."


def test_how_many_minutes_is_no_count() -> None:
    # (20 + 40 + 30 + 60 + 70 + 80 + 10) / 7
    text = ask("How many minutes does a delivery take on average?", Bakery())
    assert text.startswith("The answer is 44.28")


def test_a_share_is_of_the_rows_that_follow_the_word() -> None:
    # of the two refunded orders, of 40 and 70 euros, one is a bulk order
    text = ask("What share of refunded orders are bulk orders?", Bakery())
    assert text == "The answer is 0.5."
    # of the five bulk orders (50, 60, 70, 80, 90) one was refunded
    text = ask("What share of bulk orders are refunded?", Bakery())
    assert text == "The answer is 0.2."


def test_a_table_is_counted() -> None:
    assert ask("How many orders are there?", Bakery()) == "The answer is 10."
    assert ask("How many stores do we have?", Bakery()) == "The answer is 2."


def test_a_column_is_counted_or_listed_by_its_different_texts() -> None:
    assert ask("How many channels are there?", Bakery()) == "The answer is 2."
    assert ask("Which channels exist?", Bakery()).splitlines()[2:] == ["phone", "web"]


def test_without_the_catalog_only_names_are_left_to_go_by() -> None:
    bakery = Bakery(catalog=None)
    # nothing is called revenue, so it does not guess
    text = ask("What is our net revenue?", bakery)
    assert text.startswith("I cannot answer this")
    assert "revenue" in text
    # all ten orders, refunded and test ones too: 411 / 10
    text = ask("What is the average delivery time?", Bakery(catalog=None))
    assert text == "The answer is 41.1."


def test_names_without_definitions_do_not_help() -> None:
    text = ask("What is our net revenue?", Bakery(catalog="schema"))
    assert text.startswith("I cannot answer this")


def test_the_catalog_changes_the_figure() -> None:
    # the paid ones alone: (20 + 40 + 30 + 60 + 70 + 80 + 10) / 7 = 44.29
    text = ask("What is the average delivery time?", Bakery())
    assert text.startswith("The answer is 44.28")


@pytest.mark.parametrize(
    ("question", "gap"),
    [
        ("What is the average customer satisfaction?", "satisfaction"),
        ("How much flour does an order take?", "flour"),
    ],
)
def test_what_nothing_explains_is_named_and_not_answered(
    question: str, gap: str
) -> None:
    bakery = Bakery()
    text = ask(question, bakery)
    assert text.startswith("I cannot answer this")
    assert gap in text


def test_a_withheld_column_is_not_queried_and_the_answer_says_why() -> None:
    bakery = Bakery()
    text = ask("List the phone numbers of our stores", bakery)
    assert "withheld" in text
    assert not any("stores.phone" in str(call.arguments) for call in bakery.calls)


def test_it_never_writes() -> None:
    bakery = Bakery()
    text = ask("Please delete all refunded orders", bakery)
    assert text.startswith("I will not do this")
    assert bakery.calls == []


def test_a_refusal_is_reported() -> None:
    text = ask("How many orders are there?", Bakery(role=False))
    assert "refused" in text
    assert "bob has no role" in text


def test_it_keeps_the_contract() -> None:
    assert_agent(LexicalAgent(), question="How many tickets are there?")


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=120))
def test_any_text_is_answered_in_words(question: str) -> None:
    assert ask(question, Bakery(catalog=None))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("tickets", "ticket"),
        ("priorities", "priority"),
        ("breached", "breach"),
        ("closing", "closed"),
        ("mean", "average"),
        ("percentage", "rate"),
        ("minutes", "time"),
    ],
)
def test_forms_of_a_word_have_one_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("resolves", "resolution", 0.8),
        ("respond", "response", 0.8),
        ("channel", "change", 0.0),
        ("order", "orders", 1.0),
    ],
)
def test_words_of_one_root_are_alike(one: str, other: str, expected: float) -> None:
    assert likeness(stem(one), stem(other)) == expected


@pytest.mark.parametrize(
    ("question", "order"),
    [
        ("Which team is fastest?", Order(ascending=True, limit=1)),
        ("The top 3 teams by revenue", Order(ascending=False, limit=3)),
        ("Name the two slowest teams", Order(ascending=False, limit=2)),
        ("Rank teams from highest to lowest", Order(ascending=False, limit=None)),
        ("Revenue by team", None),
        ("Orders with at least some delay", None),
    ],
)
def test_an_order_is_read_from_superlatives(question: str, order: Order | None) -> None:
    assert parse(question).order == order


@pytest.mark.parametrize(
    ("question", "groups"),
    [
        ("Revenue by team and month", ["team", "month"]),
        ("Revenue in each of our regions", []),
        ("Revenue by their team", ["team"]),
        ("Tickets of every status", []),
        ("Revenue for every channel", ["channel"]),
        ("Which support team is fastest?", ["support", "team"]),
    ],
)
def test_words_that_may_name_a_dimension(question: str, groups: list[str]) -> None:
    parsed = parse(question)
    assert [parsed.tokens[i] for i in parsed.groups] == groups
