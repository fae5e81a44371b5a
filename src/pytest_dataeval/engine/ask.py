"""One ask: a fresh conversation, an integrity check, a budget, a record.

Whatever goes wrong ends in a named state: our failures are faults, the agent's
own (a timeout, no answer) are attempts that say so.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pytest_dataeval.errors import HarnessBroken
from pytest_dataeval.records import (
    Answer,
    Attempt,
    Statement,
    ToolResult,
    ToolSpec,
)

if TYPE_CHECKING:
    from pytest_dataeval.agents.adapt import AdaptedAgent
    from pytest_dataeval.mcp.toolbox import Toolbox

#: Share of an ask's budget that others may take from it before a timeout is ours.
BLOCKED_SHARE = 0.1

#: How long an agent may take to end after it was cancelled.
CANCEL_GRACE_S = 5.0


@dataclass(frozen=True)
class Fault:
    """Our failure in one trial: it stays unscored and is asked again on resume."""

    what: str
    where: str
    detail: str

    @classmethod
    def of(cls, error: HarnessBroken) -> Fault:
        detail = f"{error.detail} {error.remedy}".rstrip()
        return cls(error.what, error.where, detail)


@dataclass(frozen=True)
class Asked:
    """The end of an ask: an attempt or a fault, with the agent's transcript.

    `live` is what a live reference gave before and after.
    """

    attempt: Attempt | None
    fault: Fault | None
    transcript: Sequence[Mapping[str, Any]] = ()
    live: tuple[Any, Any] | None = None


@dataclass
class AskContext:
    """What an agent is given for one ask; it tells no case, tier or reference."""

    conversation: str
    persona: str | None
    system_prompt: str
    tools: Sequence[ToolSpec]
    max_steps: int
    timeout_s: float
    model: str | None = None
    effort: str | None = None
    toolbox: Toolbox | None = field(default=None, repr=False)
    broken: HarnessBroken | None = field(default=None, repr=False)

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None
    ) -> ToolResult:
        """Call a tool of the arm; what the tool says is data, also when it is no."""
        if self.toolbox is None:
            return ToolResult(f"there is no tool {name!r} in this session", True)
        try:
            return await self.toolbox.call(name, dict(arguments or {}))
        except HarnessBroken as error:
            # kept even if the agent swallows it: the ask cannot be scored
            self.broken = error
            raise


@dataclass(frozen=True)
class Terms:
    """What an ask is bound to: budget, steps, model, and the arm's prompt."""

    timeout_s: float
    max_steps: int
    system_prompt: str
    model: str | None = None
    effort: str | None = None


async def ask_once(
    agent: AdaptedAgent,
    question: str,
    persona: str | None,
    terms: Terms,
    open_toolbox: Callable[[], Awaitable[Toolbox | None]],
    *,
    prefetch: bool,
    blocked_s: Callable[[], float] = lambda: 0.0,
    conversation: str | None = None,
    catalog_had_definitions: bool = False,
) -> Asked:
    """Ask `agent` once in a fresh conversation. Never raises but on cancellation."""
    toolbox: Toolbox | None = None
    try:
        try:
            toolbox = await open_toolbox()
            prompt = terms.system_prompt
            if prefetch and toolbox is not None:
                prompt = f"{prompt}\n\n{await toolbox.schema_text()}"
        except HarnessBroken as error:
            return Asked(None, Fault.of(error))
        context = AskContext(
            conversation=conversation or uuid.uuid4().hex,
            persona=persona,
            system_prompt=prompt,
            tools=tuple(toolbox.tools) if toolbox is not None else (),
            max_steps=terms.max_steps,
            timeout_s=terms.timeout_s,
            model=terms.model,
            effort=terms.effort,
            toolbox=toolbox,
        )
        started = time.time()
        clock = time.perf_counter()
        blocked = blocked_s()
        answer, problem = await _within(agent, question, context)
        ms = (time.perf_counter() - clock) * 1000
        blocked = blocked_s() - blocked
        over = ms >= terms.timeout_s * 1000
        if over and blocked > terms.timeout_s * BLOCKED_SHARE:
            detail = (
                f"something blocked the event loop for {blocked:.1f} s of this ask's "
                f"{terms.timeout_s:g} s, so its time says nothing about the agent. Use "
                "a plain `def ask` (it gets a thread), await what waits, or ask with "
                "--concurrency 1."
            )
            return Asked(None, Fault("loop_blocked", agent.name, detail))
        if context.broken is not None:
            return Asked(None, Fault.of(context.broken))
        if isinstance(problem, HarnessBroken):
            return Asked(None, Fault.of(problem))
        if problem is not None:
            detail = f"{type(problem).__name__}: {problem}"
            return Asked(None, Fault("agent_error", agent.name, detail))
        assert answer is not None
        attempt = _attempt(answer, toolbox, agent.name)
        attempt = replace(
            attempt,
            started=started,
            ms=ms,
            catalog_had_definitions=catalog_had_definitions,
        )
        return Asked(attempt, None, answer.transcript)
    finally:
        if toolbox is not None:
            await toolbox.aclose()


async def _within(
    agent: AdaptedAgent, question: str, context: AskContext
) -> tuple[Answer | None, BaseException | None]:
    """The agent's answer or what it raised, within the budget.

    A separate task, so that an agent which swallows its cancellation cannot hold
    the run: after the grace it is left behind and the ask ends as a timeout.
    """
    task = asyncio.ensure_future(agent.ask(question, context))
    try:
        done, _ = await asyncio.wait({task}, timeout=context.timeout_s)
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait({task}, timeout=CANCEL_GRACE_S)
        raise
    if not done:
        task.cancel()
        await asyncio.wait({task}, timeout=CANCEL_GRACE_S)
        return Answer(text=None, stop_reason="timeout"), None
    if task.cancelled():
        return None, RuntimeError("the agent cancelled its own ask")
    error = task.exception()
    if error is not None:
        return None, error
    return task.result(), None


def _attempt(answer: Answer, toolbox: Toolbox | None, agent_name: str) -> Attempt:
    """Join the agent's words with the host-side record of what really ran.

    Statements that went through our servers are taken from the record. Only
    where nothing ran there do the agent's own `sql` and `tables` count.
    """
    calls = tuple(toolbox.calls) if toolbox is not None else ()
    statements = tuple(toolbox.statements()) if toolbox is not None else ()
    if not statements and answer.sql:
        statements = tuple(Statement(sql=sql, ok=None) for sql in answer.sql)
    return Attempt(
        text=answer.text,
        statements=statements,
        tool_calls=calls,
        stop_reason=answer.stop_reason,
        hops=answer.hops,
        usage=answer.usage,
        cost=answer.cost,
        rewrite=answer.rewrite,
        source=answer.source,
        tables=tuple(answer.tables) if answer.tables is not None else None,
        served_revision=answer.served_revision,
        agent=agent_name,
    )
