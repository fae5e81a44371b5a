"""References: once a run, in their own dialect, and of data that move."""

from __future__ import annotations

import pytest

from .conftest import Project


def test_a_reference_runs_once_a_run(shop: Project, mode: tuple[str, ...]) -> None:
    shop.write(
        "cases/refs.py",
        """
        import os

        def counted(warehouse):
            with open("ran.txt", "a") as file:
                file.write("x")
            return warehouse.run("select count(*) as orders from shop.orders")
        """,
    )
    shop.cases(
        """
        warehouse: shop
        cases:
          - {id: L1-python, tier: L1, question: "How many orders?",
             reference: {python: "refs.py:counted"}}
        """
    )
    result = shop.pytest("--repeats", "6", *mode)
    assert result.status == 0, result.text
    assert (shop.root / "ran.txt").read_text() == "x"
    assert len(result.events("reference")) == 1


def test_a_reference_may_be_written_in_another_dialect(shop: Project) -> None:
    shop.cases(
        """
        warehouse: shop
        cases:
          - id: L1-top
            tier: L1
            question: "What is the largest amount?"
            reference:
              sql: "select top 1 amount from shop.orders order by amount desc"
              dialect: tsql
        """
    )
    result = shop.pytest("-q")
    assert result.status == 0, result.text
    (score,) = result.events("score")
    stored = result.run / "results" / f"{score['reference_result']}.json"
    assert "99" in stored.read_text()


LIVE = """
    warehouse: shop
    cases:
      - id: L1-live
        tier: L1
        question: "How many orders?"
        reference: {python: "refs.py:moving", live: true}
"""


@pytest.mark.parametrize(
    ("body", "verdict", "reason"),
    [
        ("n = 4", "pass", None),
        ("n = os.getpid() * 0 + count()", "unscored", "reference_moved"),
    ],
)
def test_a_live_reference_that_moves_during_the_ask_scores_nothing(
    shop: Project, body: str, verdict: str, reason: str | None
) -> None:
    shop.write(
        "cases/refs.py",
        f"""
        import os

        def count():
            with open("ran.txt", "a") as file:
                file.write("x")
            return len(open("ran.txt").read())

        def moving(warehouse):
            {body}
            return n
        """,
    )
    shop.cases(LIVE)
    shop.config(
        'warehouses:\n  shop: {url: "duckdb+duckdb_sqlalchemy:///data.duckdb"}\n'
        "agents:\n  mine: {python: 'mine_agent:Agent'}\n"
    )
    shop.agent(
        """
        await context.call_tool("run_query", {"sql": "select count(*) from shop.orders"})
        return Answer(text="There are 4 orders.")
        """
    )
    result = shop.pytest("-q", "--agents", "mine")
    (score,) = result.events("score")
    assert (score["verdict"], score["reason"]) == (verdict, reason)
    assert result.status == (0 if verdict == "pass" else 6)
