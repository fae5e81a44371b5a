"""Every way in which a run can lie ends in a named state with its remedy.

Each test breaks one thing, and asks for the state, the exit status, a sentence
that names the place and the remedy, and that nothing that had ended is lost.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from .conftest import SHOP_CASES, SHOP_CONFIG, Project, needs_xdist

STDIO = """
    warehouses:
      shop: {{url: "duckdb+duckdb_sqlalchemy:///data.duckdb"}}
    servers:
      desk:
        command: ["{python}", server.py]
        role: warehouse
        tools: [run_query, list_tables]
        connect_timeout_s: 3
"""


def stdio_server(project: Project, body: str) -> None:
    project.write("server.py", body)
    project.config(STDIO.format(python=sys.executable))


def test_a_missing_secret(shop: Project, mode: tuple[str, ...]) -> None:
    shop.config(
        'warehouses:\n  shop: {url: "duckdb+duckdb_sqlalchemy:///${SHOP_FILE}"}\n'
    )
    result = shop.pytest(*mode)
    assert result.status == 6
    if "no:terminal" in mode:
        return
    assert "secret_missing" in result.text
    assert "SHOP_FILE is not set" in result.text
    assert "warehouses.shop.url" in result.text
    assert ".env" in result.text


def test_an_empty_secret_is_a_missing_one(shop: Project) -> None:
    shop.config(
        'warehouses:\n  shop: {url: "duckdb+duckdb_sqlalchemy:///${SHOP_FILE}"}\n'
    )
    result = shop.pytest(SHOP_FILE="")
    assert result.status == 6
    assert "SHOP_FILE is empty" in result.text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--arms", "catalgo"), ("unknown arm", "catalgo", "catalog", "floor")),
        (("--agents", "glod"), ("glod", "gold", "lexical")),
        (("--dataeval-profile", "nihgtly"), ("nihgtly", "nightly")),
    ],
)
def test_an_unknown_name_is_a_usage_error_with_the_nearest(
    shop: Project, options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    shop.config(SHOP_CONFIG + "    profiles:\n      nightly: {repeats: 3}\n")
    result = shop.pytest(*options)
    assert result.status == 4, result.text
    for word in words:
        assert word in result.text
    assert "Traceback" not in result.text


def test_an_unknown_warehouse_names_the_file(shop: Project) -> None:
    shop.cases(SHOP_CASES.replace("warehouse: shop", "warehouse: shopp"))
    result = shop.pytest()
    assert result.status == 4
    assert "shopp" in result.text
    assert "did you mean 'shop'" in result.text
    assert "shop.yaml" in result.text


def test_a_server_that_exits_at_start(shop: Project) -> None:
    stdio_server(shop, "import sys\nsys.exit('no licence')\n")
    result = shop.pytest("-q")
    assert result.status == 6
    assert "server_unreachable" in result.text
    assert "desk" in result.text
    assert "no licence" in result.text


def test_a_server_that_hangs(shop: Project) -> None:
    stdio_server(shop, "import time\ntime.sleep(600)\n")
    result = shop.pytest("-q")
    assert result.status == 6
    assert "server_timeout" in result.text
    assert "desk" in result.text


LACKING = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("desk", log_level="ERROR")

@server.tool()
def list_tables() -> str:
    return "[]"

server.run("stdio")
"""


def test_a_server_that_lacks_an_expected_tool(shop: Project) -> None:
    stdio_server(shop, LACKING)
    result = shop.pytest("-q")
    assert result.status == 6
    assert "tool_missing" in result.text
    assert "run_query" in result.text


def test_an_unreachable_warehouse(shop: Project) -> None:
    (shop.root / "data.duckdb").unlink()
    result = shop.pytest("-q")
    assert result.status == 6
    assert "warehouse_unreachable" in result.text
    assert "data.duckdb" in result.text
    assert "setup" in result.text
    assert not (shop.root / "data.duckdb").exists()


def test_an_agent_that_raises_is_a_fault_and_asked_once_more(
    words: Project, mode: tuple[str, ...]
) -> None:
    words.agent(
        """
        with open("asked.txt", "a") as file:
            file.write(question + chr(10))
        if "wrong" in question:
            raise RuntimeError("quota of the model is used up")
        return Answer(text="It is 42.")
        """,
        attributes="needs_servers = False",
    )
    result = words.pytest("--agents", "mine", *mode)
    assert result.status == 6
    asked = (words.root / "asked.txt").read_text().splitlines()
    assert sorted(asked) == ["right again?", "right?", "wrong?", "wrong?"]
    assert list(result.faults().values()) == ["agent_error"]
    assert sorted(result.verdicts().values()) == ["pass", "pass"]
    assert result.info["status"] == "incomplete"
    (fault,) = result.events("fault")
    assert "quota of the model is used up" in fault["detail"]
    if "no:terminal" not in mode:
        assert "quota of the model is used up" in result.out


