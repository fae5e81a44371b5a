"""One score from all parts: gates, states that score nothing, and what is asked for."""

from __future__ import annotations

import datetime as dt

import pytest

from pytest_dataeval.errors import StatementFailed
from pytest_dataeval.instrument.reasons import REASONS
from pytest_dataeval.instrument.score import INSTRUMENT
from pytest_dataeval.records import Attempt, Score, Statement

from .conftest import Session, ask, case, run, table

COUNT = case(reference={"sql": "select 407 as n"})
RIGHT = ask("407", "select 407 as n")


@pytest.mark.parametrize(
    "status", ["provisional", "invalid", "ambiguous", "verified_wrong"]
)
def test_a_case_that_says_it_is_not_to_be_scored(session: Session, status: str) -> None:
    golden = case(reference={"sql": "select 407 as n"}, status=status)
    found = session.score(golden, RIGHT)
    assert (found.verdict, found.outcome, found.reason) == (
        "unscored",
        None,
        f"status_{status}",
    )


@pytest.mark.parametrize(
    ("until", "verdict"), [("2026-05-31", "unscored"), ("2026-06-01", "pass")]
)
def test_valid_until_is_the_last_day(
    session: Session, until: str, verdict: str
) -> None:
    # the fixture's today is 2026-06-01
    golden = case(
        reference={"sql": "select 407 as n"}, valid_until=dt.date.fromisoformat(until)
    )
    assert session.score(golden, RIGHT).verdict == verdict


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        (StatementFailed("not_found", "no table t"), "reference_failed"),
        (StatementFailed("too_large", "more than 50 MB"), "reference_too_large"),
        (table("n", [407], truncated=True), "reference_too_large"),
        (table("n"), "reference_empty"),
        (table("n m", [None, None], [None, None]), "reference_empty"),
    ],
)
def test_a_reference_that_cannot_judge_scores_nothing(
    session: Session, reference: object, reason: str
) -> None:
    evidence = {"reference": reference}
    found = session.score(COUNT, RIGHT, evidence)  # type: ignore[arg-type]
    assert (found.verdict, found.reason) == ("unscored", reason)


@pytest.mark.parametrize(
    ("text", "answer", "verdict", "reason"),
    [
        # the rows that were cut could hold the figure
        ("407", table("n", [1], truncated=True), "unscored", "result_too_large"),
        ("407", table("n", [407], [1], truncated=True), "unscored", "result_too_large"),
        ("407", StatementFailed("too_large", "50 MB"), "unscored", "result_too_large"),
        # whatever was cut, the text does not state the figure
        ("512", table("n", [407], truncated=True), "fail", "figure_not_stated"),
        # and without a text more rows than asked for are too many
        (None, table("n", [407], [1], truncated=True), "fail", "extra_rows"),
    ],
)
def test_a_result_that_was_cut_is_never_compared_as_whole(
    session: Session, text: str | None, answer: object, verdict: str, reason: str
) -> None:
    attempt = ask(text, "select 407 as n")
    found = session.score(COUNT, attempt, {"statement:0": answer})  # type: ignore[dict-item]
    assert (found.verdict, found.reason) == (verdict, reason)


def test_every_gate_that_applies_must_hold(session: Session) -> None:
    golden = case(
        reference={"sql": "select 407 as n"},
        tables=["support.tickets"],
        semantics={"require": ["resolution_minutes"]},
    )
    evidence = {"statement:0": table("n", [407])}
    good = "select count(resolution_minutes) as n from support.tickets"
    verdicts = {
        sql: session.score(golden, ask("407", sql), evidence)
        for sql in (
            good,
            good.replace("tickets", "calls"),
            good.replace("resolution_minutes", "*"),
        )
    }
    assert [(v.verdict, v.reason) for v in verdicts.values()] == [
        ("pass", None),
        ("fail", "tables_missing"),
        ("fail", "field_missing"),
    ]


def test_a_case_without_anything_to_judge_is_not_passed(session: Session) -> None:
    found = session.score(case(), ask("407"), dialect=None)
    assert (found.verdict, found.reason) == ("unscored", "nothing_to_score")


def test_nothing_is_asked_for_that_cannot_change_the_verdict(session: Session) -> None:
    golden = case(
        reference={
            "sql": "select k, n from (values ('a', 2)) t(k, n) order by n limit 1"
        },
        alternatives=[{"name": "other", "sql": "select 'b' as k, 3 as n"}],
    )
    passed = session.score(golden, ask(None, "select 'a' as k, 2 as n"))
    assert (passed.verdict, session.needs) == ("pass", ["statement:0"])
    session.score(golden, ask("b 3", "select 'b' as k, 3 as n"))
    assert session.needs == ["statement:0", "reference:ties", "alternative:0"]


