"""One shape for every agent: async `ask`, known attributes, a checked answer."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import contextvars
import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_dataeval.agents.answers import complaint_of
from pytest_dataeval.agents.base import Context
from pytest_dataeval.errors import DataevalError
from pytest_dataeval.records import Answer, ToolResult, ToolSpec


class ConversationOver(DataevalError):
    """A sync agent called a tool after its ask had been cancelled or ended."""


class AdaptedAgent:
    """An agent as the engine uses it, made from an author's object.

    `paid`, `needs_servers` and `waits` are the object's own or the defaults given
    here. Raises TypeError if the object has no `ask`.
    """

    def __init__(
        self,
        agent: object,
        name: str,
        *,
        paid: bool = True,
        needs_servers: bool = True,
        waits: bool = True,
    ) -> None:
        ask = getattr(agent, "ask", None)
        if not callable(ask):
            raise TypeError(
                f"agent {name!r}: {_kind(agent)} has no method "
                "ask(question, context); an agent is an object with one"
            )
        self.inner = agent
        self.name = name
        self.paid = _flag(agent, "paid", paid)
        self.needs_servers = _flag(agent, "needs_servers", needs_servers)
        self.waits = _flag(agent, "waits", waits)
        self._ask: Callable[[str, Any], Any] = ask
        self._is_async = inspect.iscoroutinefunction(ask)

    async def ask(self, question: str, context: Context) -> Answer:
        """Ask once. Raises TypeError if what comes back is no Answer."""
        try:
            if self._is_async:
                answer = await self._ask(question, context)
            else:
                answer = await run_sync(self._ask, question, context)
                if inspect.isawaitable(answer):
                    answer = await answer
        except SystemExit as error:
            # Let through, it would end the whole test session.
            raise RuntimeError(
                f"agent {self.name!r}: ask() called sys.exit({error.code!r})"
            ) from error
        except KeyboardInterrupt as error:
            # Ctrl-C reaches the main thread; here it is the agent's own doing.
            raise RuntimeError(
                f"agent {self.name!r}: ask() raised KeyboardInterrupt"
            ) from error
        if not isinstance(answer, Answer):
            raise TypeError(
                f"agent {self.name!r}: ask() gave back {_kind(answer)}, not a "
                "pytest_dataeval.Answer; write Answer(text=...)"
            )
        if (complaint := complaint_of(answer)) is not None:
            raise TypeError(f"agent {self.name!r}: {complaint}")
        return answer

    async def aclose(self) -> None:
        """Close the author's object, if it can be closed."""
        close = getattr(self.inner, "aclose", None)
        if close is not None:
            closing = close()
            if inspect.isawaitable(closing):
                await closing


def adapt(agent: object, name: str | None = None) -> AdaptedAgent:
    """Adapt `agent` under `name`, or under its own `name`, or its class's name.

    An agent that is adapted already comes back as it is, unless it is to have
    another name.
    """
    if isinstance(agent, AdaptedAgent) and name in (None, agent.name):
        return agent
    own = getattr(agent, "name", None)
    chosen = name or (own if isinstance(own, str) and own else None)
    return AdaptedAgent(agent, chosen or type(agent).__name__.lower())


class _BlockingContext:
    """A SyncContext over a Context that lives on an event loop."""

    def __init__(self, context: Context, loop: asyncio.AbstractEventLoop) -> None:
        self._context = context
        self._loop = loop
        self._lock = threading.Lock()
        self._over = False
        self._calls: set[concurrent.futures.Future[ToolResult]] = set()

    @property
    def conversation(self) -> str:
        return self._context.conversation

    @property
    def persona(self) -> str | None:
        return self._context.persona

    @property
    def system_prompt(self) -> str:
        return self._context.system_prompt

    @property
    def tools(self) -> Sequence[ToolSpec]:
        return self._context.tools

    @property
    def max_steps(self) -> int:
        return self._context.max_steps

    @property
    def timeout_s(self) -> float:
        return self._context.timeout_s

    @property
    def model(self) -> str | None:
        return self._context.model

    @property
    def effort(self) -> str | None:
        return self._context.effort

    def call_tool(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        with self._lock:
            if self._over:
                raise _over(name)
            call = asyncio.run_coroutine_threadsafe(
                self._context.call_tool(name, arguments), self._loop
            )
            self._calls.add(call)
        try:
            return call.result()
        except concurrent.futures.CancelledError as error:
            raise _over(name) from error
        finally:
            with self._lock:
                self._calls.discard(call)

    def close(self) -> None:
        """Refuse calls from now on and cancel those in flight."""
        with self._lock:
            self._over = True
            calls = tuple(self._calls)
        for call in calls:
            call.cancel()


async def run_sync(
    ask: Callable[[str, Any], Any], question: str, context: Context
) -> Any:
    """Run a blocking `ask` in a thread and wait for what it gives back.

    A cancelled ask ends at once; its thread is left behind and gets
    ConversationOver at its next tool call. The thread is a daemon, so that one
    which never returns cannot keep the process alive.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()
    blocking = _BlockingContext(context, loop)

    def settle(value: Any, error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(value)
        else:
            done.set_exception(error)

    def work() -> None:
        value: Any = None
        failure: BaseException | None = None
        try:
            value = ask(question, blocking)
        except StopIteration as error:
            # asyncio refuses a StopIteration as a future's exception.
            failure = RuntimeError("ask() raised StopIteration")
            failure.__cause__ = error
        except BaseException as error:
            failure = error
        # A thread that was left behind may outlive its loop.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, value, failure)

    state = contextvars.copy_context()
    thread = threading.Thread(
        target=state.run, args=(work,), name="dataeval-ask", daemon=True
    )
    thread.start()
    try:
        return await done
    finally:
        blocking.close()


def _over(tool: str) -> ConversationOver:
    return ConversationOver(
        f"tool {tool!r} was called after the ask had ended; return from ask() "
        "when its budget is over"
    )


def _flag(agent: object, attribute: str, default: bool) -> bool:
    value = getattr(agent, attribute, default)
    if not isinstance(value, bool):
        raise TypeError(
            f"{_kind(agent)}.{attribute} is {value!r}; it must be True or False"
        )
    return value


def _kind(value: object) -> str:
    return f"an object of type {type(value).__name__}"
