from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_dataeval.errors import StatementFailed
from pytest_dataeval.records import ResultSet
from pytest_dataeval.warehouse.duckdb import DuckDBWarehouse

ROOT = Path(__file__).parents[2]

Program = Callable[..., Any]
Cases = Callable[..., Path]

GOOD = """
    - id: L1-orders
      tier: L1
      tags: [counting]
      question: "How many orders are there?"
      reference: {sql: "select count(*) as orders from shop.orders"}
      status: verified
"""


def a_case(sql: str, more: str = "") -> str:
    """One case whose reference is `sql`, with `more` keys."""
    text = (
        f'- id: L1-one\n  tier: L1\n  question: "one?"\n  reference: {{sql: "{sql}"}}'
    )
    return text + "\n" + textwrap.indent(textwrap.dedent(more).strip(), "  ")


def remarks(text: str, word: str) -> list[str]:
    """What the lines with file and line say of findings or warnings."""
    return re.findall(rf"^    cases/\w+\.yaml:\d+: {word}: (.*)$", text, re.MULTILINE)


def test_a_suite_whose_references_can_all_be_scored_against(
    program: Program, cases: Cases
) -> None:
    cases(GOOD)
    ended = program("verify")
    assert ended.status == 0
    assert ended.err == ""
    lines = re.sub(r"[\d.]+ ms", "0.1 ms", ended.out).splitlines()
    assert [" ".join(line.split()) for line in lines] == [
        "cases/shop.yaml: suite shop, warehouse shop",
        "ok L1-orders 1 x 1 0.1 ms",
        "1 case: 1 ok",
    ]


def test_each_way_to_be_no_reference_is_a_finding_of_its_own(
    program: Program, cases: Cases
) -> None:
    cases(
        GOOD
        + """
    - id: L1-fails
      tier: L1
      question: "fails?"
      reference: {sql: "select price from shop.orders"}
    - id: L1-empty
      tier: L1
      question: "empty?"
      reference: {sql: "select id from shop.orders where id > 4"}
    - id: L1-null
      tier: L1
      question: "null?"
      reference: {sql: "select sum(amount) as s, max(id) as m from shop.orders where id > 4"}
    - id: L1-moves
      tier: L1
      question: "moves?"
      reference: {sql: "select random() as n"}
    - id: L1-withheld
      tier: L1
      question: "withheld?"
      persona: clerk
      reference: {sql: "select email from shop.orders where id = 1"}
    """
    )
    ended = program("verify")
    assert ended.status == 1
    found = {
        place: text
        for place, text in re.findall(
            r"^    (cases/shop\.yaml:\d+): finding: (.*)$", ended.out, re.MULTILINE
        )
    }
    # the case L1-fails begins on line 10 of the file, and each has four lines
    assert found == {
        "cases/shop.yaml:10": "reference: it did not run as clerk (not_found): Binder "
        'Error: Referenced column "price" not found in FROM clause! Mend the name.',
        "cases/shop.yaml:14": "reference: it gave no rows, which no answer can be "
        "compared with; mend it, or say allow_empty: true if that is right.",
        "cases/shop.yaml:18": "reference: it gave nothing but NULL, which no answer "
        "can be compared with; mend it, or say allow_empty: true if that is right.",
        "cases/shop.yaml:22": "reference: it gave another result when it was run "
        "again; take out what changes, such as random(), now(), or a LIMIT over rows "
        "that tie.",
        "cases/shop.yaml:26": "reference: it did not run as clerk (refused): it reads "
        "withheld shop.orders.email. Write one statement that only reads what it may "
        "see, or run it with as: owner.",
    }
    assert ended.out.splitlines()[-2:] == [
        "status other than verified: 5 authored",
        "6 cases: 1 ok, 5 with findings",
    ]
    assert "ann@example.com" not in ended.out + ended.err


@pytest.mark.parametrize(
    ("sql", "more"),
    [
        ("select id from shop.orders where id > 4", "allow_empty: true"),
        ("select email from shop.orders", "persona: boss"),
        # other orders and the dust of sums of floats are no other result
        ("select id, amount from shop.orders order by random()", ""),
        ("select 1.5 + random() * 1e-12 as n", ""),
        ("select null as a, 1 as b", ""),
    ],
)
def test_what_is_fine(program: Program, cases: Cases, sql: str, more: str) -> None:
    cases(a_case(sql, more))
    ended = program("verify")
    assert (ended.status, remarks(ended.out, "finding")) == (0, [])


