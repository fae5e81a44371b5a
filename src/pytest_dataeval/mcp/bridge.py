"""The bridge: one server in front of one trial, recorded and, if asked, redacted."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_dataeval.errors import HarnessBroken
from pytest_dataeval.mcp.redaction import redact_json, redact_text
from pytest_dataeval.mcp.sessions import Session
from pytest_dataeval.records import Refusal, ToolCall, ToolResult, ToolSpec

if TYPE_CHECKING:
    from mcp.types import CallToolResult

_REFUSAL_PREFIXES = (
    ("query refused:", "guard"),
    ("refused:", "access"),
    ("you do not have access", "access"),
)


class CallLog:
    """The calls of one trial over all its bridges, in the order they began."""

    def __init__(self) -> None:
        self._next = 0
        self._calls: dict[int, ToolCall] = {}

    def begin(self) -> int:
        """A place in the order, taken before the call starts."""
        self._next += 1
        return self._next

    def end(self, place: int, call: ToolCall) -> None:
        self._calls[place] = call

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(self._calls[place] for place in sorted(self._calls))


class Bridge:
    """Passes calls to a session and writes down what went to and fro.

    With `schema_only` the agent, and the record, get results emptied of meaning.
    """

    def __init__(self, session: Session, log: CallLog, *, schema_only: bool) -> None:
        self.session = session
        self._log = log
        self._schema_only = schema_only

    def tools(self) -> tuple[ToolSpec, ...]:
        """The server's tools, never redacted: what a tool is for is method."""
        return self.session.tools

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Call a tool and record it. A lost server raises HarnessBroken."""
        place = self._log.begin()
        started, clock = time.time(), time.perf_counter()

        def record(result: ToolResult) -> None:
            ms = (time.perf_counter() - clock) * 1000
            server = self.session.spec.name
            call = ToolCall(server, name, dict(arguments), result, started, ms)
            self._log.end(place, call)

        try:
            result = await self.fetch(name, arguments)
        except asyncio.CancelledError:
            record(ToolResult("the ask ended before this call did", is_error=True))
            raise
        record(result)
        return result

    async def fetch(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """What the agent would get from a call, without a record."""
        raw = await self.session.call(name, arguments)
        self._check_source(raw)
        return self._result(raw, arguments)

    def _check_source(self, raw: CallToolResult) -> None:
        """A warehouse that our server cannot reach is our fault, not an answer."""
        error = (raw.structured_content or {}).get("error") if raw.is_error else None
        if isinstance(error, Mapping) and error.get("kind") == "broken":
            raise HarnessBroken(
                "warehouse_unreachable",
                self.session.spec.place,
                f"its source cannot be used: {error.get('message')}",
            )

    def _result(self, raw: CallToolResult, arguments: Mapping[str, Any]) -> ToolResult:
        blocks = [_block_text(block) for block in raw.content]
        structured = raw.structured_content
        if raw.is_error:
            text = "\n".join(blocks)
            return ToolResult(text, True, structured, _refusal(text, structured))
        if self._schema_only:
            catalog = self.session.spec.role == "catalog"
            kind = arguments.get("entityType")
            entity_type = kind if isinstance(kind, str) else None
            blocks = [
                redact_text(block, catalog=catalog, entity_type=entity_type)
                for block in blocks
            ]
            structured = redact_json(
                structured, catalog=catalog, entity_type=entity_type
            )
        if not blocks and structured is not None:
            blocks = [json.dumps(structured, ensure_ascii=False)]
        return ToolResult("\n".join(blocks), False, structured, None)


def _block_text(block: Any) -> str:
    """The text of one content block; what is no text is named in brackets."""
    text = getattr(block, "text", None)
    if isinstance(text, str):
        return text
    inner = getattr(getattr(block, "resource", None), "text", None)
    return inner if isinstance(inner, str) else f"[{block.type}]"


def _refusal(text: str, structured: Mapping[str, Any] | None) -> Refusal | None:
    """The refusal in an error result, told by its fields, or else by its words."""
    fields = (structured or {}).get("refusal")
    if isinstance(fields, Mapping):
        kind = "guard" if fields.get("kind") == "guard" else "access"
        return Refusal(
            kind, str(fields.get("rule", "")), str(fields.get("message", text))
        )
    words = text.strip()
    if words.startswith("Error executing tool "):
        words = words.partition(": ")[2]
    for prefix, kind in _REFUSAL_PREFIXES:
        if words.lower().startswith(prefix):
            return Refusal(kind, "", words[len(prefix) :].strip(" :") or words)
    return None
