"""The file given with --answers, and the agent that replays it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_bakery import Bakery

from pytest_dataeval.agents.replay import Answers, ReplayAgent
from pytest_dataeval.errors import FileErrors, HarnessBroken
from pytest_dataeval.records import Answer, TrialKey

KNOWN = {"desk": {"L1-count", "L2-teams"}, "shop": {"L1-count", "L3-net"}}

Write = Callable[..., Path]


def key(case: str, suite: str = "shop", **more: Any) -> TrialKey:
    axes = {"wording": 1, "agent": "replay", "arm": "none", "repeat": 1} | more
    return TrialKey(suite, case, **axes)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_lines(*lines: dict[str, Any] | str) -> Path:
        path = tmp_path / "answers.jsonl"
        texts = [x if isinstance(x, str) else json.dumps(x) for x in lines]
        path.write_text("\n".join(texts) + "\n", encoding="utf-8")
        return path

    return write_lines


def problems(path: Path) -> list[str]:
    with pytest.raises(FileErrors) as caught:
        Answers.load(path, KNOWN)
    return [str(p).removeprefix(f"{path}:") for p in caught.value.problems]


def test_only_the_case_is_needed(write: Write) -> None:
    answers = Answers.load(write({"case": "L3-net"}), KNOWN)
    recorded = answers.find(key("L3-net"))
    assert recorded is not None
    assert recorded.answer() == Answer(text=None)


def test_every_key_arrives_in_the_answer(write: Write) -> None:
    line = {
        "suite": "shop",
        "case": "L3-net",
        "text": "It is 275.",
        "sql": ["select 1", "select 275"],
        "tables": ["shop.orders"],
        "wording": 2,
        "arm": "catalog",
        "repeat": 3,
        "rewrite": "net revenue?",
        "stop_reason": "max_steps",
    }
    answers = Answers.load(write(line), KNOWN)
    recorded = answers.find(key("L3-net", wording=2, arm="catalog", repeat=3))
    assert recorded is not None
    assert recorded.answer() == Answer(
        "It is 275.",
        sql=("select 1", "select 275"),
        tables=("shop.orders",),
        rewrite="net revenue?",
        stop_reason="max_steps",
    )


@pytest.mark.parametrize(
    ("line", "trial", "found"),
    [
        ({}, {"wording": 4, "arm": "floor"}, True),
        ({}, {"repeat": 2}, False),
        ({"repeat": 2}, {"repeat": 2}, True),
        ({"wording": 2}, {"wording": 1}, False),
        ({"arm": "catalog"}, {"arm": "none"}, False),
        ({"arm": "none"}, {"wording": 3}, True),
        ({}, {"agent": "another-name"}, True),
    ],
)
def test_absent_wording_and_arm_match_all_an_absent_repeat_the_first(
    write: Write, line: dict[str, Any], trial: dict[str, Any], found: bool
) -> None:
    answers = Answers.load(write({"case": "L3-net", **line}), KNOWN)
    assert (answers.find(key("L3-net", **trial)) is not None) is found


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({}, {}),
        ({}, {"wording": 2}),
        ({"wording": 2}, {"arm": "none"}),
        ({"arm": "none"}, {"arm": "none", "repeat": 1}),
    ],
)
def test_two_lines_for_one_trial_are_an_error(
    write: Write, first: dict[str, Any], second: dict[str, Any]
) -> None:
    path = write({"case": "L3-net", **first}, "", {"case": "L3-net", **second})
    (problem,) = problems(path)
    assert problem.startswith("3:1: line 1 already answers a trial of case 'L3-net'")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"wording": 1}, {"wording": 2}),
        ({"arm": "none"}, {"arm": "floor"}),
        ({"repeat": 1}, {"repeat": 2}),
        ({"wording": 1, "arm": "none"}, {"wording": 2}),
    ],
)
def test_lines_that_no_trial_shares_stand_side_by_side(
    write: Write, first: dict[str, Any], second: dict[str, Any]
) -> None:
    path = write({"case": "L3-net", **first}, {"case": "L3-net", **second})
    assert len(Answers.load(path, KNOWN)) == 2


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ({"case": "L3-nett"}, "1:1: case: no suite has a case 'L3-nett'; did you"),
        ({"case": "L1-count"}, "1:1: suite: is missing, and case 'L1-count' is in"),
        ({"suite": "dsk", "case": "L1-count"}, "1:1: suite: unknown suite 'dsk'; did"),
        ({"suite": "desk", "case": "L3-net"}, "1:1: case: suite 'desk' has no case"),
        ({"text": "hello"}, "1:1: case: is missing"),
        ({"case": "L3-net", "answer": "7"}, "1:1: answer: unknown key"),
        ({"case": "L3-net", "sql": "select 1"}, '1:1: sql: is "select 1"; write a'),
        ({"case": "L3-net", "text": 7}, "1:1: text: is 7; write text in quotes"),
        ({"case": "L3-net", "repeat": 0}, "1:1: repeat: is 0; write a whole number"),
        ({"case": "L3-net", "wording": True}, "1:1: wording: is true; write a whole"),
        ('{"case": "L3-net", "case": "L3-net"}', "1:1: case: stands twice"),
        ('{"case": "L3-net"', "1:1: is not one JSON object on one line"),
        ('["L3-net"]', "1:1: is not a JSON object"),
        ("[" * 100_000, "1:1: is not one JSON object on one line"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(
    write: Write, line: dict[str, Any] | str, problem: str
) -> None:
    (found,) = problems(write(line))
    assert found.startswith(problem)


def test_all_problems_are_told_at_once(write: Write) -> None:
    path = write({"case": "L3-nett"}, {"case": "L3-net"}, {"cases": "L3-net"})
    assert [line.split(":")[0] for line in problems(path)] == ["1", "3"]


def test_a_missing_file_and_one_that_is_no_utf8_are_named(tmp_path: Path) -> None:
    assert "cannot be read" in problems(tmp_path / "absent.jsonl")[0]
    path = tmp_path / "latin.jsonl"
    path.write_bytes(b'{"case": "L3-net"}\n{"case": "L3-net", "text": "caf\xe9"}\n')
    assert problems(path)[0].startswith("2:1: is not UTF-8")


def test_line_separators_inside_a_text_end_no_line(write: Write) -> None:
    path = write('{"case": "L3-net", "text": "one\u2028two"}')
    recorded = Answers.load(path, KNOWN).find(key("L3-net"))
    assert recorded is not None
    assert recorded.text == "one\u2028two"


def test_the_agent_gives_back_what_was_recorded(write: Write) -> None:
    answers = Answers.load(write({"case": "L3-net", "text": "275"}), KNOWN)
    agent = ReplayAgent(answers, {"c1": key("L3-net")}.__getitem__)
    assert asyncio.run(agent.ask("?", Bakery())).text == "275"


def test_a_trial_without_a_line_is_a_fault_and_no_answer(write: Write) -> None:
    answers = Answers.load(write({"case": "L3-net", "arm": "catalog"}), KNOWN)
    agent = ReplayAgent(answers, {"c1": key("L3-net")}.__getitem__)
    with pytest.raises(HarnessBroken) as caught:
        asyncio.run(agent.ask("?", Bakery()))
    assert caught.value.what == "no_recorded_answer"
    assert "case 'L3-net', wording 1, arm 'none', repeat 1" in caught.value.detail