def test_an_agent_that_times_out_is_a_miss_and_asked_once(words: Project) -> None:
    words.config("agents:\n  mine: {python: 'mine_agent:Agent', timeout_s: 0.3}\n")
    words.agent(
        """
        if "wrong" in question:
            with open("asked.txt", "a") as file:
                file.write(question + chr(10))
            await asyncio.sleep(60)
        return Answer(text="It is 42.")
        """,
        attributes="needs_servers = False",
    )
    result = words.pytest("-q", "--agents", "mine")
    assert result.status == 1
    assert (words.root / "asked.txt").read_text().splitlines() == ["wrong?"]
    (attempt,) = [e for e in result.events("attempt") if e["case"] == "L1-wrong"]
    assert attempt["stop_reason"] == "timeout"
    (score,) = [e for e in result.events("score") if e["case"] == "L1-wrong"]
    assert (score["verdict"], score["outcome"]) == ("fail", "no_answer")
    assert result.info["status"] == "complete"


def test_an_agent_that_will_not_be_cancelled_cannot_hold_the_run(
    words: Project,
) -> None:
    words.config("agents:\n  mine: {python: 'mine_agent:Agent', timeout_s: 0.3}\n")
    words.agent(
        """
        if "wrong" not in question:
            return Answer(text="It is 42.")
        while True:
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                pass
        """,
        attributes="needs_servers = False",
    )
    result = words.pytest("-q", "--agents", "mine", timeout_s=60)
    assert result.status == 1
    assert sorted(result.verdicts().values()) == ["fail", "pass", "pass"]


def test_an_agent_that_returns_no_answer_is_a_fault(words: Project) -> None:
    words.agent("return 'It is 42.'", attributes="needs_servers = False")
    result = words.pytest("-q", "--agents", "mine", "-k", "L1-right")
    assert result.status == 6
    assert "not a pytest_dataeval.Answer" in result.text


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("select amuont from shop.orders", "reference_failed"),
        ("select 1 as n where false", "reference_empty"),
        ("select null::int as n", "reference_empty"),
    ],
)
def test_a_reference_that_gives_nothing_is_unscored_and_a_fault(
    shop: Project, sql: str, reason: str, mode: tuple[str, ...]
) -> None:
    cases = SHOP_CASES.replace("select count(*) as orders from shop.orders", sql)
    shop.cases(cases)
    result = shop.pytest(*mode)
    assert result.status == 6, result.text
    (score,) = [e for e in result.events("score") if e["case"] == "L1-orders"]
    assert (score["verdict"], score["reason"]) == ("unscored", reason)
    if "no:terminal" not in mode:
        assert reason in result.out
        assert result.counts()["fault"] == 1
    passed = [k for k, v in result.verdicts().items() if v == "pass"]
    assert len(passed) == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_stops_the_run_and_keeps_what_is_written(words: Project) -> None:
    words.write(
        "conftest.py",
        """
        import errno, os, pytest

        @pytest.fixture(autouse=True)
        def full_disk(request, monkeypatch):
            if "L2-right" in request.node.nodeid:
                # from here on the ledger's file is a full device
                from pytest_dataeval.keys import SESSION
                run = request.config.stash[SESSION].recording.run
                os.dup2(os.open("/dev/full", os.O_WRONLY), run._file)
            yield
        """,
    )
    result = words.pytest("-q", "--agents", "mine", "--concurrency", "1")
    assert result.status == 6, result.text
    assert "ledger_unwritable" in result.text
    assert "No space left" in result.text
    kept = [e["case"] for e in result.events("score")]
    assert kept == ["L1-right", "L1-wrong"]
    assert result.info["status"] == "incomplete"


def test_a_run_folder_that_cannot_be_made(words: Project) -> None:
    (words.root / "taken").write_text("a file, not a folder")
    result = words.pytest("-q", "--agents", "mine", "--run-dir", "taken/run")
    assert result.status == 6, result.text
    assert "ledger_unwritable" in result.text
    assert "taken" in result.text


def test_a_run_folder_that_is_not_empty_is_a_usage_error(words: Project) -> None:
    words.write("full/something.txt", "x")
    result = words.pytest("-q", "--agents", "mine", "--run-dir", "full")
    assert result.status == 4
    assert "not empty" in result.text
    assert "--resume" in result.text


SLOW = """
    if "wrong" in question:
        open("waiting", "w").close()
        await asyncio.sleep(60)
    return Answer(text="It is 42.")
"""


def _two_scored(root: Path) -> bool:
    ledgers = list(root.glob(".dataeval/runs/*/events.jsonl"))
    text = ledgers[0].read_text() if ledgers else ""
    return (root / "waiting").exists() and text.count('"score"') >= 1


