"""From a name to an agent."""

from __future__ import annotations

import asyncio
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from fake_bakery import Bakery

from pytest_dataeval.agents.adapt import AdaptedAgent
from pytest_dataeval.agents.gold import GoldTask
from pytest_dataeval.agents.load import GROUP, Services, known_agents, make_agent
from pytest_dataeval.agents.replay import Answers
from pytest_dataeval.config import AgentConfig
from pytest_dataeval.errors import HarnessBroken, UsageError
from pytest_dataeval.records import Answer, TrialKey

SERVICES = Services(
    gold=lambda conversation: GoldTask("abstain", gap=("moods",)),
    key=lambda conversation: TrialKey("shop", "L1-x", 1, "replay", "none", 1),
    answers=Answers(Path("answers.jsonl"), []),
)

MODULE = """
from pytest_dataeval import Answer

class Polite:
    paid = False
    def __init__(self, greeting="Hello"):
        self.greeting = greeting
    async def ask(self, question, context):
        return Answer(self.greeting)

class Outer:
    class Inner(Polite):
        pass

def factory(**options):
    return Polite(**options)

ready = Polite("Ready")
number = 7

def broken():
    raise KeyError("TOKEN")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("sys.path", list(__import__("sys").path))
    (tmp_path / "polite_agents.py").write_text(MODULE)
    (tmp_path / "torn_agents.py").write_text("import a_module_that_is_not_there")
    return tmp_path


def made(name: str, config: AgentConfig | None = None, **more: Any) -> AdaptedAgent:
    return make_agent(name, config, SERVICES, **{"entry_points": [], **more})


def text_of(agent: AdaptedAgent) -> str | None:
    return asyncio.run(agent.ask("?", Bakery())).text


def python(target: str, **more: Any) -> AgentConfig:
    return AgentConfig(python=target, **more)


@pytest.mark.parametrize(
    ("name", "needs_servers"), [("gold", True), ("lexical", True), ("replay", False)]
)
def test_built_in_agents_need_no_configuration(name: str, needs_servers: bool) -> None:
    agent = made(name)
    assert (agent.name, agent.paid, agent.waits) == (name, False, False)
    assert agent.needs_servers is needs_servers


def test_a_built_in_agent_may_have_another_name() -> None:
    assert text_of(made("proof", AgentConfig(builtin="gold"))) == (
        "I cannot answer this question: the data available has nothing on moods."
    )


def test_settings_of_a_built_in_agent_need_not_name_it() -> None:
    assert made("gold", AgentConfig(timeout_s=5.0)).name == "gold"


@pytest.mark.parametrize(
    ("target", "options", "text"),
    [
        ("polite_agents:Polite", {}, "Hello"),
        ("polite_agents:Polite", {"greeting": "Hi"}, "Hi"),
        ("polite_agents:Outer.Inner", {}, "Hello"),
        ("polite_agents:factory", {"greeting": "Hi"}, "Hi"),
        ("polite_agents:ready", {}, "Ready"),
    ],
)
def test_a_class_a_factory_or_an_instance(
    folder: Path, target: str, options: dict[str, Any], text: str
) -> None:
    agent = made("mine", python(target, options=options), import_paths=[folder])
    assert (agent.name, agent.paid) == ("mine", False)
    assert text_of(agent) == text


def test_the_configuration_says_whether_an_agent_is_paid(folder: Path) -> None:
    config = python("polite_agents:Polite", paid=True)
    assert made("mine", config, import_paths=[folder]).paid is True


def test_the_configuration_goes_before_a_built_in_agent(folder: Path) -> None:
    config = python("polite_agents:Polite")
    assert text_of(made("gold", config, import_paths=[folder])) == "Hello"


@pytest.mark.parametrize(
    ("target", "parts"),
    [
        ("no_such_module:Agent", ["no_such_module", "Install or mend"]),
        ("torn_agents:Agent", ["a_module_that_is_not_there", "torn_agents"]),
        ("polite_agents:Polit", ["no attribute 'Polit'", "did you mean 'Polite'?"]),
        ("polite_agents:number", ["object of type int", "Name a class or factory"]),
        ("polite_agents:broken", ["KeyError: 'TOKEN'", "Mend it"]),
        ("polite_agents:Outer", ["has no method ask"]),
    ],
)
def test_an_agent_that_cannot_be_made_names_place_and_remedy(
    folder: Path, target: str, parts: list[str]
) -> None:
    with pytest.raises(HarnessBroken) as caught:
        made("mine", python(target), import_paths=[folder])
    assert caught.value.what == "agent_broken"
    message = str(caught.value)
    for part in [f"agents.mine.python: {target}", *parts]:
        assert part in message


def test_options_that_an_agent_does_not_take_are_named(folder: Path) -> None:
    config = python("polite_agents:Polite", options={"colour": "red"})
    with pytest.raises(HarnessBroken, match="unexpected keyword argument 'colour'"):
        made("mine", config, import_paths=[folder])
    with pytest.raises(UsageError, match="takes no options; remove colour"):
        made("gold", AgentConfig(options={"colour": "red"}))
    config = python("polite_agents:ready", options={"colour": "red"})
    with pytest.raises(UsageError, match="remove the options"):
        made("mine", config, import_paths=[folder])


def test_an_installed_package_brings_an_agent(folder: Path, monkeypatch: Any) -> None:
    monkeypatch.syspath_prepend(folder)
    point = EntryPoint("polite", "polite_agents:Polite", GROUP)
    config = AgentConfig(options={"greeting": "Moin"})
    assert text_of(made("polite", config, entry_points=[point])) == "Moin"


def test_a_broken_entry_point_is_named(folder: Path, monkeypatch: Any) -> None:
    monkeypatch.syspath_prepend(folder)
    point = EntryPoint("torn", "torn_agents:Agent", GROUP)
    with pytest.raises(HarnessBroken, match="entry point torn = torn_agents:Agent"):
        made("torn", entry_points=[point])


def test_the_hook_is_asked_last_and_with_the_configuration() -> None:
    class Hooked:
        def ask(self, question: str, context: Any) -> Answer:
            return Answer("from the hook")

    asked: list[Any] = []

    def hook(name: str, config: AgentConfig | None) -> object | None:
        asked.append((name, config))
        return Hooked() if name == "hooked" else None

    config = AgentConfig(model="m")
    assert text_of(made("hooked", config, hook=hook)) == "from the hook"
    assert asked == [("hooked", config)]
    made("gold", hook=hook)
    assert len(asked) == 1
    with pytest.raises(UsageError, match="unknown agent 'other'"):
        made("other", hook=hook)


def test_a_hook_that_raises_is_named() -> None:
    def hook(name: str, config: AgentConfig | None) -> object | None:
        raise RuntimeError("no network")

    with pytest.raises(HarnessBroken, match=r"pytest_dataeval_agent\('mine'\)"):
        made("mine", hook=hook)


def test_an_unknown_name_lists_the_known_ones_and_the_nearest() -> None:
    point = EntryPoint("polite", "polite_agents:Polite", GROUP)
    with pytest.raises(UsageError) as caught:
        made("goldd", configured=["claude"], entry_points=[point])
    assert str(caught.value) == (
        "unknown agent 'goldd'; known: claude, gold, lexical, polite, replay; "
        "did you mean 'gold'?"
    )
    assert known_agents(["claude"], [point]) == [
        "claude",
        "gold",
        "lexical",
        "polite",
        "replay",
    ]


def test_replay_without_a_file_says_which_option_is_missing() -> None:
    services = Services(SERVICES.gold, SERVICES.key)
    with pytest.raises(UsageError, match="--answers FILE"):
        make_agent("replay", None, services, entry_points=[])
