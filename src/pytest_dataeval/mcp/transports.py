"""How a server is reached: in this process, as a child process, or over HTTP."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from mcp import Client
    from mcp.server import Server

_STDERR_BYTES = 4096


class StderrTail:
    """The end of what a child wrote to stderr, kept for the error message."""

    def __init__(self) -> None:
        self._tail = bytearray()
        self._read_fd: int | None = None

    @property
    def text(self) -> str:
        """The last lines, at most 4 KB."""
        self._read()
        return self._tail.decode("utf-8", "replace").strip()

    @contextlib.contextmanager
    def pipe(self) -> Iterator[TextIO]:
        """The write end for the child; closed here when the block ends."""
        self._read_fd, write_fd = os.pipe()
        os.set_blocking(self._read_fd, False)
        with os.fdopen(write_fd, "w") as writer:
            yield writer

    def attach(self) -> None:
        """Read on the running loop whenever the child writes, so it never blocks."""
        import asyncio

        if self._read_fd is not None:
            asyncio.get_running_loop().add_reader(self._read_fd, self._read)

    def _read(self) -> None:
        while self._read_fd is not None:
            try:
                chunk = os.read(self._read_fd, _STDERR_BYTES)
            except BlockingIOError:
                return
            if not chunk:
                self.close()
                return
            self._tail += chunk
            del self._tail[:-_STDERR_BYTES]

    def close(self) -> None:
        """Stop reading; what was read stays."""
        import asyncio

        if self._read_fd is not None:
            with contextlib.suppress(RuntimeError):
                asyncio.get_running_loop().remove_reader(self._read_fd)
            os.close(self._read_fd)
            self._read_fd = None


@dataclass(frozen=True, slots=True)
class InProcess:
    """A server object in this process; `make` builds it for one session."""

    make: Callable[[], Server[Any]]

    @property
    def where(self) -> str:
        return "in this process"

    def connect(self, stderr: StderrTail) -> AbstractAsyncContextManager[Client]:
        from mcp import Client

        return Client(self.make(), cache=None)


@dataclass(frozen=True, slots=True)
class Stdio:
    """A command. It gets `env` and the few variables that any process needs."""

    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: Path | None = None

    @property
    def where(self) -> str:
        return f"command {self.command[0]!r}"

    @asynccontextmanager
    async def connect(self, stderr: StderrTail) -> AsyncIterator[Client]:
        from mcp import Client, StdioServerParameters

        program, *rest = self.command
        parameters = StdioServerParameters(
            command=sys.executable if program == "python" else program,
            args=rest,
            env=dict(self.env),
            cwd=self.cwd,
            encoding_error_handler="replace",
        )
        transport = _with_stderr(parameters, stderr)
        async with Client(transport, cache=None) as client:
            yield client


@asynccontextmanager
async def _with_stderr(parameters: Any, stderr: StderrTail) -> AsyncIterator[Any]:
    from mcp.client.stdio import stdio_client

    async with contextlib.AsyncExitStack() as stack:
        with stderr.pipe() as writer:
            stderr.attach()
            streams = await stack.enter_async_context(
                stdio_client(parameters, errlog=writer)
            )
        yield streams


@dataclass(frozen=True, slots=True)
class Http:
    """A Streamable HTTP address; `bearer` gives the caller's token, if any."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    bearer: Callable[[], str | None] | None = field(default=None, repr=False)
    read_timeout_s: float = 60.0

    @property
    def where(self) -> str:
        from urllib.parse import urlsplit

        parts = urlsplit(self.url)
        host = parts.netloc.rpartition("@")[2]
        return f"{parts.scheme}://{host}{parts.path}"

    @asynccontextmanager
    async def connect(self, stderr: StderrTail) -> AsyncIterator[Client]:
        import httpx2
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client

        from pytest_dataeval.mcp.http_transport import StatusTransport

        transport = StatusTransport(httpx2.AsyncHTTPTransport(), self.bearer)
        async with (
            httpx2.AsyncClient(
                headers=dict(self.headers),
                timeout=httpx2.Timeout(30.0, read=self.read_timeout_s + 5.0),
                transport=transport,
            ) as http,
            Client(
                streamable_http_client(self.url, http_client=http), cache=None
            ) as client,
        ):
            yield client


Transport = InProcess | Stdio | Http


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """A server as an arm uses it. `role` is warehouse, catalog or other."""

    name: str
    role: str
    transport: Transport
    tools: tuple[str, ...] = ()
    stateful: bool = False
    connect_timeout_s: float = 30.0
    call_timeout_s: float = 60.0

    @property
    def place(self) -> str:
        """How errors name the server."""
        return f"MCP server {self.name!r} ({self.transport.where})"
