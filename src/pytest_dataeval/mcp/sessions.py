"""MCP sessions, pooled: one per server, warehouse, persona and arm in a process.

An MCP client must be entered and left by the same task, so each session has an
owner task that connects, waits and closes; calls come from any task of the loop.
A tool's own error result, and a JSON-RPC "invalid params" about the arguments that
an agent chose, are data for the agent. A failed call never ends the session under
other trials: a session that may be broken goes to nobody new, and is closed when
its last trial lets it go.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_dataeval.errors import HarnessBroken
from pytest_dataeval.mcp.faults import fault_of, is_about_arguments, is_answer
from pytest_dataeval.mcp.transports import InProcess, ServerSpec, StderrTail
from pytest_dataeval.records import ToolSpec

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult

_MAX_PAGES = 100
_CLOSE_GRACE_S = 6.0


@dataclass(frozen=True, slots=True)
class SessionKey:
    """Whose session it is; two arms never share one, so neither warms the other."""

    server: str
    warehouse: str
    persona: str
    arm: str


class Session:
    """A connected server. Made by `SessionPool.acquire`."""

    def __init__(self, spec: ServerSpec) -> None:
        self.spec = spec
        self.tools: tuple[ToolSpec, ...] = ()
        #: A stale session serves the trials that have it and no others.
        self.stale = False
        self.users = 0
        #: What was fetched once for the whole session, such as its schema's text.
        self.memo: dict[str, Any] = {}
        self._stderr = StderrTail()
        self._client: Client | None = None
        self._stop = asyncio.Event()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._owner = asyncio.create_task(self._own(), name=f"dataeval-mcp-{spec.name}")

    @property
    def connected(self) -> bool:
        """Whether calls can be made now."""
        return self._client is not None

    async def ready(self) -> None:
        """Wait until the session is connected. Raises HarnessBroken."""
        await asyncio.shield(self._ready)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        """Call a tool. What the tool says is data; a lost server raises."""
        client = self._connected()
        try:
            async with asyncio.timeout(self.spec.call_timeout_s + 2.0):
                return await client.call_tool(
                    name,
                    dict(arguments),
                    read_timeout_seconds=self.spec.call_timeout_s,
                )
        except Exception as error:
            if is_about_arguments(error):
                return _error_result(str(error))
            raise self._failed(error, "tool_call_failed", f"tool {name!r}") from error

    async def verify_tools(self) -> None:
        """Check that the tools are still those that the session began with.

        A server in this process cannot change its list; others are asked again.
        """
        if isinstance(self.spec.transport, InProcess):
            self._connected()
            return
        try:
            async with asyncio.timeout(self.spec.connect_timeout_s):
                tools = await self._list_tools(self._connected())
        except HarnessBroken:
            raise
        except Exception as error:
            doing = "the check of its tools"
            raise self._failed(error, "server_unreachable", doing) from error
        self._expect(tools)
        if tools != self.tools:
            self.stale = True
            raise HarnessBroken(
                "tools_changed",
                self.spec.place,
                "the list of tools differs from that at the start of the run",
                "Trials before and after are not comparable; do not change a server "
                "during a run.",
            )

    async def aclose(self) -> None:
        """End the session; a server that does not let go in time is left behind."""
        self.stale = True
        self._stop.set()
        done, _ = await asyncio.wait({self._owner}, timeout=_CLOSE_GRACE_S)
        if not done:
            self._owner.cancel()
            await asyncio.wait({self._owner}, timeout=_CLOSE_GRACE_S)

    async def ended(self) -> None:
        """Wait until the server is let go."""
        await asyncio.wait({self._owner})

    def _connected(self) -> Client:
        if self._client is None:
            raise HarnessBroken(
                "server_unreachable", self.spec.place, "the session has ended"
            )
        return self._client

    def _failed(self, error: Exception, code: str, doing: str) -> HarnessBroken:
        """The fault of a failed request; an answer by HTTP or JSON-RPC proves life."""
        if not is_answer(error):
            self.stale = True
        return self._fault(error, code, doing)

    def _fault(self, error: BaseException, code: str, doing: str) -> HarnessBroken:
        return fault_of(error, self.spec, code, doing, self._stderr.text)

    async def _own(self) -> None:
        try:
            async with contextlib.AsyncExitStack() as stack:
                async with asyncio.timeout(self.spec.connect_timeout_s):
                    client = await stack.enter_async_context(
                        self.spec.transport.connect(self._stderr)
                    )
                    tools = await self._list_tools(client)
                self._expect(tools)
                self.tools, self._client = tools, client
                self._ready.set_result(None)
                await self._stop.wait()
        except BaseException as error:
            if not self._ready.done():
                fault = self._fault(error, "server_unreachable", "the connection")
                fault.__cause__ = error
                self._ready.set_exception(fault)
                # a waiter that was cancelled does not make this an unread exception
                self._ready.exception()
            if not isinstance(error, Exception):
                raise
        finally:
            self.stale = True
            self._client = None
            self._stderr.close()

    async def _list_tools(self, client: Client) -> tuple[ToolSpec, ...]:
        found: list[ToolSpec] = []
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            page = await client.list_tools(cursor=cursor)
            found += [
                ToolSpec(
                    self.spec.name, tool.name, tool.description or "", tool.input_schema
                )
                for tool in page.tools
            ]
            cursor = page.next_cursor
            if cursor is None:
                return tuple(found)
        raise HarnessBroken(
            "server_unreachable",
            self.spec.place,
            f"its list of tools does not end after {_MAX_PAGES} pages",
        )

    def _expect(self, tools: tuple[ToolSpec, ...]) -> None:
        offered = [tool.name for tool in tools]
        missing = [name for name in self.spec.tools if name not in offered]
        if missing:
            raise HarnessBroken(
                "tool_missing",
                self.spec.place,
                f"it does not offer {', '.join(missing)}; it offers: "
                f"{', '.join(offered) or 'nothing'}.",
                "Mend the server, or the `tools` of its entry in dataeval.yaml.",
            )


class SessionPool:
    """The sessions of one process, on one event loop."""

    def __init__(self) -> None:
        self._sessions: dict[SessionKey, Session] = {}
        self._open: set[Session] = set()
        self._closing: set[asyncio.Task[None]] = set()

    async def acquire(self, key: SessionKey, spec: ServerSpec) -> Session:
        """A connected session for one trial; give it back with `release`.

        Askers that come together share one connect. A session that is used again
        is checked for its tools, and replaced if it was lost since. A stateful
        server gets a session of its own. Raises HarnessBroken.
        """
        session = None if spec.stateful else self._sessions.get(key)
        if session is None or session.stale:
            return await self._lend(self._make(key, spec))
        if not session.connected:
            return await self._lend(session)
        try:
            return await self._lend(session, verify=True)
        except HarnessBroken as error:
            if not session.stale or error.what == "tools_changed":
                raise
        replacement = self._sessions.get(key)
        if replacement is None or replacement.stale:
            replacement = self._make(key, spec)
        return await self._lend(replacement)

    def _make(self, key: SessionKey, spec: ServerSpec) -> Session:
        session = Session(spec)
        self._open.add(session)
        if not spec.stateful:
            self._sessions[key] = session
        return session

    async def _lend(self, session: Session, *, verify: bool = False) -> Session:
        session.users += 1
        try:
            await session.ready()
            if verify:
                await session.verify_tools()
        except BaseException:
            self.release(session)
            raise
        return session

    def release(self, session: Session) -> None:
        """A trial is done with `session`; close it if nobody else can use it."""
        session.users -= 1
        unusable = session.stale or session.spec.stateful
        if session.users <= 0 and unusable and session in self._open:
            self._open.discard(session)
            task = asyncio.create_task(session.aclose())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def aclose(self) -> None:
        """Close all sessions at once, within bounded time."""
        sessions = list(self._open)
        self._open.clear()
        self._sessions.clear()
        await asyncio.gather(
            *(session.aclose() for session in sessions), *self._closing
        )


def _error_result(text: str) -> CallToolResult:
    from mcp.types import CallToolResult, TextContent

    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)
