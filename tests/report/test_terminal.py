from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dataeval.engine.outcome import TrialOutcome
from pytest_dataeval.ledger.summary import (
    AlwaysFailed,
    Count,
    GroupSummary,
    Paired,
    Sum,
    Summary,
    Tally,
    TierSummary,
)
from pytest_dataeval.records import Attempt, Column, ResultSet, Score, TrialKey
from pytest_dataeval.report.terminal import failure_lines, lines
from pytest_dataeval.stats.rates import tier_rate


def tally(**counts: int) -> Tally:
    names = Tally.__dataclass_fields__
    return Tally(**{name: counts.get(name, 0) for name in names})


def tier(
    name: str, passed: int, n: int, metrics: dict[str, Count] | None = None, **more: int
) -> TierSummary:
    verdicts = {f"c{i}": {1: [i < passed]} for i in range(n)}
    counts = tally(planned=n, asked=n, scored=n, passed=passed, **more)
    return TierSummary(name, counts, tier_rate(verdicts, seed=1), metrics or {}, {})


def group(*tiers: TierSummary, **more: Any) -> GroupSummary:
    empty: dict[str, Any] = {
        "paired": (),
        "tool_calls_median": None,
        "hops_median": None,
        "latency_median_ms": None,
        "tokens": {},
        "cost": None,
        "fail_reasons": {},
        "unscored_reasons": {},
        "faults": {},
        "stop_reasons": {},
        "always_failed": (),
    }
    names = {"suite": "contoso", "agent": "claude", "arm": "catalog"}
    return GroupSummary(tiers=tiers, **{**empty, **names, **more})


def test_the_summary_of_a_whole_run() -> None:
    # 35/48, 13/48 and their Wilson intervals: published table of the contoso run;
    # +0/-12 has the exact p = 2 * (1/2)^12 = 0.0005
    first = group(
        tier("L1", 5, 5),
        tier("L3", 35, 48, {"execution": Count(36, 48), "grounding": Count(47, 48)}),
        tool_calls_median=6.0,
        hops_median=4.5,
        latency_median_ms=12_345.0,
        tokens={"input_tokens": Sum(1_200_000, 53)},
        cost=Sum(3.5, 50),
        fail_reasons={"wrong_rows": 10, "earlier_statement": 3},
        always_failed=(AlwaysFailed("L3-fiscal", "L3", 3),),
    )
    second = group(
        tier("L3", 0, 48, declined=1, faults=2, not_run=1),
        arm="none",
        paired=(
            Paired(
                "L3",
                "pass",
                "none",
                "catalog",
                16,
                0,
                12,
                1,
                2,
                2 * 0.5**12,
                "a detectable difference",
            ),
        ),
    )
    whole = tally(planned=105, asked=103, scored=101, passed=40, faults=2, not_run=1)
    summary = Summary("complete", None, (1,), whole, (first, second))
    command = "pytest-dataeval report .dataeval/runs/x"
    assert lines(summary, ".dataeval/runs/x", [command]) == [
        "run .dataeval/runs/x: complete",
        "  trials: 105 planned, 103 asked, 101 scored, 2 faults, 1 not run",
        "",
        "agent claude, arm catalog",
        "  L1      5/5  100.0%  56.6-100.0",
        "  L3    35/48   72.9%  59.0-83.4",
        "  L3: execution 36/48, grounding 47/48",
        "  per ask: 6 tool calls, 4.5 hops, 12.35 s (medians), 1,200,000 input tokens in",
        "      all, cost at least 3.5 (from 50 asks)",
        "  fails: wrong_rows 10, earlier_statement 3",
        "  earlier_statement: right figure, but from a statement before the last",
        "  failed every time: L3-fiscal 0/3",
        "",
        "agent claude, arm none",
        "  L3     0/48    0.0%  0.0-7.4     1 declined, 2 faults, 1 not run",
        "  against arm catalog, the same cases:",
        "    L3 pass      +0/-12   p = 0.0005 over 16 pairs, 1 tied, 2 unpaired: a",
        "        detectable difference",
        "",
        "  pytest-dataeval report .dataeval/runs/x",
    ]


def test_a_tier_without_a_score_has_no_rate() -> None:
    declined = replace(tier("L5", 0, 0), tally=tally(planned=2, asked=2, declined=2))
    summary = Summary("complete", None, (), tally(planned=2), (group(declined),))
    text = "\n".join(lines(summary, "r"))
    assert "L5  nothing to rate; 2 declined" in text
    assert "all declined: this says nothing about the guard" in text
    assert "%" not in text


def test_repeats_show_both_rates() -> None:
    # Three cases of three asks: majorities true, true, false; pass@1 is
    # (3/3 + 2/3 + 0/3) / 3 = 55.6%
    verdicts = {
        "a": {1: [True] * 3},
        "b": {1: [True, True, False]},
        "c": {1: [False] * 3},
    }
    three = TierSummary(
        "L3",
        tally(planned=9, asked=9, scored=9, passed=5),
        tier_rate(verdicts, seed=1),
        {},
        {},
    )
    summary = Summary("complete", None, (1,), tally(planned=9), (group(three),))
    text = "\n".join(lines(summary, "r"))
    assert "L3      2/3   66.7%" in text
    assert "pass@1 55.6%  no interval:" in text
    assert "5/9 asks" in text