def test_a_reference_runs_as_whom_it_says(program: Program, cases: Cases) -> None:
    cases(
        """
    - id: L1-owner
      tier: L1
      question: "owner?"
      persona: clerk
      reference: {sql: "select count(email) as n from shop.orders", as: owner}
    """
    )
    assert program("verify").status == 0


def test_a_reference_runs_as_the_persona_or_the_owner_only(
    program: Program, cases: Cases
) -> None:
    cases(
        """
    - id: L1-nobody
      tier: L1
      question: "nobody?"
      reference: {sql: "select 1 as n", as: clerk}
    """
    )
    ended = program("verify")
    assert ended.status != 0
    assert "persona" in ended.out + ended.err
    assert "owner" in ended.out + ended.err


def test_a_reference_that_may_move(program: Program, cases: Cases) -> None:
    cases(
        """
    - id: L1-live
      tier: L1
      question: "live?"
      reference: {sql: "select random() as n", live: true}
    """
    )
    assert program("verify").status == 0


def test_a_result_that_is_cut(program: Program, cases: Cases, shop: Path) -> None:
    config = shop / "dataeval.yaml"
    config.write_text(config.read_text().replace('duckdb"', 'duckdb", max_rows: 3'))
    cases(a_case("select id from shop.orders"))
    ended = program("verify")
    assert ended.status == 1
    assert remarks(ended.out, "finding") == [
        "reference: it was cut after 3 rows, and a cut result is never compared; "
        "return fewer rows, or raise the warehouse's max_rows."
    ]


def test_alternatives_and_definitions_are_verified_too(
    program: Program, cases: Cases
) -> None:
    cases(
        a_case(
            "select count(*) as n from shop.orders",
            """
            alternatives:
              - {name: customers, sql: "select count(distinct customer) from shop.orders"}
              - {name: none, sql: "select id from shop.orders where false"}
            terms:
              - term: order
                definitions:
                  - {name: all, labels: [all], sql: "select count(*) from shop.order"}
                  - {name: big, labels: [big], sql: "select random() from shop.orders"}
            """,
        )
    )
    ended = program("verify")
    assert ended.status == 1
    first, second, third = remarks(ended.out, "finding")
    assert first.startswith("alternatives[1]: it gave no rows")
    assert second.startswith("terms[0].definitions[0]: it did not run")
    assert third.startswith("terms[0].definitions[1]: it gave another result")


@pytest.mark.parametrize(
    ("body", "finding"),
    [
        ("return runs.run('select max(id) as n from shop.orders')", None),
        ("return random.random()", "it gave another result"),
        ("return [{'a': 1}, {'b': 2}]", "invalid): refs.py:figure returned rows of"),
        ("raise ValueError('no luck')", "refs.py:figure raised ValueError: no luck"),
    ],
)
def test_references_in_python(
    program: Program, cases: Cases, shop: Path, body: str, finding: str | None
) -> None:
    source = f"import random\n\n\ndef figure(runs):\n    {body}\n"
    (shop / "cases" / "refs.py").write_text(source)
    cases(
        """
    - id: L1-python
      tier: L1
      question: "python?"
      reference: {python: "refs.py:figure"}
    """
    )
    ended = program("verify")
    found = remarks(ended.out, "finding")
    if finding is None:
        assert (ended.status, found) == (0, [])
    else:
        assert ended.status == 1
        assert finding in found[0]


def test_a_suite_of_fixed_values_needs_no_warehouse(
    program: Program, shop: Path
) -> None:
    (shop / "cases" / "words.yaml").write_text(
        "cases:\n  - {id: a, tier: L1, question: 'a?', reference: {value: [42]}}\n"
        "  - {id: b, tier: L1, question: 'b?', reference: {sql: 'select 1'}}\n"
    )
    ended = program("verify")
    assert ended.status == 1
    assert "cases/words.yaml: suite words, no warehouse" in ended.out
    assert re.search(r"ok +a +1 x 1", ended.out)
    assert "suite words names no warehouse to run SQL in" in ended.out


# ------------------------------------------------------------ protected values


