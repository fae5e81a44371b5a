"""dataeval.yaml as a model. Nothing else reads the process environment.

The string below a field is its description in the JSON Schema of the file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from .dotenv import read_dotenv
from .errors import FileErrors, HarnessBroken
from .schemadoc import schema_of
from .validation import KeyProblem, nearest, validate
from .yamlfile import Document, KeyPath, read_yaml

CONFIG_FILE = "dataeval.yaml"
DOTENV_FILE = ".env"

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]+$", max_length=60)]
ColumnName = Annotated[str, StringConstraints(pattern=r"^[^.]+\.[^.]+\.[^.]+$")]


_PYTHON_NAME = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*\Z")
_PLACEHOLDER = re.compile(r"\$\$\{|\$\{([^}]*)(\}?)")
_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


class Model(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False
    )


class WarehouseConfig(Model):
    """Where SQL runs."""

    url: str
    """A SQLAlchemy URL; a relative DuckDB path counts from dataeval.yaml's folder."""
    schemas: list[str] = []
    """Schemas that agents and references use; none means all."""
    default_schema: str | None = None
    """The schema of a table that is named without one."""
    setup: list[str] = []
    """A command that builds the warehouse, run once before the first connection;
    `python` as its first word is this interpreter."""
    timeout_s: float = Field(default=30.0, gt=0)
    """Seconds that one statement may take."""
    max_rows: int = Field(default=10_000, ge=1)
    """Rows after which a result is cut."""


class CatalogConfig(Model):
    """A catalog of tables, terms and metrics for the bundled catalog server."""

    file: str
    """The catalog file, counted from dataeval.yaml's folder."""