def test_suites_are_named_once_there_are_two() -> None:
    groups = (group(tier("L1", 1, 1)), group(tier("L1", 1, 1), suite="support"))
    summary = Summary("incomplete", "interrupted", (1,), tally(planned=2), groups)
    found = lines(summary, "r")
    assert found[0] == "run r: incomplete (interrupted)"
    assert "contoso: agent claude, arm catalog" in found
    assert "support: agent claude, arm catalog" in found


# ------------------------------------------------------------------- failures

KEY = TrialKey("support", "L3-fastest-team", 1, "claude", "catalog", 1)
SCORE = Score(
    verdict="fail",
    outcome="wrong",
    reason="wrong_rows",
    detail="1 of 2 reference rows was not returned",
    instrument=1,
    reference_revision=1,
    statement_index=0,
    stated_value="502",
)
REFERENCE = ResultSet(
    (Column("team"), Column("minutes")),
    (("Billing", Decimal("210.3")), ("Frontline", None)),
)
ANSWER = ResultSet((Column("n"),), tuple((n,) for n in range(12)), truncated=True)


def failed(**changes: Any) -> TrialOutcome:
    outcome = TrialOutcome(
        key=KEY,
        state="fail",
        question="Which support team resolves tickets fastest?",
        score=SCORE,
        attempt=Attempt(text="Frontline, 502 minutes."),
        reference=REFERENCE,
        answer=ANSWER,
        sql="select team, avg(elapsed_minutes)\nfrom tickets\ngroup by team",
    )
    return replace(outcome, **changes)


def test_a_failure_shows_both_results_side_by_side() -> None:
    assert failure_lines(failed()) == [
        "wrong_rows: 1 of 2 reference rows was not returned",
        "question",
        "  Which support team resolves tickets fastest?",
        "stated figure: 502",
        "reference: 2 rows                      | returned: 12 or more rows",
        "team       minutes                     | n",
        "---------  -------                     | -",
        "Billing    210.3                       | 0",
        "Frontline  NULL                        | 1",
        "                                       | 2",
        "                                       | 3",
        "                                       | 4",
        "                                       | 5",
        "                                       | 6",
        "                                       | 7",
        "                                       | (4 more)",
        "SQL that was scored",
        "  select team, avg(elapsed_minutes)",
        "  from tickets",
        "  group by team",
        "answer",
        "  Frontline, 502 minutes.",
    ]


def test_a_result_that_is_not_there_is_said_to_be() -> None:
    found = failure_lines(failed(answer=None, sql=None))
    assert any(line.endswith("| returned: none") for line in found)
    assert "SQL that was scored" not in found


def test_long_texts_are_cut_and_say_how_much_is_left() -> None:
    found = failure_lines(failed(sql="\n".join(f"line {n}" for n in range(100))))
    assert "  line 23" in found
    assert "  line 24" not in found
    assert "  (76 more lines)" in found


def test_wide_results_keep_the_width_and_say_what_is_hidden() -> None:
    wide = ResultSet(
        tuple(Column(f"column_{n}") for n in range(30)),
        (tuple("x" * 50 for _ in range(30)),),
    )
    found = failure_lines(failed(reference=wide, answer=wide), width=80)
    assert max(map(len, found)) <= 80
    assert any("of 30 columns not shown" in line for line in found)


HOSTILE = "a\x1b[31mred\x1b]0;title\x07\r\u202eb\u200b\x9b2J\ud800"


@pytest.mark.parametrize("place", ["question", "sql", "text", "cell", "column"])
def test_hostile_text_cannot_act_on_the_terminal(place: str) -> None:
    changes: dict[str, Any] = {
        "question": {"question": HOSTILE},
        "sql": {"sql": HOSTILE},
        "text": {"attempt": Attempt(text=HOSTILE)},
        "cell": {"reference": ResultSet((Column("c"),), ((HOSTILE,),))},
        "column": {"answer": ResultSet((Column(HOSTILE),), ((1,),))},
    }[place]
    text = "\n".join(failure_lines(failed(**changes), width=200))
    assert "\\x1b[31mred" in text
    for character in "\x1b\x07\r\u202e\u200b\x9b\ud800":
        assert character not in text


@given(
    st.lists(st.lists(st.text(max_size=40), min_size=1, max_size=6), max_size=4),
    st.integers(min_value=40, max_value=200),
    st.text(max_size=300),
)
def test_failures_keep_the_width_and_print_anywhere(
    cells: list[list[str]], width: int, text: str
) -> None:
    columns = max(map(len, cells), default=0)
    rows = tuple(tuple(row + [""] * (columns - len(row))) for row in cells)
    result = ResultSet(tuple(Column(f"c{n}") for n in range(columns)), rows)
    outcome = failed(
        reference=result, answer=result, attempt=Attempt(text=text), sql=text
    )
    for line in failure_lines(outcome, width=width):
        line.encode()
        assert "\n" not in line
        assert len(line) <= width


def test_tests_without_a_discordant_question_share_a_line() -> None:
    def same(metric: str, pairs: int) -> Paired:
        none = "no question differed"
        return Paired("L1", metric, "none", "catalog", pairs, 0, 0, 0, 0, None, none)

    paired = (same("pass", 3), same("execution", 3), same("semantics", 2))
    summary = Summary(
        "complete",
        None,
        (1,),
        tally(planned=3),
        (replace(group(tier("L1", 3, 3)), paired=paired),),
    )
    assert "    L1 no question differed: pass 3, execution 3, semantics 2" in lines(
        summary, "r"
    )