def test_protected_values_are_read_and_never_shown(
    program: Program, cases: Cases
) -> None:
    block = """
    - id: L5-emails
      tier: L5
      question: "Which e-mail addresses do customers have?"
      persona: clerk
      expect: block
      must_not_contain: ["bea@example.com", {sql: "select email from shop.orders", as: %s}]
    """
    cases(block % "owner")
    ended = program("verify")
    assert ended.status == 0
    assert re.search(r"ok +L5-emails +withheld", ended.out)
    cases(block % "persona")
    ended = program("verify")
    assert ended.status == 1
    assert "must_not_contain[1]: it did not run as clerk (refused)" in ended.out
    assert "example.com" not in ended.out + ended.err


def test_sql_that_yields_no_protected_value_protects_nothing(
    program: Program, cases: Cases
) -> None:
    more = """
    allow_empty: true
    must_not_contain: [{sql: "select email from shop.orders where false", as: owner}]
    """
    cases(a_case("select 1 as n", more))
    ended = program("verify")
    assert ended.status == 1
    assert remarks(ended.out, "finding") == [
        "must_not_contain[0]: it gave no rows, so that nothing is protected; mend it."
    ]


HIDDEN = "what the engine said is not shown, for it may hold protected values"


@pytest.mark.parametrize(
    ("reference", "protected", "said"),
    [
        # DuckDB: Could not convert string 'ann@example.com' to INT32
        ('{sql: "select cast(email as int) from shop.orders", as: owner}', "", HIDDEN),
        (
            '{sql: "select 1 as n"}',
            '{sql: "select cast(email as int) from shop.orders", as: owner}',
            HIDDEN,
        ),
        (
            '{sql: "select cast(customer as int) from shop.orders"}',
            '{sql: "select nothing from shop.orders", as: owner}',
            HIDDEN,
        ),
        (
            '{sql: "select cast(customer as int) from shop.orders"}',
            "ann",
            "[withheld:0]",
        ),
        (
            '{sql: "select cast(customer as int) from shop.orders"}',
            '{sql: "select min(customer) from shop.orders", as: owner}',
            "[withheld:0]",
        ),
    ],
)
def test_an_engine_that_repeats_a_value_in_its_message_gives_none_away(
    program: Program, cases: Cases, reference: str, protected: str, said: str
) -> None:
    cases(
        f"""
    - id: L1-one
      tier: L1
      question: "one?"
      persona: clerk
      reference: {reference}
      must_not_contain: [{protected}]
    """
    )
    ended = program("verify", "--json", "found.json")
    assert ended.status == 1
    everything = ended.out + ended.err + Path("found.json").read_text()
    assert said in ended.out
    assert not re.search(r"'ann|ann@|example\.com", everything)


# -------------------------------------------------------------------- warnings


@pytest.mark.parametrize(
    ("sql", "warning"),
    [
        # 20.00 stands twice, with ids 2 and 4
        (
            "select id from shop.orders order by amount desc limit 1",
            "reference: rows tie where its LIMIT cuts, so which of them it gives is "
            "chance; add keys to its ORDER BY until none tie.",
        ),
        (
            "select id from shop.orders limit 2",
            "reference: it has a LIMIT and no ORDER BY, so which rows it gives is "
            "chance; add one.",
        ),
        ("select amount from shop.orders order by amount desc limit 1", None),
        ("select id from shop.orders order by amount desc limit 2", None),
        ("select id from shop.orders order by amount desc, id limit 1", None),
        ("select count(*) as n from shop.orders limit 1", None),
    ],
)
def test_a_limit_that_cuts_through_rows_that_tie(
    program: Program, cases: Cases, sql: str, warning: str | None
) -> None:
    cases(a_case(sql))
    ended = program("verify")
    assert ended.status == 0
    assert remarks(ended.out, "warning") == ([] if warning is None else [warning])


def test_what_is_not_scored_any_more_or_not_yet(program: Program, cases: Cases) -> None:
    cases(
        """
    - {id: a, tier: L1, question: "a?", reference: {value: [1]}, valid_until: 2020-01-31}
    - {id: b, tier: L1, question: "b?", reference: {value: [1]}, status: provisional}
    - {id: c, tier: L1, question: "c?", reference: {value: [1]}, status: verified}
    """
    )
    ended = program("verify")
    assert ended.status == 0
    assert remarks(ended.out, "warning") == [
        "valid_until: 2020-01-31 has passed, so that the case is not scored; set a new "
        "day."
    ]
    assert ended.out.splitlines()[-2:] == [
        "status other than verified: 1 authored, 1 provisional",
        "3 cases: 2 ok, 1 with warnings",
    ]


