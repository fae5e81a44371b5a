"""What a project's fixtures put in place of the engine's own parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_dataeval.agents.adapt import AdaptedAgent
    from pytest_dataeval.warehouse.base import Warehouse


@dataclass(frozen=True)
class Bindings:
    """Replacements for one trial; None means that the engine's own part stands."""

    agent: AdaptedAgent | None = None
    token_for: Callable[[str], str | None] | None = None
    warehouse: Warehouse | None = None

    @property
    def own_servers(self) -> bool:
        """Whether the trial needs sessions that no other trial shares."""
        return self.token_for is not None or self.warehouse is not None


UNBOUND = Bindings()
