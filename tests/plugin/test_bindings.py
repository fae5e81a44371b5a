"""Fixtures of a project that replace the plugin's own parts."""

from __future__ import annotations

from .conftest import SHOP, Project

OVERRIDE = """
    import pytest
    from pytest_dataeval import Answer

    class Sub:
        name = "the-sub-folder"
        needs_servers = False

        async def ask(self, question, context):
            return Answer(text="It is 42.")

    @pytest.fixture
    def dataeval_agent():
        with open("set-up.txt", "a") as file:
            file.write("set up" + chr(10))
        return Sub()
"""
SUB_CASES = """
    suite: sub
    cases:
      - {id: L1-sub, tier: L1, question: "wrong in the sub-folder?",
         reference: {value: [42]}}
      - {id: L2-sub, tier: L2, question: "wrong there as well?",
         reference: {value: [42]}}
"""


def test_an_override_is_asked_for_its_own_items_only(
    words: Project, mode: tuple[str, ...]
) -> None:
    words.write("cases/sub/conftest.py", OVERRIDE)
    words.cases(SUB_CASES, "cases/sub/sub.yaml")
    result = words.pytest("--agents", "mine", *mode)
    assert result.status == 1, result.text
    who = {e["nodeid"]: e["answered_by"] for e in result.events("attempt")}
    assert who == {
        "cases/sub/sub.yaml::L1-sub::mine.w1.none.r1": "the-sub-folder",
        "cases/sub/sub.yaml::L2-sub::mine.w1.none.r1": "the-sub-folder",
        "cases/words.yaml::L1-right::mine.w1.none.r1": "mine",
        "cases/words.yaml::L1-wrong::mine.w1.none.r1": "mine",
        "cases/words.yaml::L2-right::mine.w1.none.r1": "mine",
    }
    verdicts = result.verdicts()
    assert verdicts["cases/sub/sub.yaml::L1-sub::mine.w1.none.r1"] == "pass"
    assert verdicts["cases/words.yaml::L1-wrong::mine.w1.none.r1"] == "fail"
    # once an item, in its own set-up
    assert (words.root / "set-up.txt").read_text().splitlines() == ["set up"] * 2


def test_a_bound_item_is_not_asked_before_its_own_set_up(words: Project) -> None:
    words.write(
        "cases/conftest.py",
        """
        import pytest

        @pytest.fixture(autouse=True)
        def trace(request, dataeval_agent):
            with open("trace.txt", "a") as file:
                file.write("set-up " + request.node.parent.name + chr(10))
        """,
    )
    words.agent(
        """
        with open("trace.txt", "a") as file:
            file.write("ask " + question + chr(10))
        return Answer(text="It is 42.")
        """,
        attributes="needs_servers = False",
    )
    result = words.pytest("-q", "--agents", "mine")
    assert result.status == 0, result.text
    assert (words.root / "trace.txt").read_text().splitlines() == [
        "set-up L1-right",
        "ask right?",
        "set-up L1-wrong",
        "ask wrong?",
        "set-up L2-right",
        "ask right again?",
    ]


def test_a_warehouse_fixture_is_what_the_agent_and_the_scorer_read(
    shop: Project,
) -> None:
    shop.warehouse(SHOP + "delete from shop.orders where id > 2;", "other.duckdb")
    shop.write(
        "cases/conftest.py",
        """
        import pytest
        from pathlib import Path
        from pytest_dataeval.config import WarehouseConfig
        from pytest_dataeval.warehouse.base import open_warehouse

        @pytest.fixture(scope="session")
        def dataeval_warehouse():
            url = "duckdb+duckdb_sqlalchemy:///other.duckdb"
            config = WarehouseConfig(url=url)
            yield open_warehouse("other", config, url=url, rootdir=Path("."))
        """,
    )
    result = shop.pytest("-q", "-k", "L1-orders")
    assert result.status == 0, result.text
    (score,) = result.events("score")
    stored = (result.run / "results" / f"{score['reference_result']}.json").read_text()
    assert '"rows": [[2]]' in stored


