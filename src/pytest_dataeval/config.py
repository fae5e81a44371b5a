"""dataeval.yaml as a model. Nothing else reads the process environment."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]+$", max_length=60)]


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class WarehouseConfig(Model):
    """Where SQL runs. `url` is a SQLAlchemy URL; a relative DuckDB path is
    taken from the folder of dataeval.yaml. `setup` is a command that builds the
    warehouse; it runs once before the first connection (`python` means this
    interpreter)."""

    url: str
    schemas: list[str] = []
    default_schema: str | None = None
    setup: list[str] = []
    timeout_s: float = Field(default=30.0, gt=0)
    max_rows: int = Field(default=10_000, ge=1)


class CatalogConfig(Model):
    """A catalog file in the bundled catalog's YAML format."""

    file: str


class ServerConfig(Model):
    """An MCP server: bundled, a command over stdio, or a URL.

    `tools` are the names that must be there; `role` says what an arm takes away
    with it. `stateful` servers get a session for each trial.
    """

    bundled: Literal["warehouse", "catalog"] | None = None
    warehouse: str | None = None
    catalog: str | None = None
    command: list[str] | None = None
    env: dict[str, str] = {}
    url: str | None = None
    headers: dict[str, str] = {}
    role: Literal["warehouse", "catalog", "other"] | None = None
    tools: list[str] = []
    stateful: bool = False
    connect_timeout_s: float = Field(default=30.0, gt=0)
    call_timeout_s: float = Field(default=60.0, gt=0)


class PersonaConfig(Model):
    """Who a question is asked as. `withheld` are `schema.table.column` names."""

    roles: list[str] = []
    withheld: list[str] = []
    token: str | None = None


class ArmConfig(Model):
    """Switches on what the agent is given."""

    catalog: bool = True
    descriptions: Literal["full", "schema"] = "full"
    prefetch: bool = False
    prompt: Literal["standard", "minimal"] | None = None
    prompt_file: str | None = None


class AgentConfig(Model):
    """Who is asked. Exactly one of `builtin` and `python`."""

    builtin: Literal["gold", "lexical", "replay"] | None = None
    python: str | None = None
    options: dict[str, Any] = {}
    model: str | None = None
    effort: str | None = None
    timeout_s: float = Field(default=300.0, gt=0)
    max_steps: int = Field(default=16, ge=1)
    paid: bool | None = None


class Profile(Model):
    """A named set of command-line options; explicit options win."""

    agents: list[str] | None = None
    arms: list[str] | Literal["all"] | None = None
    repeats: int | None = Field(default=None, ge=1)
    wordings: int | Literal["all"] | None = None
    concurrency: int | None = Field(default=None, ge=1)
    unreviewed: bool | None = None


class Config(Model):
    """The whole of dataeval.yaml."""

    warehouses: dict[Name, WarehouseConfig] = {}
    catalogs: dict[Name, CatalogConfig] = {}
    servers: dict[Name, ServerConfig] = {}
    personas: dict[Name, PersonaConfig] = {}
    arms: dict[Name, ArmConfig] = {}
    agents: dict[Name, AgentConfig] = {}
    profiles: dict[Name, Profile] = {}
    cases: list[str] = ["cases"]
