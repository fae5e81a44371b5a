"""An HTTP transport that keeps what the MCP client would lose: status and wait.

The client turns an HTTP error whose body is no JSON-RPC into one sentence without
the status. This wrapper puts status and Retry-After into a JSON-RPC error body, and
waits out short throttling, so that 401, 403 and 429 can be told apart.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import httpx2

#: Throttled requests are sent again while the waits asked for stay within this sum.
PATIENCE_S = 5.0
_DEFAULT_WAIT_S = 1.0
_INTERNAL_ERROR = -32603


class StatusTransport(httpx2.AsyncBaseTransport):
    """Wraps a transport; `bearer` is read for each request, so a token may change."""

    def __init__(
        self,
        inner: httpx2.AsyncBaseTransport,
        bearer: Callable[[], str | None] | None = None,
    ) -> None:
        self._inner = inner
        self._bearer = bearer

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        token = self._bearer() if self._bearer is not None else None
        if token is not None:
            request.headers["Authorization"] = f"Bearer {token}"
        waited_s = 0.0
        while True:
            response = await self._inner.handle_async_request(request)
            if response.status_code != 429:
                break
            wait_s = _wait_s(response)
            if waited_s + wait_s > PATIENCE_S:
                break
            await response.aclose()
            await asyncio.sleep(wait_s)
            waited_s += wait_s
        if response.status_code < 400 or request.method != "POST":
            return response
        await response.aread()
        if _is_json_rpc(response):
            return response
        status, retry_after = response.status_code, response.headers.get("retry-after")
        return httpx2.Response(
            status,
            request=request,
            json={
                "jsonrpc": "2.0",
                "id": None,
                "error": {
                    "code": _INTERNAL_ERROR,
                    "message": f"HTTP {status}",
                    "data": {"status": status, "retry_after": retry_after},
                },
            },
        )

    async def aclose(self) -> None:
        await self._inner.aclose()


def _wait_s(response: httpx2.Response) -> float:
    """Seconds that Retry-After asks for; a date or nonsense counts as too long."""
    value = response.headers.get("retry-after")
    if value is None:
        return _DEFAULT_WAIT_S
    try:
        return max(0.0, float(value))
    except ValueError:
        return PATIENCE_S + 1


def _is_json_rpc(response: httpx2.Response) -> bool:
    try:
        body = json.loads(response.content)
    except ValueError:
        return False
    return isinstance(body, dict) and "jsonrpc" in body