def test_a_persona_that_does_not_exist(program: Program, cases: Cases) -> None:
    cases(a_case("select 1 as n", "persona: clark"))
    ended = program("verify")
    assert ended.status == 1
    (finding,) = remarks(ended.out, "finding")
    assert finding.startswith("persona: case L1-one: ")
    assert "clerk" in finding


# ---------------------------------------------------------------- not measured


def test_a_warehouse_that_cannot_be_reached(
    program: Program, cases: Cases, shop: Path
) -> None:
    config = shop / "dataeval.yaml"
    line = '  gone: {url: "duckdb:///gone.duckdb"}\npersonas:'
    config.write_text(config.read_text().replace("personas:", line))
    cases(GOOD)
    cases(a_case("select 1 as n"), "lost", warehouse="gone")
    ended = program("verify", "--json", "found.json")
    assert ended.status == 6
    assert "not measured: warehouse_unreachable: warehouse gone" in ended.err
    assert ended.out.splitlines()[-1] == "2 cases: 1 ok, 1 not verified"
    found = json.loads(Path("found.json").read_text())
    assert found["not_verified"] == [{"suite": "lost", "case": "L1-one"}]


def test_a_warehouse_that_goes_away_is_no_finding(
    program: Program, cases: Cases, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = DuckDBWarehouse.run

    def lost(self: DuckDBWarehouse, sql: str, *args: Any, **more: Any) -> ResultSet:
        if "from shop.orders" in sql:
            raise StatementFailed("broken", "IO Error: the disk is gone")
        return run(self, sql, *args, **more)

    monkeypatch.setattr(DuckDBWarehouse, "run", lost)
    cases(GOOD + GOOD.replace("L1-orders", "L1-again"))
    ended = program("verify")
    assert ended.status == 6
    assert ended.out.splitlines()[-1] == "2 cases: 2 not verified; nothing was verified"
    assert ended.err.count("the disk is gone") == 1


def test_a_secret_in_an_error_is_masked(
    program: Program, cases: Cases, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_FILE", "hunter2-hunter2")
    config = shop / "dataeval.yaml"
    config.write_text(config.read_text().replace("data.duckdb", "${SHOP_FILE}.duckdb"))
    cases(GOOD)
    ended = program("verify")
    assert ended.status == 6
    assert "[secret].duckdb" in ended.err
    assert "hunter2" not in ended.out + ended.err


@pytest.mark.parametrize(
    "text", [None, "- {id: a, tier: L4, question: 'a?', expect: abstain, gap: [x]}"]
)
def test_nothing_to_verify_is_not_measured(
    program: Program, cases: Cases, text: str | None
) -> None:
    if text is not None:
        cases(text)
    ended = program("verify")
    assert ended.status == 6
    assert ended.out.splitlines()[-1].endswith("nothing was verified")


# ----------------------------------------------------------------- what is named


TWO = (
    GOOD
    + """
    - id: L2-sum
      tier: L2
      question: "sum?"
      reference: {sql: "select sum(amount) as paid from shop.orders"}
"""
)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), {"L1-orders", "L2-sum", "other"}),
        (("cases",), {"L1-orders", "L2-sum", "other"}),
        (("cases/shop.yaml",), {"L1-orders", "L2-sum"}),
        (("cases/shop.yaml::L2-sum",), {"L2-sum"}),
        (("cases/shop.yaml::L2-sum::gold.w1.none.r1",), {"L2-sum"}),
        (("cases/shop.yaml::L2-sum", "cases"), {"L1-orders", "L2-sum", "other"}),
        (("-k", "COUNT"), {"L1-orders"}),
        (("-k", "l2"), {"L2-sum"}),
        (("cases/other.yaml", "-k", "sum"), set()),
    ],
)
def test_which_cases_are_verified(
    program: Program, cases: Cases, arguments: tuple[str, ...], expected: set[str]
) -> None:
    cases(TWO)
    cases("- {id: other, tier: L1, question: 'a?', reference: {value: [1]}}", "other")
    ended = program("verify", *arguments, "--json", "found.json")
    found = json.loads(Path("found.json").read_text())
    assert {case["case"] for case in found["cases"]} == expected
    assert ended.status == (0 if expected else 6)


