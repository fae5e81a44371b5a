"""A project at run time: configuration, names resolved, warehouses opened."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_dataeval.engine.options import RunOptions, read_options
from pytest_dataeval.engine.plan import Axes
from pytest_dataeval.errors import HarnessBroken, UsageError

if TYPE_CHECKING:
    from pytest_dataeval.cases.load import LoadedFile
    from pytest_dataeval.cases.model import Case
    from pytest_dataeval.catalog.model import Catalog
    from pytest_dataeval.config import AgentConfig, Settings
    from pytest_dataeval.mcp.arms import Arm
    from pytest_dataeval.warehouse.base import Warehouse

AgentHook = Callable[[str, "AgentConfig | None"], object | None]


class Project:
    """Everything that trials share in one process.

    Warehouses and catalogs are opened when first named. Raises UsageError for
    names that do not exist and HarnessBroken for what cannot be reached.
    """

    def __init__(
        self, settings: Settings, options: RunOptions, hook: AgentHook | None = None
    ) -> None:
        from pytest_dataeval.mcp.arms import resolve_arms

        self.settings = settings
        self.options = options
        self.hook = hook
        self.arms: dict[str, Arm] = {
            arm.name: arm
            for arm in resolve_arms(settings, options.arms or self._default_arm())
        }
        self.axes = Axes(
            options.agents,
            tuple(self.arms),
            options.repeats,
            options.wordings,
            options.unreviewed,
        )
        self._warehouses: dict[str, Warehouse] = {}
        self._catalogs: dict[str, Catalog] = {}
        self._lock = threading.Lock()

    @classmethod
    def load(
        cls,
        rootdir: Path,
        given: Mapping[str, Any],
        environ: Mapping[str, str],
        invocation_dir: Path,
        hook: AgentHook | None = None,
    ) -> Project:
        """Read dataeval.yaml and merge the command line's options into it."""
        from pytest_dataeval.config import load_settings
        from pytest_dataeval.validation import nearest

        settings = load_settings(rootdir, environ)
        profile = None
        if given.get("profile") is not None:
            profiles = settings.config.profiles
            if given["profile"] not in profiles:
                raise UsageError(nearest("profile", given["profile"], profiles))
            profile = profiles[given["profile"]]
        options = read_options(given, profile, invocation_dir)
        return cls(settings, options, hook)

    def _default_arm(self) -> tuple[str, ...]:
        config = self.settings.config
        if config.arms:
            return (next(iter(config.arms)),)
        has_catalog = bool(config.catalogs) or any(
            server.role == "catalog" or server.bundled == "catalog"
            for server in config.servers.values()
        )
        return ("catalog",) if has_catalog else ("none",)

    def warehouse(self, name: str) -> Warehouse:
        """The open warehouse `name`. Raises HarnessBroken or UsageError."""
        with self._lock:
            if name not in self._warehouses:
                self._warehouses[name] = self._open(name)
            return self._warehouses[name]

    def _open(self, name: str) -> Warehouse:
        from pytest_dataeval.validation import nearest
        from pytest_dataeval.warehouse.base import open_warehouse

        known = self.settings.config.warehouses
        if name not in known:
            raise UsageError(nearest("warehouse", name, known))
        config = known[name]
        url = self.settings.resolve(config.url, f"warehouses.{name}.url")
        return open_warehouse(name, config, url=url, rootdir=self.settings.rootdir)

    def prepare_warehouse(self, name: str) -> None:
        """Run the warehouse's `setup` command, once; then open it."""
        from pytest_dataeval.warehouse.setup import prepare

        config = self.settings.config.warehouses.get(name)
        if config is not None and config.setup:
            prepare(name, config, self.settings.rootdir)
        self.warehouse(name)

    def catalog(self, name: str) -> Catalog:
        """The catalog `name`, read once."""
        from pytest_dataeval.catalog.load import load_catalog
        from pytest_dataeval.validation import nearest

        with self._lock:
            if name not in self._catalogs:
                known = self.settings.config.catalogs
                if name not in known:
                    raise UsageError(nearest("catalog", name, known))
                path = self.settings.rootdir / known[name].file
                self._catalogs[name] = load_catalog(path)
            return self._catalogs[name]

    def persona_of(self, case: Case) -> str | None:
        """Who the case is asked as; None where no personas are configured."""
        from pytest_dataeval.validation import nearest

        personas = self.settings.config.personas
        if case.persona is None:
            return next(iter(personas), None)
        if personas and case.persona not in personas:
            raise UsageError(
                f"case {case.id}: " + nearest("persona", case.persona, personas)
            )
        return case.persona

    def may_cost(self, name: str) -> bool:
        """Whether asking the agent may cost money; nothing is imported to know."""
        from pytest_dataeval.agents.load import BUILTINS

        config = self.settings.config.agents.get(name)
        if config is not None and config.paid is not None:
            return config.paid
        return ((config.builtin if config else None) or name) not in BUILTINS or (
            config is not None and config.python is not None
        )

    def agent_identity(self, name: str) -> dict[str, Any]:
        """What pins an agent: where it comes from, its model, effort and options."""
        from pytest_dataeval.records import canonical_json, sha256_text

        config = self.settings.config.agents.get(name)
        if config is None:
            return {"from": name, "model": None, "effort": None, "options": None}
        options = canonical_json(config.options) if config.options else None
        return {
            "from": config.python or config.builtin or name,
            "model": config.model,
            "effort": config.effort,
            "options": sha256_text(options) if options is not None else None,
        }

    def withheld(self, persona: str | None) -> frozenset[str]:
        """Columns, as `schema.table.column`, that the persona may not read."""
        if persona is None or persona not in self.settings.config.personas:
            return frozenset()
        columns = self.settings.config.personas[persona].withheld
        return frozenset(column.lower() for column in columns)

    def token_for(self, persona: str) -> str | None:
        """The persona's configured bearer token, or None.

        Raises HarnessBroken if its secret is missing or the token has expired.
        """
        import time

        from pytest_dataeval.mcp.tokens import expiry

        config = self.settings.config.personas.get(persona)
        if config is None or config.token is None:
            return None
        key = f"personas.{persona}.token"
        token = self.settings.resolve(config.token, key)
        ends = expiry(token)
        if ends is not None and ends <= time.time():
            raise HarnessBroken(
                "token_expired",
                f"dataeval.yaml: {key}",
                f"the token of persona {persona!r} has expired",
                "Give a fresh one; every ask with a dead token would look like a "
                "weaker agent.",
            )
        return token

    def warehouses_of(self, files: Iterable[LoadedFile]) -> list[str]:
        """Names of the warehouses that case files need, checked to exist."""
        from pytest_dataeval.validation import nearest

        found: list[str] = []
        known = self.settings.config.warehouses
        for file in files:
            name = file.warehouse
            if name is None or name in found:
                continue
            if name not in known:
                raise UsageError(f"{file.path}: " + nearest("warehouse", name, known))
            found.append(name)
        return found

    def close(self) -> None:
        """Close the warehouses."""
        for warehouse in self._warehouses.values():
            warehouse.close()
        self._warehouses.clear()