def test_ctrl_c_keeps_finished_trials(words: Project) -> None:
    words.agent(SLOW, attributes="needs_servers = False")
    result = words.interrupted(_two_scored, signal.SIGINT, "-v", "--agents", "mine")
    assert result.status == 2, result.text
    assert result.verdicts() == {"cases/words.yaml::L1-right::mine.w1.none.r1": "pass"}
    assert result.info["status"] == "incomplete"
    assert "interrupted" in result.info["reason"]
    assert f"--resume .dataeval/runs/{result.run.name}" in result.out


def test_kill_9_keeps_finished_trials_and_the_run_says_incomplete(
    words: Project,
) -> None:
    from pytest_dataeval.ledger.read import read_run_info

    words.agent(SLOW, attributes="needs_servers = False")
    result = words.interrupted(_two_scored, signal.SIGKILL, "--agents", "mine")
    assert result.status == -signal.SIGKILL
    assert list(result.verdicts().values()) == ["pass"]
    assert read_run_info(result.run).status == "incomplete"
    # and the run goes on: what ended is not asked again
    words.agent(
        """
        with open("asked.txt", "a") as file:
            file.write(question + chr(10))
        return Answer(text="It is 42.")
        """,
        attributes="needs_servers = False",
    )
    resumed = words.pytest("-q", "--agents", "mine", "--resume", str(result.run))
    assert resumed.status == 0, resumed.text
    assert "right?" not in (words.root / "asked.txt").read_text().splitlines()
    assert resumed.info["status"] == "complete"
    assert sorted(resumed.verdicts().values()) == ["pass", "pass", "pass"]


def test_a_resumed_run_asks_only_what_is_missing(
    words: Project, mode: tuple[str, ...]
) -> None:
    words.agent(
        """
        with open("asked.txt", "a") as file:
            file.write(question + chr(10))
        if "wrong" in question and not __import__("os").path.exists("mended"):
            raise RuntimeError("no quota")
        return Answer(text="It is 42.")
        """,
        attributes="needs_servers = False",
    )
    first = words.pytest("--agents", "mine", *mode)
    assert first.status == 6
    (words.root / "mended").touch()
    (words.root / "asked.txt").unlink()
    again = words.pytest("--agents", "mine", "--resume", str(first.run), *mode)
    assert again.status == 0, again.text
    assert (words.root / "asked.txt").read_text().splitlines() == ["wrong?"]
    assert again.info["status"] == "complete"
    assert len(again.events("score")) == 3


def test_a_run_of_other_options_cannot_be_resumed(words: Project) -> None:
    first = words.pytest("-q", "--agents", "mine")
    again = words.pytest(
        "-q", "--agents", "mine", "--repeats", "2", "--resume", str(first.run)
    )
    assert again.status == 4
    assert "plan_sha256" in again.text
    assert first.info["status"] == "complete"


@needs_xdist
def test_a_worker_that_is_killed_is_a_fault_of_its_trial(words: Project) -> None:
    words.agent(
        """
        import os
        if "wrong" in question:
            os.kill(os.getpid(), 9)
        return Answer(text="It is 42.")
        """,
        attributes="needs_servers = False",
    )
    result = words.pytest("--agents", "mine", "--repeats", "2", "-n", "2")
    assert result.status == 6, result.text
    faults = result.faults()
    assert set(faults.values()) == {"worker_lost"}
    assert {nodeid.split("::")[1] for nodeid in faults} == {"L1-wrong"}
    assert sorted(result.verdicts().values()) == ["pass"] * 4
    assert result.info["status"] == "incomplete"


def test_minus_x_cancels_what_is_ahead_and_keeps_what_ended(words: Project) -> None:
    words.agent(
        """
        if "again" in question:
            await asyncio.sleep(60)
        return Answer(text="It is 7.")
        """,
        attributes="needs_servers = False",
    )
    result = words.pytest("-x", "--agents", "mine", timeout_s=40)
    assert result.status == 1
    assert list(result.verdicts().values()) == ["fail"]
    # the second was asked ahead: its answer is kept, and scored on resume
    attempts = [e["case"] for e in result.events("attempt")]
    assert attempts == ["L1-right", "L1-wrong"]
    assert result.info["status"] == "incomplete"


def test_unwritable_means_unwritable_for_root_too(words: Project) -> None:
    """A read-only folder does not stop root, so the folder is one of /proc."""
    if not os.path.isdir("/proc/self"):
        pytest.skip("no /proc here")
    result = words.pytest("-q", "--agents", "mine", "--run-dir", "/proc/self/run")
    assert result.status == 6
    assert "ledger_unwritable" in result.text