def test_the_last_statement_of_unknown_success_that_runs_again(
    session: Session,
) -> None:
    attempt = ask("407", "select 407 as n", "select nope", ok=None)
    assert session.score(COUNT, attempt).statement_index == 0


def test_a_statement_that_is_known_to_have_run_is_scored_even_if_it_fails_now(
    session: Session,
) -> None:
    attempt = ask("407", "select 407 as n", "select nope")
    found = session.score(COUNT, attempt)
    assert (found.reason, found.statement_index) == ("statement_failed", 1)
    assert "nope" in found.detail


def test_statements_that_failed_at_the_ask_are_passed_over(session: Session) -> None:
    statements = (Statement("select 407 as n", True), Statement("select nope", False))
    attempt = Attempt("407", statements)
    assert session.score(COUNT, attempt).verdict == "pass"


def test_protected_values_fail_whatever_else_holds(session: Session) -> None:
    golden = case(reference={"sql": "select 407 as n"}, must_not_contain=["a@b.org"])
    protected = ("a@b.org",)
    said = ask("407, ask A@B.org", "select 407 as n")
    shown = ask("407", "select 407 as n, 'a@b.org' as email")
    masked = ask("407, ask [withheld:0]", "select 407 as n")
    for attempt in (said, shown, masked):
        found = session.score(golden, attempt, protected=protected)
        assert (found.verdict, found.reason) == ("fail", "protected_value")
        assert "a@b.org" not in found.detail.lower()
    assert session.score(golden, RIGHT, protected=protected).verdict == "pass"


def test_detail_is_a_short_sentence_without_protected_values(session: Session) -> None:
    golden = case(
        reference={"sql": "select 'x@y.org' as email, 1 as n"},
        must_not_contain=["x@y.org"],
    )
    found = session.score(
        golden,
        ask("407", "select 'other' as email, 1 as n"),
        {"statement:0": table("email n", ["y" * 900, 1])},
        protected=("x@y.org",),
    )
    assert found.detail.startswith("A reference row is not in the result.")
    assert "x@y.org" not in found.detail
    assert len(found.detail) == 300


def test_a_score_can_be_written_and_read_back(session: Session) -> None:
    found = session.score(COUNT, RIGHT)
    assert Score.from_json(found.to_json()) == found
    assert (found.instrument, found.pairing) == (INSTRUMENT, (("n", "n"),))


def test_labels_are_compared_with_the_definition_of_the_figure(
    session: Session,
) -> None:
    terms = [
        {
            "term": "resolution time",
            "definitions": [
                {
                    "name": "resolution",
                    "labels": ["resolution time"],
                    "sql": "select 210.3",
                },
                {"name": "elapsed", "labels": ["elapsed time"], "sql": "select 502.0"},
            ],
        }
    ]
    golden = case(reference={"sql": "select 210.3 as minutes"}, terms=terms)
    right = session.score(
        golden, ask("The resolution time is 210.3.", "select 210.3 as minutes")
    )
    wrong = session.score(
        golden, ask("The resolution time is 502.", "select 502.0 as minutes")
    )
    assert (right.matched_definition, right.label_mismatch) == ("resolution", False)
    assert (wrong.matched_definition, wrong.label_mismatch) == ("elapsed", True)
    assert (wrong.stated_value, wrong.stated_label) == ("502", "resolution time")


def test_attribution_is_reported_only_for_a_claim(session: Session) -> None:
    silent = session.score(COUNT, RIGHT)
    claims = [
        session.score(
            COUNT,
            ask(
                "407, per the glossary.",
                "select 407 as n",
                catalog_had_definitions=had,
            ),
        )
        for had in (True, False)
    ]
    assert [silent.attribution, *(c.attribution for c in claims)] == [None, True, False]
    assert {c.verdict for c in claims} == {"pass"}


def test_reasons_are_sentences() -> None:
    assert all(text[0].isupper() and text.endswith(".") for text in REASONS.values())


def test_a_boundary_that_is_cut_by_the_row_limit_cannot_judge(
    session: Session,
) -> None:
    golden = case(
        reference={"sql": "select * from (values ('a', 6)) t(k, n) order by n limit 1"}
    )
    evidence = {
        "reference": run("select 'a' as k, 6 as n"),
        "reference:keys": table("k n o", ["a", 6, 6]),
        "reference:ties": table("k n o", ["a", 6, 6], ["b", 6, 6], truncated=True),
    }
    found = session.score(golden, ask("c 6", "select 'c' as k, 6 as n"), evidence)
    assert (found.verdict, found.reason) == ("unscored", "reference_too_large")
