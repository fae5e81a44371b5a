"""Everything that asks will need, checked before any of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_dataeval.cases.load import LoadedFile
    from pytest_dataeval.engine.engine import Engine


def preflight(engine: Engine, files: Sequence[LoadedFile]) -> None:
    """Check tokens of all personas, what the files name, agents, and servers.

    Raises UsageError for what does not exist and HarnessBroken for what cannot be
    used.
    """
    project = engine.project
    for persona in project.settings.config.personas:
        project.token_for(persona)
    for file in files:
        for loaded in file.cases:
            project.persona_of(loaded.case)
    warehouses = project.warehouses_of(files)
    for name in warehouses:
        project.prepare_warehouse(name)
    agents = [engine.agent(name) for name in project.axes.agents]
    if any(agent.needs_servers for agent in agents):
        _check_servers(engine, warehouses, files)


def _check_servers(
    engine: Engine, warehouses: Sequence[str], files: Sequence[LoadedFile]
) -> None:
    """Connect the servers of every arm once, as the first persona of the files."""
    project = engine.project
    persona = next(
        (project.persona_of(loaded.case) for file in files for loaded in file.cases),
        None,
    )
    suites: list[str | None] = [*warehouses] or [None]
    for arm in project.arms.values():
        for warehouse in suites:
            if engine.has_servers(warehouse):
                token_for = project.token_for
                check = engine.provider.check(arm, persona, warehouse, token_for)
                engine.loop.run(check)
