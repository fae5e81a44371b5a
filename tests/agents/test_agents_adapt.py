"""Async and sync agents look alike to the engine."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from fake_bakery import Bakery

from pytest_dataeval.agents.adapt import AdaptedAgent, ConversationOver, adapt
from pytest_dataeval.records import Answer, ToolResult

COUNT = {"sql": "select count(*) from shop.orders"}


class Async:
    async def ask(self, question: str, context: Any) -> Answer:
        result = await context.call_tool("run_query", COUNT)
        return Answer(result.text)


class Sync:
    def ask(self, question: str, context: Any) -> Answer:
        return Answer(context.call_tool("run_query", COUNT).text)


@pytest.mark.parametrize("agent", [Async(), Sync()])
def test_both_kinds_call_tools_and_answer(agent: Any) -> None:
    bakery = Bakery()
    answer = asyncio.run(adapt(agent).ask("How many orders?", bakery))
    assert answer.text is not None
    assert '"rows": [[10]]' in answer.text
    assert [call.name for call in bakery.calls] == ["run_query"]


def test_a_sync_context_tells_what_the_context_tells() -> None:
    seen: dict[str, Any] = {}

    class Looks:
        def ask(self, question: str, context: Any) -> Answer:
            for name in ("conversation", "persona", "system_prompt", "max_steps"):
                seen[name] = getattr(context, name)
            for name in ("timeout_s", "model", "effort"):
                seen[name] = getattr(context, name)
            seen["tools"] = [tool.name for tool in context.tools]
            return Answer("seen")

    bakery = Bakery(catalog=None, system_prompt="Be brief.", model="m", effort="low")
    asyncio.run(adapt(Looks()).ask("?", bakery))
    assert seen == {
        "conversation": "c1",
        "persona": "alice",
        "system_prompt": "Be brief.",
        "max_steps": 16,
        "timeout_s": 30.0,
        "model": "m",
        "effort": "low",
        "tools": ["list_tables", "describe_table", "run_query"],
    }


def test_a_sync_agent_does_not_hold_up_the_loop() -> None:
    both_asked = threading.Barrier(2, timeout=10)

    class Waits:
        def ask(self, question: str, context: Any) -> Answer:
            # Passes only when the other ask is under way at the same time.
            both_asked.wait()
            return Answer(question)

    async def ask_both() -> list[Answer]:
        agent = adapt(Waits())
        return await asyncio.gather(agent.ask("a", Bakery()), agent.ask("b", Bakery()))

    assert [answer.text for answer in asyncio.run(ask_both())] == ["a", "b"]


def test_a_cancelled_sync_ask_ends_and_its_thread_gets_no_more_tools() -> None:
    ended: list[Exception] = []
    asked, cancelled, noticed = (threading.Event() for _ in range(3))

    class Stubborn:
        def ask(self, question: str, context: Any) -> Answer:
            asked.set()
            cancelled.wait(10)
            try:
                context.call_tool("run_query", COUNT)
            except ConversationOver as error:
                ended.append(error)
            noticed.set()
            return Answer("too late")

    async def cancel_it() -> None:
        task = asyncio.ensure_future(adapt(Stubborn()).ask("?", bakery))
        await asyncio.to_thread(asked.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        cancelled.set()
        await asyncio.to_thread(noticed.wait, 10)

    bakery = Bakery()
    asyncio.run(cancel_it())
    assert "had ended" in str(ended[0])
    assert bakery.calls == []


def test_a_tool_call_in_flight_is_cancelled_with_its_ask() -> None:
    outcome: list[str] = []
    over = threading.Event()

    class Hangs(Bakery):
        async def call_tool(self, name: str, arguments: Any) -> ToolResult:
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                outcome.append("tool cancelled")
            raise AssertionError("unreachable")

    class Calls:
        def ask(self, question: str, context: Any) -> Answer:
            try:
                context.call_tool("run_query", COUNT)
            except ConversationOver:
                outcome.append("agent told")
            over.set()
            return Answer("too late")

    async def cancel_it() -> None:
        task = asyncio.ensure_future(adapt(Calls()).ask("?", Hangs()))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(over.wait, 10)

    started = asyncio.Event()
    asyncio.run(cancel_it())
    assert sorted(outcome) == ["agent told", "tool cancelled"]


@pytest.mark.parametrize("value", ["text", None, {"text": "a"}])
def test_what_is_no_answer_is_the_agents_fault(value: Any) -> None:
    class Careless:
        def ask(self, question: str, context: Any) -> Any:
            return value

    with pytest.raises(TypeError, match=r"not a pytest_dataeval\.Answer"):
        asyncio.run(adapt(Careless(), "careless").ask("?", Bakery()))


def test_what_an_agent_raises_is_raised() -> None:
    class Raises:
        def ask(self, question: str, context: Any) -> Answer:
            raise ValueError("no key")

    with pytest.raises(ValueError, match="no key"):
        asyncio.run(adapt(Raises()).ask("?", Bakery()))


def test_sys_exit_in_an_agent_does_not_end_the_session() -> None:
    class Exits:
        async def ask(self, question: str, context: Any) -> Answer:
            raise SystemExit(3)

    with pytest.raises(RuntimeError, match=r"called sys\.exit\(3\)"):
        asyncio.run(adapt(Exits()).ask("?", Bakery()))


def test_attributes_are_the_agents_own_or_the_defaults() -> None:
    class Free(Async):
        name = "free-one"
        paid = False
        waits = False

    free, plain = adapt(Free()), adapt(Async())
    assert (free.name, free.paid, free.needs_servers, free.waits) == (
        "free-one",
        False,
        True,
        False,
    )
    assert (plain.name, plain.paid, plain.needs_servers, plain.waits) == (
        "async",
        True,
        True,
        True,
    )


def test_adapting_twice_changes_nothing_but_a_name() -> None:
    once = adapt(Async(), "a")
    assert adapt(once) is once
    renamed = adapt(once, "b")
    assert (once.name, renamed.name) == ("a", "b")
    assert asyncio.run(renamed.ask("?", Bakery())).text is not None


def test_an_object_without_ask_is_told_what_an_agent_is() -> None:
    with pytest.raises(TypeError, match=r"has no method ask\(question, context\)"):
        AdaptedAgent(object(), "mine")


def test_an_attribute_of_the_wrong_type_is_refused() -> None:
    class Odd(Async):
        paid = "no"

    with pytest.raises(TypeError, match="it must be True or False"):
        adapt(Odd())


@pytest.mark.parametrize("is_async", [True, False])
def test_closing_closes_the_authors_object(is_async: bool) -> None:
    closed: list[str] = []

    class Closes(Async):
        if is_async:

            async def aclose(self) -> None:
                closed.append("async")
        else:

            def aclose(self) -> None:
                closed.append("sync")

    asyncio.run(adapt(Closes()).aclose())
    assert closed == ["async" if is_async else "sync"]
