"""The tools of an arm for synchronous callers, such as a test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pytest_dataeval.records import ToolResult, ToolSpec

if TYPE_CHECKING:
    from pytest_dataeval.engine.background import BackgroundLoop
    from pytest_dataeval.mcp.toolbox import Toolbox


class ToolFacade:
    """Calls tools over MCP and waits for the result."""

    def __init__(self, loop: BackgroundLoop, toolbox: Toolbox) -> None:
        self._loop = loop
        self._toolbox = toolbox

    @property
    def tools(self) -> Sequence[ToolSpec]:
        """The tools that the arm offers."""
        return self._toolbox.tools

    def call(self, tool: str, /, **arguments: Any) -> ToolResult:
        """Call `tool`; a refusal is a result, a lost server raises HarnessBroken."""
        return self._loop.run(self._toolbox.call(tool, arguments))

    def close(self) -> None:
        """Give the sessions back."""
        self._loop.run(self._toolbox.aclose())
