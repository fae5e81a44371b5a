"""The agent contract: what is asked, what it is given, what it gives back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from pytest_dataeval.records import Answer, ToolResult, ToolSpec


class Offer(Protocol):
    """What both kinds of context say about one ask.

    Nothing here tells the case, its tier or its reference: an agent under test
    sees what it would see in use.
    """

    @property
    def conversation(self) -> str:
        """Opaque id of this conversation. No two asks share one."""

    @property
    def persona(self) -> str | None:
        """Name of the person in whose name the tools read; None without one."""

    @property
    def system_prompt(self) -> str:
        """The arm's instruction, with the schema where the arm prefetches it."""

    @property
    def tools(self) -> Sequence[ToolSpec]:
        """The tools of this arm, as their servers describe them."""

    @property
    def max_steps(self) -> int:
        """The most turns with tool calls that the agent should take."""

    @property
    def timeout_s(self) -> float:
        """Budget of the ask in seconds; the harness cancels it at its end."""

    @property
    def model(self) -> str | None:
        """The model that the configuration names for this agent."""

    @property
    def effort(self) -> str | None:
        """The effort that the configuration names for this agent."""


class Context(Offer, Protocol):
    """What an `async def ask` is given."""

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Call a tool as the persona. The call is recorded by the harness.

        A refusal, an error of the source and an unknown tool come back as a
        result with `is_error`. A server that is lost raises HarnessBroken, which
        the agent must let through: it is our fault and not its answer.
        """


class SyncContext(Offer, Protocol):
    """What a plain `def ask` is given: the same, with a blocking `call_tool`."""

    def call_tool(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """As `Context.call_tool`; raises ConversationOver once the ask ended."""


class Agent(Protocol):
    """Who is asked.

    Optional attributes, with the value that is taken when one is missing:

    - `name: str`, the name under which it was chosen;
    - `paid: bool`, True: a run asks for consent to its costs;
    - `needs_servers: bool`, True: the arm's MCP servers are opened for it;
    - `waits: bool`, True: its asks spend their time waiting and may overlap;
    - `aclose()`, sync or async, called once when the run ends.
    """

    async def ask(self, question: str, context: Context) -> Answer:
        """Answer one question in a fresh conversation.

        What it raises is a fault of the agent, asked once more and never scored
        as a wrong answer. Must let asyncio.CancelledError through.
        """


class SyncAgent(Protocol):
    """An agent with a plain `def ask`; it is run in a thread of its own."""

    def ask(self, question: str, context: SyncContext) -> Answer:
        """As `Agent.ask`."""
