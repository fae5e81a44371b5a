"""What a trial is given: the servers of its arm, opened as its persona."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from pytest_dataeval.errors import UsageError
from pytest_dataeval.mcp.bridge import Bridge, CallLog
from pytest_dataeval.mcp.personas import PERSONA_VARIABLE, persona_of
from pytest_dataeval.mcp.sessions import Session, SessionKey, SessionPool
from pytest_dataeval.mcp.tokens import TOKEN_VARIABLE
from pytest_dataeval.mcp.toolbox import Toolbox
from pytest_dataeval.mcp.transports import (
    Http,
    InProcess,
    ServerSpec,
    Stdio,
    Transport,
)

if TYPE_CHECKING:
    from pytest_dataeval.catalog.model import Catalog
    from pytest_dataeval.config import ServerConfig, Settings
    from pytest_dataeval.mcp.arms import Arm
    from pytest_dataeval.mcp.personas import Persona
    from pytest_dataeval.warehouse.base import Warehouse

TokenFor = Callable[[str], str | None]


class Provider:
    """Makes the toolbox of each trial. One per process; it owns the session pool.

    `warehouse` and `catalog` give the open warehouse and the read catalog of a name
    in dataeval.yaml. Use it on one event loop and close it there. A server over HTTP
    gets the persona's token as its bearer; one over stdio gets the persona and the
    token in the variables DATAEVAL_PERSONA and DATAEVAL_PERSONA_TOKEN.
    """

    def __init__(
        self,
        settings: Settings,
        warehouse: Callable[[str], Warehouse],
        catalog: Callable[[str], Catalog],
    ) -> None:
        self._settings = settings
        self._warehouse = warehouse
        self._catalog = catalog
        self._pool = SessionPool()

    async def open(
        self,
        arm: Arm,
        persona: str | None,
        warehouse: str | None,
        token_for: TokenFor = lambda persona: None,
    ) -> Toolbox:
        """The toolbox for one trial; close it when the ask has ended.

        Raises HarnessBroken if a server of the arm cannot be used, UsageError if the
        configuration cannot give what the arm promises.
        """
        specs = self.specs(arm, persona, warehouse, token_for)
        sessions: list[Session] = []

        def release() -> None:
            for session in sessions:
                self._pool.release(session)

        try:
            for spec in specs:
                key = SessionKey(spec.name, warehouse or "", persona or "", arm.name)
                sessions.append(await self._pool.acquire(key, spec))
        except BaseException:
            release()
            raise
        log = CallLog()
        schema_only = arm.descriptions == "schema"
        bridges = [Bridge(s, log, schema_only=schema_only) for s in sessions]
        return Toolbox(bridges, log, release)

    async def check(
        self,
        arm: Arm,
        persona: str | None,
        warehouse: str | None,
        token_for: TokenFor = lambda persona: None,
    ) -> list[str]:
        """Connect everything that the arm needs, before anything is asked.

        Returns the tools' names; the sessions stay open for the trials. Raises as
        `open` does, and for an arm that prefetches also if the schema is not told.
        """
        toolbox = await self.open(arm, persona, warehouse, token_for)
        try:
            if arm.prefetch:
                await toolbox.schema_text()
            return [tool.name for tool in toolbox.tools]
        finally:
            await toolbox.aclose()

    def specs(
        self,
        arm: Arm,
        persona: str | None,
        warehouse: str | None,
        token_for: TokenFor = lambda persona: None,
    ) -> list[ServerSpec]:
        """The servers that an arm gives its agent, in the order of dataeval.yaml."""
        caller = persona_of(persona, self._settings.config.personas)
        specs = [
            self._spec(name, config, caller, persona, warehouse, token_for)
            for name, config in self._servers(warehouse).items()
            if arm.catalog or _role(config) != "catalog"
        ]
        if arm.catalog and all(spec.role != "catalog" for spec in specs):
            suite = f" for warehouse {warehouse!r}" if warehouse else ""
            raise UsageError(
                f"arm {arm.name!r} gives the agent a catalog, but dataeval.yaml has "
                f"none{suite}; add one under `catalogs` or a server with "
                "`role: catalog`, or ask the arms none and floor"
            )
        return specs

    async def aclose(self) -> None:
        """Close every session."""
        await self._pool.aclose()

    def _servers(self, warehouse: str | None) -> dict[str, ServerConfig]:
        """The configured servers, or the bundled ones if none is configured."""
        from pytest_dataeval.config import ServerConfig

        config = self._settings.config
        if config.servers:
            return dict(config.servers)
        servers = {}
        if warehouse is not None:
            servers["warehouse"] = ServerConfig(
                bundled="warehouse", warehouse=warehouse
            )
        catalog = self._catalog_of(warehouse)
        if catalog is not None:
            servers["catalog"] = ServerConfig(bundled="catalog", catalog=catalog)
        return servers

    def _catalog_of(self, warehouse: str | None) -> str | None:
        """The catalog of the warehouse's name, or else the only one."""
        names = list(self._settings.config.catalogs)
        if warehouse in names:
            return warehouse
        return names[0] if len(names) == 1 else None

    def _spec(
        self,
        name: str,
        config: ServerConfig,
        caller: Persona,
        persona: str | None,
        warehouse: str | None,
        token_for: TokenFor,
    ) -> ServerSpec:
        transport, tools = self._transport(
            name, config, caller, persona, warehouse, token_for
        )
        return ServerSpec(
            name=name,
            role=_role(config),
            transport=transport,
            tools=tuple(config.tools) or tools,
            stateful=config.stateful,
            connect_timeout_s=config.connect_timeout_s,
            call_timeout_s=config.call_timeout_s,
        )

    def _transport(
        self,
        name: str,
        config: ServerConfig,
        caller: Persona,
        persona: str | None,
        warehouse: str | None,
        token_for: TokenFor,
    ) -> tuple[Transport, tuple[str, ...]]:
        """How the server is reached, and the tools that a bundled one must offer."""
        key = f"servers.{name}"
        resolve = self._settings.resolve
        if config.bundled == "warehouse":
            return self._bundled_warehouse(key, config, caller, warehouse)
        if config.bundled == "catalog":
            return self._bundled_catalog(name, config, caller, warehouse)
        if config.command is not None:
            env = {k: resolve(v, f"{key}.env.{k}") for k, v in config.env.items()}
            if persona is not None:
                token = token_for(persona)
                env[PERSONA_VARIABLE] = persona
                env |= {TOKEN_VARIABLE: token} if token is not None else {}
            command = tuple(
                resolve(word, f"{key}.command[{place}]")
                for place, word in enumerate(config.command)
            )
            return Stdio(command, env, self._settings.rootdir), ()
        headers = {
            k: resolve(v, f"{key}.headers.{k}") for k, v in config.headers.items()
        }
        bearer = None if persona is None else partial(token_for, persona)
        url = resolve(str(config.url), f"{key}.url")
        return Http(url, headers, bearer, config.call_timeout_s), ()

    def _bundled_warehouse(
        self, key: str, config: ServerConfig, caller: Persona, warehouse: str | None
    ) -> tuple[Transport, tuple[str, ...]]:
        from pytest_dataeval.mcp.servers import warehouse as server

        name = config.warehouse or warehouse
        if name is None:
            raise UsageError(
                f"dataeval.yaml: {key}: it needs `warehouse`, since the suite names none"
            )
        source = self._warehouse(name)
        settings = self._settings.config.warehouses[name]
        return (
            InProcess(
                lambda: server.build(
                    source,
                    caller,
                    schemas=settings.schemas,
                    timeout_s=settings.timeout_s,
                )
            ),
            server.TOOLS,
        )

    def _bundled_catalog(
        self, name: str, config: ServerConfig, caller: Persona, warehouse: str | None
    ) -> tuple[Transport, tuple[str, ...]]:
        from pytest_dataeval.mcp.servers import catalog as server

        chosen = config.catalog or self._catalog_of(warehouse)
        if chosen is None:
            raise UsageError(
                f"dataeval.yaml: servers.{name}: it needs `catalog`, the name of one "
                "under `catalogs`"
            )
        model = self._catalog(chosen)
        return InProcess(lambda: server.build(model, caller, name=name)), server.TOOLS


def _role(config: ServerConfig) -> str:
    return config.role or config.bundled or "other"
