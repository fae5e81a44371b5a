"""Golden questions for data agents as pytest items.

The public names are loaded on first use, so that importing the package (which
pytest does in every project where it is installed) costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_dataeval.agents.base import Agent, Context, SyncAgent, SyncContext
    from pytest_dataeval.agents.check import assert_agent
    from pytest_dataeval.cases.model import Case
    from pytest_dataeval.errors import HarnessBroken
    from pytest_dataeval.records import (
        Answer,
        Column,
        Refusal,
        ResultSet,
        Score,
        ToolCall,
        ToolResult,
        ToolSpec,
        TrialKey,
        Usage,
    )

__all__ = [
    "Agent",
    "Answer",
    "Case",
    "Column",
    "Context",
    "HarnessBroken",
    "Refusal",
    "ResultSet",
    "Score",
    "SyncAgent",
    "SyncContext",
    "ToolCall",
    "ToolResult",
    "ToolSpec",
    "TrialKey",
    "Usage",
    "assert_agent",
]

_MODULES = {
    "Agent": "agents.base",
    "Case": "cases.model",
    "Context": "agents.base",
    "HarnessBroken": "errors",
    "SyncAgent": "agents.base",
    "SyncContext": "agents.base",
    "assert_agent": "agents.check",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    module = importlib.import_module(f"{__name__}.{_MODULES.get(name, 'records')}")
    value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
