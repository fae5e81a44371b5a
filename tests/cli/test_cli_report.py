"""`pytest-dataeval report`: what the session said, from the run folder alone."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_dataeval.ledger.events import attempt_event, fault_event, score_event
from pytest_dataeval.ledger.read import Planned, load
from pytest_dataeval.ledger.run import Run
from pytest_dataeval.ledger.summary import summarise
from pytest_dataeval.records import Attempt, Score, TrialKey
from pytest_dataeval.report.terminal import lines

Program = Callable[..., Any]

RUN = Path(".dataeval/runs/20261201-120000-3f2a")


def key(case: str) -> TrialKey:
    return TrialKey("shop", case, 1, "mine", "none", 1)


def score(verdict: str) -> Score:
    reason = None if verdict == "pass" else "wrong_rows"
    outcome = "correct" if verdict == "pass" else "wrong"
    return Score(verdict, outcome, reason, "", instrument=1, reference_revision=1)


def a_run(verdicts: dict[str, str]) -> Run:
    """A run that is still open; case id -> verdict, `fault`, or `` for not run."""
    run = Run.create(RUN, {"instrument": 1})
    run.write_plan([Planned(key(case), case[:2], f"c::{case}") for case in verdicts])
    for case, verdict in verdicts.items():
        if verdict == "fault":
            run.append(fault_event(key(case), "server_lost", "shop", "it went away"))
        elif verdict:
            attempt = Attempt("text", ms=1500.0)
            run.append(attempt_event(key(case), attempt, transcript="t", sha256="s"))
            run.append(score_event(key(case), score(verdict)))
    return run


@pytest.fixture(autouse=True)
def in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")


def test_a_complete_run(program: Program) -> None:
    a_run({"L1-a": "pass", "L1-b": "fail"}).finish("complete")
    ended = program("report", str(RUN))
    assert ended.status == 0
    assert ended.err == ""
    # 1 of 2: Wilson's interval at 95% is 9.5 to 90.5
    assert ended.out.splitlines() == [
        "run .dataeval/runs/20261201-120000-3f2a: complete",
        "  trials: 2 planned, 2 asked, 2 scored",
        "",
        "agent mine, arm none",
        "  L1      1/2   50.0%  9.5-90.5",
        "  per ask: 0 tool calls, 1.50 s (medians)",
        "  fails: wrong_rows 1",
    ]


def test_these_are_the_lines_of_the_session(program: Program) -> None:
    a_run({"L1-a": "pass", "L1-b": "fail", "L2-c": "fault"}).finish("complete")
    # what a session prints, from the same folder and at pytest's width
    session = lines(summarise(load(RUN)), str(RUN), width=100)
    assert program("report", f"{RUN}/").out.splitlines() == session


def test_an_incomplete_run_says_so(program: Program) -> None:
    a_run({"L1-a": "pass", "L1-b": ""}).finish("incomplete", "1 of 2 are missing")
    ended = program("report", str(RUN))
    assert ended.status == 0
    first, second, *_ = ended.out.splitlines()
    assert first == f"run {RUN}: incomplete (1 of 2 are missing)"
    assert second == "  trials: 2 planned, 1 asked, 1 scored, 1 not run"


def test_a_run_whose_process_was_killed_is_incomplete(program: Program) -> None:
    a_run({"L1-a": "pass", "L1-b": ""}).close()
    first = program("report", str(RUN)).out.splitlines()[0]
    assert first == f"run {RUN}: incomplete (the process that wrote it ended early)"


def test_a_run_that_is_under_way_says_so(program: Program) -> None:
    run = a_run({"L1-a": "pass", "L1-b": ""})
    first = program("report", str(RUN)).out.splitlines()[0]
    run.close()
    assert first == f"run {RUN}: running"


@pytest.mark.parametrize("verdict", ["fault", "", "declined", "unscored"])
def test_a_run_in_which_nothing_was_scored_is_not_measured(
    program: Program, verdict: str
) -> None:
    a_run({"L1-a": verdict}).finish("incomplete")
    assert program("report", str(RUN)).status == 6
    assert program("report", str(RUN), "--json").status == 6


def test_the_summary_as_json(program: Program) -> None:
    a_run({"L1-a": "pass", "L1-b": "fail"}).finish("complete")
    ended = program("report", str(RUN), "--json")
    assert ended.status == 0
    summary = json.loads(ended.out)
    assert (summary["schema"], summary["status"]) == (1, "complete")
    assert (summary["tally"]["scored"], summary["tally"]["passed"]) == (2, 1)


def test_a_terminal_too_narrow_to_be_one_counts_as_80_columns(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_run({"L1-a": "pass", "L1-b": "fail", "L2-c": "fault"}).finish("complete")
    monkeypatch.setenv("COLUMNS", "10")
    assert (
        "  trials: 3 planned, 2 asked, 2 scored, 1 fault"
        in program("report", str(RUN)).out.splitlines()
    )


@pytest.mark.parametrize("make", ["nothing", "folder", "file"])
def test_what_is_no_run_folder(program: Program, make: str) -> None:
    path = Path("run")
    if make == "folder":
        path.mkdir()
    elif make == "file":
        path.write_text("{}")
    ended = program("report", "run")
    assert ended.status == 4
    assert ended.err.startswith("pytest-dataeval: run is no run folder")


def test_a_damaged_ledger_is_not_measured(program: Program) -> None:
    a_run({"L1-a": "pass"}).finish("complete")
    events = RUN / "events.jsonl"
    events.write_text("{broken\n" + events.read_text())
    ended = program("report", str(RUN))
    assert ended.status == 6
    assert "ledger_damaged" in ended.err
    assert f"{events}:1" in ended.err


@pytest.mark.parametrize("text", ["{}", "[]", '{"schema": 1}'])
def test_a_run_json_of_another_program(program: Program, text: str) -> None:
    Path("run.json").write_text(text)
    ended = program("report", ".")
    assert ended.status == 6
    assert "is not of the form that a run has" in ended.err


def test_a_session_and_the_report_of_its_run_print_the_same(
    program: Program, shop: Path, cases: Callable[..., Path]
) -> None:
    cases(
        """
    - id: L1-orders
      tier: L1
      question: "How many orders are there?"
      reference: {sql: "select count(*) as orders from shop.orders"}
    """
    )
    (shop / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:randomly", "cases"]
    session = subprocess.run(command, capture_output=True, text=True, check=False)
    assert session.returncode == 0, session.stdout + session.stderr
    (run,) = Path(".dataeval/runs").iterdir()
    ended = program("report", str(run))
    assert ended.status == 0
    assert ended.out in session.stdout
    assert ended.out.startswith(f"run {run}: complete\n")