class ServerConfig(Model):
    """An MCP server: bundled, a command over stdio, or a URL."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [{"required": [key]} for key in ("bundled", "command", "url")]
        }
    )

    bundled: Literal["warehouse", "catalog"] | None = None
    """One of the servers that come with this package."""
    warehouse: str | None = None
    """The warehouse that it serves, by its name."""
    catalog: str | None = None
    """The catalog that it serves, by its name."""
    command: list[str] | None = None
    """A program and its arguments, spoken to over stdio."""
    env: dict[str, str] = {}
    """The environment of `command`."""
    url: str | None = None
    """A streamable HTTP endpoint."""
    headers: dict[str, str] = {}
    """Headers sent to `url`."""
    role: Literal["warehouse", "catalog", "other"] | None = None
    """What it is to an arm: one without a catalog leaves out the catalog servers."""
    tools: list[str] = []
    """Names of tools that must be there."""
    stateful: bool = False
    """True: each trial gets a session of its own."""
    connect_timeout_s: float = Field(default=30.0, gt=0)
    """Seconds until a connection that is not up counts as failed."""
    call_timeout_s: float = Field(default=60.0, gt=0)
    """Seconds that one tool call may take."""

    @model_validator(mode="after")
    def _one_transport(self) -> Self:
        _exclusive(self, ("bundled", "command", "url"), required=True)
        for key, owner in (("env", "command"), ("headers", "url")):
            if getattr(self, key) and getattr(self, owner) is None:
                raise KeyProblem(key, f"{key} belongs to {owner}; delete it")
        if self.command is not None and not self.command:
            raise KeyProblem("command", "must have at least one entry")
        other = {"warehouse": "catalog", "catalog": "warehouse"}
        if self.bundled is not None:
            stray = other[self.bundled]
            if getattr(self, stray) is not None:
                raise KeyProblem(
                    stray, f"the bundled {self.bundled} server takes no {stray}"
                )
            if self.role not in (None, self.bundled):
                raise KeyProblem(
                    "role",
                    f"the bundled {self.bundled} server has the role {self.bundled};"
                    " delete role",
                )
        return self


class PersonaConfig(Model):
    """Who a question is asked as."""

    roles: list[str] = []
    """Roles in its token; a persona without any is refused."""
    withheld: list[ColumnName] = []
    """Columns that it may not read, as `schema.table.column`."""
    token: str | None = None
    """Its bearer token, as a rule `${NAME}`."""


class ArmConfig(Model):
    """Switches on what the agent is given."""

    catalog: bool = True
    """Whether catalog servers are connected."""
    descriptions: Literal["full", "schema"] = "full"
    """`schema` takes the meaning out of what catalog servers say, and keeps names."""
    prefetch: bool = False
    """Whether the schema is in the prompt from the start."""
    prompt: Literal["standard", "minimal"] | None = None
    """One of the built-in prompts."""
    prompt_file: str | None = None
    """A file with an own prompt, in place of a built-in one."""

    @model_validator(mode="after")
    def _one_prompt(self) -> Self:
        _exclusive(self, ("prompt", "prompt_file"))
        return self


class AgentConfig(Model):
    """Who is asked: a built-in agent or a Python class, not both.

    With neither, the agent of this name comes from an entry point or from the
    hook, and the settings here are handed to it.
    """

    builtin: Literal["gold", "lexical", "replay"] | None = None
    """An agent that comes with this package."""
    python: str | None = None
    """A class, as `package.module:Class`."""
    options: dict[str, Any] = {}
    """Settings that only this agent knows."""
    model: str | None = None
    """The model that answers."""
    effort: str | None = None
    """How much the model is to think, in the words of its platform."""
    timeout_s: float = Field(default=300.0, gt=0)
    """Seconds that one ask may take."""
    max_steps: int = Field(default=16, ge=1)
    """Rounds of tool calls that one ask may take."""
    paid: bool | None = None
    """Whether an ask costs money."""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        _exclusive(self, ("builtin", "python"))
        if self.python is not None and not _PYTHON_NAME.match(self.python):
            raise KeyProblem(
                "python", f"expected package.module:Class, found {self.python!r}"
            )
        return self


class Profile(Model):
    """A named set of command-line options; explicit options win."""

    agents: list[str] | None = Field(default=None, min_length=1)
    arms: Annotated[list[str], Field(min_length=1)] | Literal["all"] | None = None
    repeats: int | None = Field(default=None, ge=1)
    wordings: Annotated[int, Field(ge=1)] | Literal["all"] | None = None
    concurrency: int | None = Field(default=None, ge=1)
    unreviewed: bool | None = None
    """True: wordings that no person has reviewed are asked too."""


class Config(Model):
    """The configuration of a project, in dataeval.yaml at its root."""

    warehouses: dict[Name, WarehouseConfig] = {}
    """Where SQL runs."""
    catalogs: dict[Name, CatalogConfig] = {}
    """Catalog files."""
    servers: dict[Name, ServerConfig] = {}
    """MCP servers; without any, the bundled ones are used."""
    personas: dict[Name, PersonaConfig] = {}
    """Who a question can be asked as."""
    arms: dict[Name, ArmConfig] = {}
    """What an agent is given; the first is the default arm."""
    agents: dict[Name, AgentConfig] = {}
    """Who can be asked."""
    profiles: dict[Name, Profile] = {}
    """Named sets of command-line options."""
    cases: list[str] = ["cases"]
    """Folders with case files."""


@dataclass(frozen=True)
class Settings:
    """The configuration of one project, and the secrets that it may use.

    `document` is None where there is no dataeval.yaml.
    """

    config: Config
    rootdir: Path
    document: Document | None
    _environ: Mapping[str, str] = field(repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """Every value that the file's `${NAME}`s stand for, used or not: what a
    process does not use itself it must still mask."""

    def resolve(self, text: str, key: str) -> str:
        """`text` with each `${NAME}` replaced by its value; `$${` gives `${`.

        `key` is the dotted path of the text in dataeval.yaml. Raises
        HarnessBroken if a name is missing, empty or malformed.
        """

        def value(match: re.Match[str]) -> str:
            if match[0] == "$${":
                return "${"
            return self._secret(match[1], bool(match[2]), key)

        return _PLACEHOLDER.sub(value, text)

    def _secret(self, name: str, is_closed: bool, key: str) -> str:
        where = f"{CONFIG_FILE}: {key}"
        if not is_closed or not _ENVIRONMENT_NAME.match(name):
            raise HarnessBroken(
                "secret_missing",
                where,
                "after ${ comes the name of an environment variable, then }.",
                "Write $${ for a literal ${.",
            )
        found = self._environ.get(name, "")
        if not found:
            seen = "empty" if name in self._environ else "not set"
            raise HarnessBroken(
                "secret_missing",
                where,
                f"the environment variable {name} is {seen}.",
                f"Set {name}, or write it to {self.rootdir / DOTENV_FILE}.",
            )
        return found

    def case_folders(self) -> list[Path]:
        """The folders that hold case files, in the order they are named."""
        return [self.rootdir / folder for folder in self.config.cases]


def process_environment() -> dict[str, str]:
    """The environment of this process; the one place that reads it."""
    return dict(os.environ)


def load_settings(rootdir: Path, environ: Mapping[str, str]) -> Settings:
    """Read dataeval.yaml and .env in `rootdir`; either may be absent.

    A variable of `environ`, even an empty one, wins over the same in .env.
    Raises FileErrors.
    """
    dotenv = rootdir / DOTENV_FILE
    merged = {**(read_dotenv(dotenv) if dotenv.is_file() else {}), **environ}
    path = rootdir / CONFIG_FILE
    if not path.exists():
        return Settings(Config(), rootdir, None, merged)
    document = read_yaml(path)
    config = validate(document, Config)
    problems = [
        document.error(key_path, message)
        for key_path, message in _dangling(config, rootdir)
    ]
    if problems:
        raise FileErrors(problems)
    return Settings(config, rootdir, document, merged, _named(path, merged))


def _named(path: Path, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The values of all names that a placeholder in the file mentions."""
    mentions = _PLACEHOLDER.finditer(path.read_text(encoding="utf-8-sig"))
    found = (environ.get(match[1] or "", "") for match in mentions)
    return tuple(dict.fromkeys(value for value in found if value))


def config_schema() -> dict[str, Any]:
    """JSON Schema 2020-12 of dataeval.yaml, for editors and other programs."""
    return schema_of(Config, "dataeval", "pytest-dataeval configuration")


def _dangling(config: Config, rootdir: Path) -> Iterator[tuple[KeyPath, str]]:
    """References to what the configuration does not have."""
    for name, server in config.servers.items():
        if server.warehouse is not None and server.warehouse not in config.warehouses:
            yield (
                ("servers", name, "warehouse"),
                nearest("warehouse", server.warehouse, config.warehouses),
            )
        if server.catalog is not None and server.catalog not in config.catalogs:
            yield (
                ("servers", name, "catalog"),
                nearest("catalog", server.catalog, config.catalogs),
            )
    if "cases" in config.model_fields_set:
        for index, folder in enumerate(config.cases):
            if not (rootdir / folder).is_dir():
                yield (
                    ("cases", index),
                    f"the folder {folder!r} does not exist below {rootdir}",
                )


def _exclusive(model: Model, keys: tuple[str, ...], *, required: bool = False) -> None:
    given = [key for key in keys if getattr(model, key) is not None]
    listed = f"{', '.join(keys[:-1])} and {keys[-1]}"
    if len(given) > 1:
        raise KeyProblem(
            given[1], f"give only one of {listed}, not {' and '.join(given)}"
        )
    if required and not given:
        raise ValueError(f"give one of {listed}")
