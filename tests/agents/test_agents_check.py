"""`assert_agent` passes what keeps the contract and names what breaks it."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from pytest_dataeval.agents.check import assert_agent
from pytest_dataeval.records import Answer


async def look_up(context: Any) -> Any:
    return await context.call_tool("run_query", {"sql": "select count(*) from t"})


class Good:
    """Reports the figure, or what the tool said instead."""

    async def ask(self, question: str, context: Any) -> Answer:
        result = await look_up(context)
        if result.is_error:
            return Answer(f"That failed: {result.text}")
        return Answer(f"There are {json.loads(result.text)['rows'][0][0]}.")


class GoodSync:
    name = "good-sync"

    def ask(self, question: str, context: Any) -> Answer:
        return Answer(context.call_tool("list_tables", {}).text)


class NeedsNoTools:
    async def ask(self, question: str, context: Any) -> Answer:
        return Answer("I do not know.")


@pytest.mark.parametrize("agent", [Good(), GoodSync(), NeedsNoTools()])
def test_agents_that_keep_the_contract(agent: Any) -> None:
    assert_agent(agent)


def test_it_closes_the_agent() -> None:
    closed: list[bool] = []

    class Closes(Good):
        async def aclose(self) -> None:
            closed.append(True)

    assert_agent(Closes())
    assert closed == [True]


class NoAsk:
    pass


class BadName(Good):
    name = "My Agent"


class BadFlag(Good):
    paid = None


class GivesText:
    async def ask(self, question: str, context: Any) -> Any:
        return "There are 7."


class GivesNothing:
    async def ask(self, question: str, context: Any) -> Answer:
        return Answer(None)


class SqlIsText:
    async def ask(self, question: str, context: Any) -> Answer:
        return Answer("7", sql="select 7")


class OddCost:
    async def ask(self, question: str, context: Any) -> Answer:
        return Answer("7", cost=-1.0)


class OddHops:
    async def ask(self, question: str, context: Any) -> Answer:
        return Answer("7", hops=1.5)  # type: ignore[arg-type]


class OddStop:
    async def ask(self, question: str, context: Any) -> Answer:
        return Answer("7", stop_reason="")


class OddUsage:
    async def ask(self, question: str, context: Any) -> Answer:
        return Answer("7", usage={"input_tokens": 3})  # type: ignore[arg-type]


class DiesOfErrors:
    async def ask(self, question: str, context: Any) -> Answer:
        result = await look_up(context)
        return Answer(str(json.loads(result.text)["rows"]))


class Swallows:
    async def ask(self, question: str, context: Any) -> Answer:
        try:
            result = await look_up(context)
        except BaseException:
            return Answer("never mind")
        return Answer(result.text)


class Remembers:
    """One conversation for all asks, kept on the object."""

    def __init__(self) -> None:
        self.history: list[str] = []

    async def ask(self, question: str, context: Any) -> Answer:
        result = await look_up(context)
        self.history.append(result.text)
        return Answer(" ".join(self.history))


class KeepsFirstContext:
    context: Any = None

    async def ask(self, question: str, context: Any) -> Answer:
        self.context = self.context or context
        return Answer((await look_up(self.context)).text)


class NeverEnds:
    async def ask(self, question: str, context: Any) -> Answer:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")


class BlocksItsThread:
    def ask(self, question: str, context: Any) -> Answer:
        time.sleep(3600)
        return Answer("late")


@pytest.mark.parametrize(
    ("agent", "sentence"),
    [
        (NoAsk(), "has no method ask"),
        (BadName(), "its name is 'My Agent'"),
        (BadFlag(), "paid is None; it must be True or False"),
        (GivesText(), "type str, not a pytest_dataeval.Answer"),
        (GivesNothing(), "neither text nor sql"),
        (SqlIsText(), "Answer.sql is 'select 7'; it must be a list"),
        (OddCost(), "Answer.cost is -1.0"),
        (OddHops(), "Answer.hops is 1.5"),
        (OddStop(), "Answer.stop_reason is ''"),
        (OddUsage(), "Answer.usage is {'input_tokens': 3}"),
        (DiesOfErrors(), "when its tools gave an error: ask() raised"),
        (Swallows(), "swallowed the cancellation"),
        (Remembers(), "of another conversation"),
        (KeepsFirstContext(), "of another conversation"),
    ],
)
def test_what_is_broken_is_named(agent: Any, sentence: str) -> None:
    with pytest.raises(AssertionError) as caught:
        assert_agent(agent)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("agent", [NeverEnds(), BlocksItsThread()])
def test_an_agent_that_does_not_answer_is_given_up(agent: Any) -> None:
    with pytest.raises(AssertionError, match="no answer within"):
        assert_agent(agent, timeout_s=0.2)
