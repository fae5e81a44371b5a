"""Named states for everything that can go wrong between us and a server.

| code | seen |
|---|---|
| server_unreachable | no such command or address, the server ended, or no MCP came |
| server_timeout | no answer to the connect or to a call in time |
| tool_missing | an expected tool is not in the server's list |
| tools_changed | the list differs from what the session began with |
| unauthorized | HTTP 401 or 403 |
| throttled | HTTP 429, after the short waits it asked for |
| tool_call_failed | the connection, the protocol or the server broke in a call |
| warehouse_unreachable | the bundled server cannot reach its warehouse |
| prefetch_failed | the schema for the prompt cannot be had |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_dataeval.errors import HarnessBroken
from pytest_dataeval.mcp.transports import ServerSpec

# JSON-RPC codes as the mcp client raises them.
_CONNECTION_CLOSED = -32000
_REQUEST_TIMEOUT = -32001
_INVALID_PARAMS = -32602
_INTERNAL_ERROR = -32603

_LAST_LINES = 5


def is_about_arguments(error: BaseException) -> bool:
    """Whether the server found fault with the arguments: that is for the agent."""
    return _code(error) == _INVALID_PARAMS and _status(error) is None


def is_answer(error: BaseException) -> bool:
    """Whether the server said so itself, which proves that the session lives."""
    return _status(error) is not None or _code(error) == _INTERNAL_ERROR


def fault_of(
    error: BaseException, spec: ServerSpec, code: str, doing: str, stderr: str
) -> HarnessBroken:
    """The fault for what went wrong while `doing`.

    `code` is taken where nothing more exact is known. `stderr` is the end of what
    the server wrote there.
    """
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, HarnessBroken):
        return error
    status = _status(error)
    if status in (401, 403):
        return HarnessBroken(
            "unauthorized",
            spec.place,
            f"it answered HTTP {status} to {doing}.",
            "Check the persona's token, its expiry and its role.",
        )
    if status == 429:
        wait = _data(error).get("retry_after")
        asked = f" and asks to wait {wait} s" if wait else ""
        return HarnessBroken(
            "throttled",
            spec.place,
            f"it answered HTTP 429 to {doing}{asked}.",
            "Ask fewer at once (--concurrency), or raise the server's limit.",
        )
    lines = stderr.splitlines()[-_LAST_LINES:]
    last_words = " Its last words: " + " | ".join(lines) + "." if lines else ""
    if isinstance(error, TimeoutError) or _code(error) == _REQUEST_TIMEOUT:
        limit = (
            f"call_timeout_s {spec.call_timeout_s:g}"
            if code == "tool_call_failed"
            else f"connect_timeout_s {spec.connect_timeout_s:g}"
        )
        return HarnessBroken(
            "server_timeout",
            spec.place,
            f"no answer to {doing} within {limit}.{last_words}",
            "If the server is only slow, raise that limit in dataeval.yaml.",
        )
    if status is not None:
        seen = f"it answered HTTP {status} to {doing}."
    elif _code(error) == _CONNECTION_CLOSED:
        seen = f"it ended or closed the connection during {doing}."
    elif isinstance(error, FileNotFoundError):
        seen = "there is no such command."
    else:
        seen = f"{doing} failed: {type(error).__name__}: {error}."
    return HarnessBroken(
        code,
        spec.place,
        seen + last_words,
        "Start the server by hand with the same command or address to see why.",
    )


def _code(error: BaseException) -> int | None:
    code = getattr(error, "code", None)
    return code if isinstance(code, int) else None


def _data(error: BaseException) -> Mapping[str, Any]:
    data = getattr(error, "data", None)
    return data if isinstance(data, Mapping) else {}


def _status(error: BaseException) -> int | None:
    status = _data(error).get("status")
    return status if isinstance(status, int) else None