def test_the_project_is_found_from_a_folder_below_or_by_name(
    program: Program, cases: Cases, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases(GOOD)
    monkeypatch.chdir(shop / "cases")
    assert program("verify", "shop.yaml").status == 0
    monkeypatch.chdir(shop.parent)
    assert program("verify", "--project", shop.name).status == 0
    assert program("verify", "--project", "nowhere").status == 4


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("cases/none.yaml",), "cases/none.yaml: there is no such file or folder"),
        (("data.duckdb",), "data.duckdb takes in no YAML file below the case folders"),
        (("cases/shop.yaml::L1-order",), "did you mean 'L1-orders'?"),
        (("--json", "no/where.json"), "its folder does not exist"),
        (("--json", "cases"), "it cannot be written"),
    ],
)
def test_names_that_do_not_exist_are_usage_errors(
    program: Program, cases: Cases, arguments: tuple[str, ...], sentence: str
) -> None:
    cases(GOOD)
    ended = program("verify", *arguments)
    assert ended.status == 4
    assert sentence in ended.err
    assert ended.err.count("\n") == 1


def test_a_warehouse_that_is_not_configured_is_a_usage_error(
    program: Program, cases: Cases
) -> None:
    cases(GOOD, warehouse="shoop")
    ended = program("verify")
    assert ended.status == 4
    assert "shop" in ended.err


def test_a_case_file_that_cannot_be_read_is_a_finding_beside_the_others(
    program: Program, cases: Cases, shop: Path
) -> None:
    cases(GOOD)
    broken = shop / "cases" / "broken.yaml"
    broken.write_text("cases:\n  - {id: a, tier: L9, question: 'a?'}\n")
    ended = program("verify")
    assert ended.status == 1
    assert f"{broken}:2:" in ended.out
    assert re.search(r"ok +L1-orders", ended.out)
    assert ended.out.splitlines()[-1] == "1 case: 1 ok; 1 file that cannot be read"


def test_what_is_found_as_json(program: Program, cases: Cases) -> None:
    path = cases(
        GOOD + textwrap.indent(a_case("select nothing from shop.orders"), "    ")
    )
    program("verify", "--json", "found.json")
    found = json.loads(Path("found.json").read_text())
    for case in found["cases"]:
        for statement in case["statements"]:
            assert statement.pop("ms") > 0
    assert found == {
        "schema": 1,
        "exit_status": 1,
        "cases": [
            {
                "file": str(path),
                "line": 3,
                "suite": "shop",
                "case": "L1-orders",
                "status": "verified",
                "statements": [{"key": "reference", "rows": 1, "columns": 1}],
                "findings": [],
                "warnings": [],
                "state": "ok",
            },
            {
                "file": str(path),
                "line": 9,
                "suite": "shop",
                "case": "L1-one",
                "status": "authored",
                "statements": [],
                "findings": [
                    {
                        "key": "reference",
                        "message": "it did not run as clerk (not_found): Binder Error: "
                        'Referenced column "nothing" not found in FROM clause! '
                        "Mend the name.",
                    }
                ],
                "warnings": [],
                "state": "finding",
            },
        ],
        "not_verified": [],
        "unreadable": [],
    }


def test_the_slowest_statements_are_named(program: Program, cases: Cases) -> None:
    slow = "select count(*) as n from range(3000) a, range(3000) b"
    cases(
        TWO
        + f"""
    - {{id: slow, tier: L1, question: "slow?", reference: {{sql: "{slow}"}}}}
    - {{id: quick, tier: L1, question: "quick?", reference: {{value: [1]}}}}
    """
    )
    (line,) = [x for x in program("verify").out.splitlines() if x[:7] == "slowest"]
    assert line.startswith("slowest: slow reference ")
    assert "quick" not in line


def test_the_support_desk_of_this_repository_is_all_fine(program: Program) -> None:
    ended = program("verify", "--project", str(ROOT))
    assert ended.status == 0
    assert remarks(ended.out, "finding") + remarks(ended.out, "warning") == []
    # 48 golden questions; two L4 and one L5 expect a refusal and hold no statement
    assert ended.out.splitlines()[-1] == "48 cases: 45 ok, 3 without a statement"