def test_fixtures_for_a_users_own_test(shop: Project) -> None:
    shop.write(
        "tests/test_desk.py",
        """
        def test_tools(dataeval_mcp):
            names = {tool.name for tool in dataeval_mcp.tools}
            assert "run_query" in names
            result = dataeval_mcp.call("run_query", sql="select 40 + 2 as n")
            assert not result.is_error
            assert result.structured["rows"] == [[42]]

        def test_refusal(dataeval_mcp):
            result = dataeval_mcp.call("run_query", sql="delete from shop.orders")
            assert result.refusal.kind == "guard"

        def test_warehouse(dataeval_warehouse):
            result = dataeval_warehouse.run("select count(*) from shop.orders")
            assert result.rows == ((4,),)

        def test_token(dataeval_persona_token):
            assert dataeval_persona_token("nobody") is None

        def test_agent(dataeval_agent):
            assert dataeval_agent.name == "gold"
        """,
    )
    result = shop.pytest("-q", "tests")
    assert result.status == 0, result.text
    assert result.counts() == {"passed": 5}


OWN = """
    import pytest

    @pytest.mark.dataeval(suite="words", tier="L1")
    def test_mine(dataeval_trial, dataeval_answer):
        assert dataeval_trial.tier == "L1"
        assert "42" in dataeval_answer.text

    @pytest.mark.dataeval(suite="words")
    def test_short(dataeval_answer):
        assert len(dataeval_answer.text) < 100
"""


def test_own_tests_are_trials_of_a_suite_of_their_own(
    words: Project, mode: tuple[str, ...]
) -> None:
    words.write("tests/test_own.py", OWN)
    result = words.pytest("tests", "--agents", "mine", *mode)
    assert result.status == 1, result.text
    found = {(e["suite"], e["case"]): e["verdict"] for e in result.events("score")}
    assert found == {
        ("test_own.test_mine", "L1-right"): "pass",
        ("test_own.test_mine", "L1-wrong"): "fail",
        ("test_own.test_short", "L1-right"): "pass",
        # its own assert holds, but the instrument says that 7 is not 42
        ("test_own.test_short", "L1-wrong"): "fail",
        ("test_own.test_short", "L2-right"): "pass",
    }
    suites = {group["suite"] for group in result.summary["groups"]}
    assert suites == {"test_own.test_mine", "test_own.test_short"}


def test_an_own_tests_assert_can_fail_a_trial_that_scored_well(words: Project) -> None:
    words.write(
        "tests/test_own.py",
        """
        import pytest

        @pytest.mark.dataeval(suite="words", tier="L2")
        def test_polite(dataeval_answer):
            assert "please" in dataeval_answer.text
        """,
    )
    result = words.pytest("-q", "tests", "--agents", "mine")
    assert result.status == 1
    (score,) = result.events("score")
    assert (score["verdict"], score["reason"]) == ("fail", "user_check")


def test_an_own_test_without_its_marker_says_what_to_write(words: Project) -> None:
    words.write("tests/test_own.py", "def test_it(dataeval_answer):\n    pass\n")
    result = words.pytest("-q", "tests", "--agents", "mine")
    assert result.status in (2, 4)
    assert '@pytest.mark.dataeval(suite="..."' in result.text


def test_a_check_hook_turns_a_pass_into_a_fail(
    words: Project, mode: tuple[str, ...]
) -> None:
    words.write(
        "conftest.py",
        """
        def pytest_dataeval_check(trial, answer, score):
            if trial.tier == "L2":
                return "answers of tier L2 end in a full sentence"
        """,
    )
    result = words.pytest("--agents", "mine", *mode)
    assert result.status == 1
    (score,) = [e for e in result.events("score") if e["case"] == "L2-right"]
    assert (score["verdict"], score["reason"]) == ("fail", "user_check")
    assert len(result.events("attempt")) == 3


def test_an_agent_from_the_hook(words: Project, mode: tuple[str, ...]) -> None:
    words.write(
        "conftest.py",
        """
        from pytest_dataeval import Answer

        class Hooked:
            needs_servers = False
            async def ask(self, question, context):
                return Answer(text="It is 42.")

        def pytest_dataeval_agent(name, config):
            if name == "hooked":
                return Hooked()
        """,
    )
    result = words.pytest("--agents", "hooked", *mode)
    assert result.status == 0, result.text
    assert sorted(result.verdicts().values()) == ["pass"] * 3


def test_suites_of_a_warehouse_need_no_other_key(shop: Project) -> None:
    """The ten-line project: one DuckDB file, one case."""
    shop.cases(
        "warehouse: shop\ncases:\n"
        '  - {id: n, tier: L1, question: "How many orders?",\n'
        '     reference: {sql: "select count(*) as n from shop.orders"}}\n',
        "cases/shop.yaml",
    )
    result = shop.pytest()
    assert result.status == 0, result.text
