"""What docs/agents.md shows, runs."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from fake_bakery import Bakery

from pytest_dataeval import assert_agent
from pytest_dataeval.agents.adapt import adapt
from pytest_dataeval.agents.replay import Answers
from pytest_dataeval.cases.load import load_case_file

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    """The names that the page's Python examples define, read from top to bottom."""
    names: dict[str, Any] = {}
    for block in re.findall(
        r"^ *```python\n(.*?)^ *```", PAGE, re.DOTALL | re.MULTILINE
    ):
        indent = len(block) - len(block.lstrip(" "))
        lines = (line[indent:] for line in block.splitlines())
        exec("\n".join(lines), names)
    return names


def text_of(agent: Any, question: str) -> str | None:
    return asyncio.run(adapt(agent).ask(question, Bakery())).text


def test_the_example_agent_answers(shown: dict[str, Any]) -> None:
    agent = shown["CountingAgent"]()
    assert text_of(agent, "How many orders are there?") == "There are 10."
    assert text_of(agent, "How many cakes are there?") == (
        "I cannot answer this: no table is called that."
    )


def test_the_sync_example_answers(shown: dict[str, Any]) -> None:
    assert text_of(shown["OneQuery"](), "?") == "It is 42."


@pytest.mark.parametrize("name", ["CountingAgent", "OneQuery"])
def test_the_examples_keep_the_contract(shown: dict[str, Any], name: str) -> None:
    assert_agent(shown[name]())


def test_the_check_that_the_page_shows_passes(shown: dict[str, Any]) -> None:
    shown["test_my_agent_keeps_the_contract"]()


def test_the_hook_that_the_page_shows_makes_the_agent(shown: dict[str, Any]) -> None:
    hook = shown["pytest_dataeval_agent"]
    assert isinstance(hook("counting", None), shown["CountingAgent"])
    assert hook("other", None) is None


def test_the_example_answers_fit_the_support_suite() -> None:
    loaded = load_case_file(ROOT / "cases" / "support.yaml")
    assert loaded is not None
    known = {"support": {case.case.id for case in loaded.cases}}
    answers = Answers.load(ROOT / "fixtures" / "answers.jsonl", known)
    assert len(answers) == 5
