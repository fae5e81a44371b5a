"""Sessions over every transport, and every way in which one can fail."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from shopdesk import ALICE, BOB, CAROL, serving

from pytest_dataeval.catalog.model import Catalog
from pytest_dataeval.errors import HarnessBroken
from pytest_dataeval.mcp.servers.catalog import TOOLS, build
from pytest_dataeval.mcp.servers.http_front import http_app
from pytest_dataeval.mcp.sessions import Session, SessionKey, SessionPool
from pytest_dataeval.mcp.tokens import mint
from pytest_dataeval.mcp.transports import Http, InProcess, ServerSpec, Stdio

SECRET = "a-secret-of-at-least-thirty-two-bytes"
PLAIN = str(Path(__file__).with_name("plain_server.py"))
KEY = SessionKey("plain", "shop", "alice", "catalog")


def plain(mode: str = "serve", **changes: Any) -> ServerSpec:
    transport = Stdio((sys.executable, PLAIN, mode))
    spec = ServerSpec("plain", "other", transport, ("echo", "run_query"))
    return dataclasses.replace(spec, **changes)


@asynccontextmanager
async def pool() -> AsyncIterator[SessionPool]:
    sessions = SessionPool()
    try:
        yield sessions
    finally:
        await sessions.aclose()


def with_session(
    spec: ServerSpec, use: Callable[[Session], Awaitable[Any]] | None = None
) -> Any:
    """What `use` makes of a session of `spec`; connects and closes."""

    async def run() -> Any:
        async with pool() as sessions:
            session = await sessions.acquire(KEY, spec)
            return None if use is None else await use(session)

    return asyncio.run(run())


def fault(
    spec: ServerSpec, use: Callable[[Session], Awaitable[Any]] | None = None
) -> HarnessBroken:
    with pytest.raises(HarnessBroken) as caught:
        with_session(spec, use)
    return caught.value


def calling(**arguments: Any) -> Callable[[Session], Awaitable[Any]]:
    return lambda session: session.call("echo", arguments)


# -------------------------------------------------------------------- stdio


def test_a_command_is_spoken_to_over_stdio() -> None:
    async def use(session: Session) -> tuple[list[str], str]:
        result = await session.call("echo", {"a": 1})
        return [tool.name for tool in session.tools], result.content[0].text  # type: ignore[union-attr]

    assert with_session(plain(), use) == (["echo", "run_query"], '{"a": 1}')


def test_a_command_gets_its_configured_environment_and_no_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MODEL_API_KEY", "not for servers")
    command = (sys.executable, PLAIN, "env")
    spec = plain(transport=Stdio(command, {"DSN": "shop"}))

    async def use(session: Session) -> dict[str, str]:
        found: dict[str, str] = json.loads(session.tools[0].description)
        return found

    environment = with_session(spec, use)
    assert environment["DSN"] == "shop"
    assert "MODEL_API_KEY" not in environment


@pytest.mark.parametrize(
    ("mode", "what", "detail"),
    [
        ("exit", "server_unreachable", "no database at this address"),
        ("garbage", "server_unreachable", "closed the connection"),
    ],
)
def test_a_server_that_ends_at_start_is_unreachable_with_its_last_words(
    mode: str, what: str, detail: str
) -> None:
    error = fault(plain(mode))
    assert error.what == what
    assert "'plain'" in error.where
    assert detail in error.detail


def test_a_command_that_does_not_exist_is_unreachable() -> None:
    error = fault(plain(transport=Stdio(("no-such-program",))))
    assert error.what == "server_unreachable"
    assert "no such command" in error.detail


def test_a_server_that_never_answers_times_out_at_connect() -> None:
    error = fault(plain("silent", connect_timeout_s=0.5))
    assert error.what == "server_timeout"
    assert "connect_timeout_s 0.5" in error.detail


def test_a_missing_tool_is_named_with_the_tools_that_are_there() -> None:
    error = fault(plain(tools=("echo", "list_tables")))
    assert error.what == "tool_missing"
    assert "does not offer list_tables; it offers: echo, run_query" in error.detail


def test_a_server_that_dies_in_a_call_is_a_fault_with_its_last_words() -> None:
    error = fault(plain(), calling(do="die"))
    assert error.what == "tool_call_failed"
    assert "out of memory" in error.detail


def test_a_call_that_never_returns_is_a_timeout_and_no_answer() -> None:
    error = fault(plain(call_timeout_s=0.3), calling(do="hang"))
    assert error.what == "server_timeout"
    assert "call_timeout_s 0.3" in error.detail


@pytest.mark.parametrize("do", ["internal", "malformed"])
def test_a_broken_protocol_is_a_fault(do: str) -> None:
    assert fault(plain(), calling(do=do)).what == "tool_call_failed"


def test_invalid_parameters_are_an_answer_to_the_agent() -> None:
    result = with_session(plain(), calling(do="invalid"))
    assert result.is_error
    assert result.content[0].text == "no such argument: do"


# --------------------------------------------------------------------- pool


def test_askers_that_come_together_share_one_connect() -> None:
    async def run() -> int:
        async with pool() as sessions:
            spec = plain()
            found = await asyncio.gather(
                *(sessions.acquire(KEY, spec) for _ in range(5))
            )
            return len({id(session) for session in found})

    assert asyncio.run(run()) == 1


def test_another_persona_or_arm_gets_a_session_of_its_own(catalog: Catalog) -> None:
    spec = ServerSpec("catalog", "catalog", InProcess(lambda: build(catalog, CAROL)))

    async def run() -> int:
        async with pool() as sessions:
            keys = [
                KEY,
                dataclasses.replace(KEY, persona="carol"),
                dataclasses.replace(KEY, arm="schema-only"),
                KEY,
            ]
            found = [await sessions.acquire(key, spec) for key in keys]
            return len({id(session) for session in found})

    assert asyncio.run(run()) == 3


def test_a_stateful_server_gets_a_session_for_each_trial() -> None:
    async def run() -> bool:
        async with pool() as sessions:
            spec = plain(stateful=True)
            first = await sessions.acquire(KEY, spec)
            second = await sessions.acquire(KEY, spec)
            sessions.release(first)
            await asyncio.wait_for(first.ended(), 5)
            result = await second.call("echo", {})
            sessions.release(second)
            return first is not second and not result.is_error

    assert asyncio.run(run())


def test_after_a_death_the_next_trial_connects_anew() -> None:
    async def run() -> bool:
        async with pool() as sessions:
            first = await sessions.acquire(KEY, plain())
            with pytest.raises(HarnessBroken):
                await first.call("echo", {"do": "die"})
            sessions.release(first)
            second = await sessions.acquire(KEY, plain())
            result = await second.call("echo", {})
            return first is not second and not result.is_error

    assert asyncio.run(run())


def test_a_server_that_was_killed_between_trials_is_replaced() -> None:
    async def run() -> bool:
        async with pool() as sessions:
            first = await sessions.acquire(KEY, plain())
            sessions.release(first)
            # nobody saw this call fail, as if the server had died of itself
            with pytest.raises(HarnessBroken):
                await first.call("echo", {"do": "die"})
            first.stale = False
            second = await sessions.acquire(KEY, plain())
            result = await second.call("echo", {})
            return first is not second and not result.is_error

    assert asyncio.run(run())


def test_a_timeout_of_one_call_leaves_the_calls_of_others_alone() -> None:
    async def run() -> tuple[bool, bool]:
        async with pool() as sessions:
            spec = plain(call_timeout_s=0.3)
            first = await sessions.acquire(KEY, spec)
            second = await sessions.acquire(KEY, spec)
            with pytest.raises(HarnessBroken):
                await first.call("echo", {"do": "hang"})
            sessions.release(first)
            result = await second.call("echo", {})
            third = await sessions.acquire(KEY, spec)
            return result.is_error, third is second

    assert asyncio.run(run()) == (False, False)


def test_a_tool_list_that_changes_during_a_run_is_a_fault() -> None:
    async def run() -> str:
        async with pool() as sessions:
            spec = plain("shrink", tools=())
            sessions.release(await sessions.acquire(KEY, spec))
            with pytest.raises(HarnessBroken) as caught:
                await sessions.acquire(KEY, spec)
            return caught.value.what

    assert asyncio.run(run()) == "tools_changed"


def test_closing_a_pool_ends_the_servers() -> None:
    async def run() -> list[bool]:
        sessions = SessionPool()
        found = [
            await sessions.acquire(dataclasses.replace(KEY, arm=arm), plain())
            for arm in ("a", "b")
        ]
        await sessions.aclose()
        outcomes = []
        for session in found:
            with pytest.raises(HarnessBroken, match="has ended"):
                await session.call("echo", {})
            outcomes.append(session.stale)
        return outcomes

    assert asyncio.run(run()) == [True, True]


# --------------------------------------------------------------------- http


@pytest.fixture(scope="module")
def url(catalog: Catalog) -> Iterator[str]:
    personas = {persona.name: persona for persona in (ALICE, CAROL, BOB)}
    with serving(http_app(build(catalog, None), personas, SECRET)) as address:
        yield address


def over_http(url: str, token: str | None) -> ServerSpec:
    return ServerSpec("catalog", "catalog", Http(url, bearer=lambda: token), TOOLS)


def words_of(word: str) -> Callable[[Session], Awaitable[str]]:
    async def use(session: Session) -> str:
        result = await session.call("search_metadata", {"query": word})
        return str(result.content[0].text)  # type: ignore[union-attr]

    return use


def test_over_http_the_token_says_who_asks(url: str) -> None:
    alice = over_http(url, mint("alice", ["Data.Analyst"], SECRET))
    carol = over_http(url, mint("carol", ["Data.Finance"], SECRET))
    assert "Staff Contact" not in with_session(alice, words_of("private"))
    assert "Staff Contact" in with_session(carol, words_of("private"))


@pytest.mark.parametrize(
    ("token", "status"),
    [
        (None, 401),
        ("nonsense", 401),
        (mint("alice", ["Data.Analyst"], SECRET, ttl_s=-60), 401),
        (mint("alice", ["Data.Analyst"], SECRET[::-1]), 401),
        (mint("bob", [], SECRET), 403),
        (mint("mallory", ["Data.Finance"], SECRET), 403),
    ],
)
def test_over_http_a_caller_without_access_is_a_fault_and_no_answer(
    url: str, token: str | None, status: int
) -> None:
    error = fault(over_http(url, token))
    assert error.what == "unauthorized"
    assert f"HTTP {status}" in error.detail
    assert token is None or token not in str(error)


def test_a_token_that_ends_during_a_run_is_a_fault_at_the_next_call(url: str) -> None:
    tokens = [mint("alice", ["Data.Analyst"], SECRET)]
    spec = over_http(url, None)
    spec = dataclasses.replace(spec, transport=Http(url, bearer=lambda: tokens[-1]))

    async def use(session: Session) -> None:
        await session.call("search_metadata", {})
        tokens.append(mint("alice", ["Data.Analyst"], SECRET, ttl_s=-60))
        await session.call("search_metadata", {})

    assert fault(spec, use).what == "unauthorized"


class Throttle:
    """Answers HTTP 429 to the first requests, then lets them through."""

    def __init__(self, app: Any, times: int, retry_after: str) -> None:
        self.app, self.times, self.retry_after = app, times, retry_after

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or self.times <= 0:
            await self.app(scope, receive, send)
            return
        self.times -= 1
        headers = [(b"retry-after", self.retry_after.encode())]
        await send({"type": "http.response.start", "status": 429, "headers": headers})
        await send({"type": "http.response.body", "body": b"slow down"})


def throttled(catalog: Catalog, times: int, retry_after: str) -> Throttle:
    app = http_app(build(catalog, None), {"carol": CAROL}, SECRET)
    return Throttle(app, times, retry_after)


def test_short_throttling_is_waited_out(catalog: Catalog) -> None:
    with serving(throttled(catalog, 2, "0.05")) as address:
        spec = over_http(address, mint("carol", ["Data.Finance"], SECRET))
        assert "orders" in with_session(spec, words_of("orders"))


def test_long_throttling_is_a_fault_that_tells_the_wait(catalog: Catalog) -> None:
    with serving(throttled(catalog, 1000, "120")) as address:
        error = fault(over_http(address, mint("carol", ["Data.Finance"], SECRET)))
    assert error.what == "throttled"
    assert "asks to wait 120 s" in error.detail


def test_a_server_error_over_http_keeps_its_status(catalog: Catalog) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 502, "headers": []})
            await send({"type": "http.response.body", "body": b"<html>"})

    with serving(app) as address:
        error = fault(over_http(address, None))
    assert error.what == "server_unreachable"
    assert "HTTP 502" in error.detail


def test_an_address_where_nothing_listens_is_unreachable() -> None:
    error = fault(over_http("http://user:pw@127.0.0.1:9/mcp", None))
    assert error.what == "server_unreachable"
    assert "http://127.0.0.1:9/mcp" in error.where
    assert "pw" not in str(error)


# -------------------------------------------------- the programs themselves


def test_the_warehouse_program_serves_a_persona_over_stdio(shop: Path) -> None:
    command = (
        "python",
        "-m",
        "pytest_dataeval.mcp.servers.warehouse",
        *("--url", f"duckdb:///{shop / 'desk.duckdb'}", "--name", "shop"),
        *("--schemas", "shop", "--personas", str(shop / "personas.yaml")),
    )
    (shop / "personas.yaml").write_text(
        "personas:\n  alice: {roles: [Data.Analyst], withheld: [shop.staff.email]}\n"
    )
    transport = Stdio(command, {"DATAEVAL_PERSONA": "alice"})
    spec = ServerSpec("warehouse", "warehouse", transport, ("run_query",))

    async def use(session: Session) -> list[str]:
        queries = ("select count(*) from shop.staff", "select email from shop.staff")
        results = [await session.call("run_query", {"sql": sql}) for sql in queries]
        return [result.content[0].text for result in results]  # type: ignore[union-attr]

    counted, refused = with_session(spec, use)
    assert json.loads(counted)["rows"] == [[2]]
    assert refused.startswith("refused: Data.Analyst may not read shop.staff.email")


def test_the_catalog_program_says_what_is_wrong_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("service: desk\ntabels: []\n")
    command = ("python", "-m", "pytest_dataeval.mcp.servers.catalog", "--catalog")
    transport = Stdio((*command, str(tmp_path / "c.yaml")))
    error = fault(ServerSpec("catalog", "catalog", transport))
    assert error.what == "server_unreachable"
    assert "tabels" in error.detail
