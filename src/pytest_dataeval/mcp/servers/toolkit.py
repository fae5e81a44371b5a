"""What the bundled servers share: tools, argument checks, refusals, results.

A refusal is a result with `is_error` and structured content
`{"refusal": {"kind", "rule", "message"}}`; an error of the source carries
`{"error": {"kind", "message"}}`. So a program tells the two apart, while the text
starts with the words that a reader expects.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pytest_dataeval.mcp.personas import Persona

if TYPE_CHECKING:
    from mcp.server import Server
    from mcp.types import CallToolResult

PERSONA_KEY = "dataeval.persona"
"""Where the HTTP front leaves the caller in the request's ASGI scope."""

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
}


class Refused(Exception):
    """A guard (`kind` guard) or the caller's rights (`kind` access) said no."""

    def __init__(self, kind: str, rule: str, message: str) -> None:
        self.kind = kind
        self.rule = rule
        self.message = message
        super().__init__(message)


class Failed(Exception):
    """The source, or a call's arguments, made an error; `text` is for the agent."""

    def __init__(self, kind: str, text: str, message: str | None = None) -> None:
        self.kind = kind
        self.text = text
        self.message = text if message is None else message
        super().__init__(text)


Handler = Callable[[Persona, Mapping[str, Any]], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. `properties` is JSON Schema by argument; `blocks` runs in a thread."""

    name: str
    description: str
    properties: Mapping[str, Mapping[str, Any]]
    handler: Handler
    required: tuple[str, ...] = ()
    blocks: bool = False

    @property
    def input_schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {name: dict(body) for name, body in self.properties.items()},
            "required": list(self.required),
            "additionalProperties": False,
        }

    def check(self, arguments: Mapping[str, Any]) -> None:
        """Raises Failed with a sentence that names the argument and its remedy."""
        for name in arguments:
            if name not in self.properties:
                raise Failed("arguments", self._unknown(name))
        for name in self.required:
            if name not in arguments:
                raise Failed(
                    "arguments",
                    f"argument {name!r} of {self.name} is missing; it is required",
                )
        for name, value in arguments.items():
            wanted = str(self.properties[name].get("type", ""))
            wrong_bool = isinstance(value, bool) and wanted != "boolean"
            if wanted and (wrong_bool or not isinstance(value, _TYPES[wanted])):
                raise Failed(
                    "arguments",
                    f"argument {name!r} of {self.name} must be of type {wanted}, "
                    f"not {type(value).__name__}",
                )

    def _unknown(self, name: str) -> str:
        plain = name.lower().replace("_", "").replace("-", "")
        for known in self.properties:
            if known.lower() == plain:
                return f"unknown argument {name!r}; this tool wants {known!r}"
        takes = ", ".join(self.properties) or "no arguments"
        return f"unknown argument {name!r}; {self.name} takes: {takes}"


def make_server(
    name: str,
    instructions: str,
    tools: Sequence[Tool],
    persona: Persona | None,
) -> Server[Any]:
    """An MCP server of `tools` for one caller.

    With `persona` None the caller is the one whom the HTTP front verified. A caller
    without roles gets an access refusal from every tool.
    """
    from mcp import MCPError
    from mcp.server import Server
    from mcp.types import INTERNAL_ERROR, ListToolsResult
    from mcp.types import Tool as McpTool

    by_name = {tool.name: tool for tool in tools}
    listed = ListToolsResult(
        tools=[
            McpTool(
                name=tool.name,
                description=tool.description,
                input_schema=tool.input_schema,
            )
            for tool in tools
        ]
    )

    async def list_tools(context: Any, params: Any) -> Any:
        return listed

    async def call_tool(context: Any, params: Any) -> CallToolResult:
        caller = persona if persona is not None else _verified(context.request)
        tool = by_name.get(params.name)
        try:
            if tool is None:
                offered = ", ".join(by_name)
                raise Failed(
                    "arguments", f"there is no tool {params.name!r}; tools: {offered}"
                )
            _admit(caller, name)
            arguments = {
                key: value
                for key, value in (params.arguments or {}).items()
                if value is not None
            }
            tool.check(arguments)
            return _success(await _run(tool, caller, arguments))
        except Refused as refusal:
            return _refusal(refusal)
        except Failed as failure:
            return _failure(failure)
        except Exception as error:
            # a crash is the server's, not an answer: the client must see a fault
            cause = f"{params.name} crashed: {type(error).__name__}: {error}"
            raise MCPError(INTERNAL_ERROR, cause) from error

    return Server(
        name,
        instructions=instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _verified(request: Any) -> Persona:
    caller = None if request is None else request.scope.get(PERSONA_KEY)
    return caller if isinstance(caller, Persona) else Persona("nobody")


def _admit(caller: Persona, server: str) -> None:
    if not caller.roles:
        raise Refused(
            "access",
            "no_role",
            f"you do not have access: {caller.name} has no role on {server}",
        )


async def _run(
    tool: Tool, caller: Persona, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    if not tool.blocks:
        return tool.handler(caller, arguments)
    import anyio.to_thread

    run: Awaitable[dict[str, Any]] = anyio.to_thread.run_sync(
        tool.handler, caller, arguments, abandon_on_cancel=True
    )
    return await run


def _success(payload: dict[str, Any]) -> CallToolResult:
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    return _result(text, payload, is_error=False)


def _refusal(refusal: Refused) -> CallToolResult:
    prefix = "query refused: " if refusal.kind == "guard" else "refused: "
    content = {
        "kind": refusal.kind,
        "rule": refusal.rule,
        "message": refusal.message,
    }
    return _result(prefix + refusal.message, {"refusal": content}, is_error=True)


def _failure(failure: Failed) -> CallToolResult:
    content = {"kind": failure.kind, "message": failure.message}
    return _result(failure.text, {"error": content}, is_error=True)


def _result(text: str, structured: dict[str, Any], *, is_error: bool) -> CallToolResult:
    from mcp.types import CallToolResult, TextContent

    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content=structured,
        is_error=is_error,
    )


def json_value(value: Any) -> Any:
    """A cell as plain JSON, as an agent reads it: numbers stay numbers.

    A Decimal that a float cannot hold exactly, a number that is not finite, and
    every other type become text.
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Decimal):
        if not value.is_finite():
            return str(value)
        if value == value.to_integral_value():
            return int(value)
        number = float(value)
        return number if Decimal(repr(number)) == value else str(value)
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): json_value(item) for key, item in value.items()}
    return str(value)
