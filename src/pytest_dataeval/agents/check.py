"""`assert_agent`: an author's agent against the contract, without a model's luck.

The agent is asked a few times with scripted tools. A paid agent is paid for
each of these asks.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_dataeval.agents.adapt import AdaptedAgent, adapt
from pytest_dataeval.agents.answers import complaint_of
from pytest_dataeval.records import Answer, Refusal, ToolResult, ToolSpec

QUESTION = "How many tickets are there?"
_NAME = re.compile(r"[a-z0-9_-]+")
_PROMPT = "Answer the question from the data that the tools give. State the figure."
_FIRST_FIGURE = 4711482
# How long a cancelled ask may take to end.
_GRACE_S = 5.0

Script = Callable[[str, Mapping[str, Any]], Awaitable[ToolResult]]


def assert_agent(
    agent: object, *, question: str = QUESTION, timeout_s: float = 60.0
) -> None:
    """Check `agent` (async or sync) against the agent contract.

    Asks it at most six times, each within `timeout_s`, with scripted tools
    (`list_tables`, `describe_table`, `run_query`). Raises AssertionError with a
    sentence that says what to mend:

    - it has `ask(question, context)`, and its optional attributes have their types;
    - it gives back an Answer whose fields have their types;
    - an error and a refusal of a tool are results to it, not its end;
    - it lets a cancellation through;
    - asks that overlap keep to their own tools, and nothing of one conversation is
      told in another.

    Must be called where no event loop runs, as in a plain test function.
    """
    name = getattr(agent, "name", None)
    _require(
        name is None or (isinstance(name, str) and _NAME.fullmatch(name)),
        f"its name is {name!r}; a name is made of a-z, 0-9, _ and -",
    )
    try:
        adapted = adapt(agent)
    except TypeError as error:
        raise AssertionError(str(error)) from error
    asyncio.run(_check(adapted, question, timeout_s))


async def _check(agent: AdaptedAgent, question: str, timeout_s: float) -> None:
    try:
        await _answers(agent, question, timeout_s)
        await _bears_failing_tools(agent, question, timeout_s)
        await _lets_cancellation_through(agent, question, timeout_s)
        await _keeps_conversations_apart(agent, question, timeout_s)
    finally:
        await agent.aclose()


async def _answers(agent: AdaptedAgent, question: str, timeout_s: float) -> None:
    answer = await _ask(
        agent, question, _Scripted("plain", _rows(_FIRST_FIGURE)), timeout_s
    )
    _assert_fields(answer)


async def _bears_failing_tools(
    agent: AdaptedAgent, question: str, timeout_s: float
) -> None:
    error = ToolResult("the source returned an error: no such table", is_error=True)
    message = "only statements that read are allowed"
    refused = ToolResult(
        f"query refused: {message}",
        is_error=True,
        structured={"refusal": {"kind": "guard", "rule": "read", "message": message}},
        refusal=Refusal("guard", "read", message),
    )
    for what, result in (("an error", error), ("a refusal", refused)):
        context = _Scripted(f"failing-{what[-5:]}", _always(result))
        try:
            answer = await _ask(agent, question, context, timeout_s)
        except AssertionError as failure:
            raise AssertionError(
                f"when its tools gave {what}: {failure}; such a result "
                "(is_error=True) is for the agent to read and to report"
            ) from failure
        _assert_fields(answer)


async def _lets_cancellation_through(
    agent: AdaptedAgent, question: str, timeout_s: float
) -> None:
    called = asyncio.Event()

    async def hang(name: str, arguments: Mapping[str, Any]) -> ToolResult:
        called.set()
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    context = _Scripted("cancelled", hang)
    asking = asyncio.ensure_future(agent.ask(question, context))
    waiting = asyncio.ensure_future(called.wait())
    await asyncio.wait(
        {asking, waiting}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED
    )
    waiting.cancel()
    if asking.done():
        # It calls no tool, so there was nothing to cancel it in.
        asking.exception()
        return
    asking.cancel()
    await asyncio.wait({asking}, timeout=_GRACE_S)
    _require(
        asking.done(),
        f"{_GRACE_S:g} seconds after its ask was cancelled it was still running; "
        "let asyncio.CancelledError through",
    )
    _require(
        asking.cancelled(),
        "it swallowed the cancellation of its ask, so a budget could not end it; "
        "let asyncio.CancelledError through (it is no Exception: look for bare "
        "except and except BaseException)",
    )


async def _keeps_conversations_apart(
    agent: AdaptedAgent, question: str, timeout_s: float
) -> None:
    figures = (918273, 564738)
    contexts = [_Scripted(f"apart-{n}", _rows(n)) for n in figures]
    answers = await asyncio.gather(
        *(_ask(agent, question, context, timeout_s) for context in contexts)
    )
    for answer, own in zip(answers, figures, strict=True):
        told = re.sub(r"[\s,.'_]", "", answer.text or "")
        for other in {_FIRST_FIGURE, *figures} - {own}:
            _require(
                str(other) not in told,
                f"one conversation's tools said {own}, but its answer tells {other} "
                "of another conversation; keep what belongs to one ask out of the "
                "agent object",
            )


async def _ask(
    agent: AdaptedAgent, question: str, context: _Scripted, timeout_s: float
) -> Answer:
    try:
        async with asyncio.timeout(timeout_s):
            return await agent.ask(question, context)
    except TimeoutError as error:
        raise AssertionError(
            f"ask() gave no answer within {timeout_s:g} seconds"
        ) from error
    except Exception as error:
        raise AssertionError(f"ask() raised {type(error).__name__}: {error}") from error


def _assert_fields(answer: Answer) -> None:
    complaint = complaint_of(answer)
    _require(complaint is None, complaint or "")
    _require(
        answer.text is not None or answer.sql,
        "Answer has neither text nor sql; give one of them",
    )


def _require(holds: object, message: str) -> None:
    # Not `assert`: the check must hold under `python -O` too.
    if not holds:
        raise AssertionError(message)


# ------------------------------------------------------------- scripted context


def _spec(name: str, description: str, **arguments: str) -> ToolSpec:
    schema = {
        "type": "object",
        "properties": {key: {"type": kind} for key, kind in arguments.items()},
        "required": list(arguments),
    }
    return ToolSpec("warehouse", name, description, schema)


_TOOLS = (
    _spec("list_tables", "List the tables."),
    _spec("describe_table", "Columns and types of one table.", table="string"),
    _spec("run_query", "Run one SQL SELECT and return its rows.", sql="string"),
)


@dataclass
class _Scripted:
    """A Context whose tools follow a script."""

    conversation: str
    script: Script
    persona: str | None = None
    system_prompt: str = _PROMPT
    tools: Sequence[ToolSpec] = _TOOLS
    max_steps: int = 16
    timeout_s: float = 60.0
    model: str | None = None
    effort: str | None = None
    names: frozenset[str] = field(default=frozenset(tool.name for tool in _TOOLS))

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        # Give way, so that asks which overlap really alternate.
        await asyncio.sleep(0)
        if name not in self.names:
            offered = ", ".join(sorted(self.names))
            message = f"there is no tool {name!r}; tools: {offered}"
            return ToolResult(message, is_error=True)
        return await self.script(name, arguments)


def _always(result: ToolResult) -> Script:
    async def script(name: str, arguments: Mapping[str, Any]) -> ToolResult:
        return result

    return script


def _rows(figure: int) -> Script:
    """A warehouse of one table, all of whose queries give `figure`."""

    async def script(name: str, arguments: Mapping[str, Any]) -> ToolResult:
        payload: dict[str, Any]
        match name:
            case "list_tables":
                payload = {"source": "desk", "tables": ["desk.tickets"]}
            case "describe_table":
                payload = {
                    "source": "desk",
                    "qualifiedName": "desk.tickets",
                    "columns": [{"name": "id", "type": "INTEGER"}],
                    "withheldColumns": 0,
                }
            case _:
                payload = {
                    "source": "desk",
                    "sql": str(arguments.get("sql", "")),
                    "tables": ["desk.tickets"],
                    "columns": ["tickets"],
                    "rows": [[figure]],
                    "rowCount": 1,
                    "truncated": False,
                    "elapsedMs": 1,
                }
        return ToolResult(json.dumps(payload), structured=payload)

    return script
