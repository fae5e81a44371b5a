"""Running a bundled server on its own, over stdio or HTTP."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_dataeval.config import process_environment
from pytest_dataeval.errors import DataevalError
from pytest_dataeval.mcp.personas import OWNER, PERSONA_VARIABLE, Persona
from pytest_dataeval.mcp.tokens import SECRET_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server import Server


def run_warehouse(arguments: Sequence[str] | None = None) -> None:
    """The warehouse server as a program; exits with 4 on unusable arguments."""
    from pytest_dataeval.config import WarehouseConfig
    from pytest_dataeval.mcp.servers.warehouse import build
    from pytest_dataeval.warehouse.base import open_warehouse

    parser = _parser("warehouse", "Serve one warehouse, read-only, over MCP.")
    parser.add_argument("--url", required=True, help="SQLAlchemy URL")
    parser.add_argument("--name", default="warehouse", help="name of the source")
    parser.add_argument("--schemas", nargs="*", default=[], help="schemas to offer")
    parser.add_argument("--default-schema")
    parser.add_argument("--max-rows", type=int, default=500)
    parser.add_argument("--timeout-s", type=float, default=30.0)
    options = parser.parse_args(arguments)
    config = WarehouseConfig(
        url=options.url,
        schemas=options.schemas,
        default_schema=options.default_schema,
        timeout_s=options.timeout_s,
    )
    try:
        warehouse = open_warehouse(
            options.name, config, url=options.url, rootdir=Path.cwd()
        )
    except DataevalError as error:
        parser.exit(4, f"{parser.prog}: {error}\n")
    try:
        _serve(
            parser,
            options,
            lambda persona: build(
                warehouse,
                persona,
                schemas=options.schemas,
                max_rows=options.max_rows,
                timeout_s=options.timeout_s,
            ),
        )
    finally:
        warehouse.close()


def run_catalog(arguments: Sequence[str] | None = None) -> None:
    """The catalog server as a program; exits with 4 on unusable arguments."""
    from pytest_dataeval.catalog.load import load_catalog
    from pytest_dataeval.mcp.servers.catalog import build

    parser = _parser("catalog", "Serve one catalog file over MCP.")
    parser.add_argument("--catalog", required=True, type=Path, help="catalog file")
    parser.add_argument("--name", default="catalog", help="name of the server")
    options = parser.parse_args(arguments)
    try:
        catalog = load_catalog(options.catalog)
    except (DataevalError, OSError) as error:
        parser.exit(4, f"{parser.prog}: {error}\n")
    _serve(parser, options, lambda persona: build(catalog, persona, name=options.name))


def _parser(name: str, purpose: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m pytest_dataeval.mcp.servers.{name}", description=purpose
    )
    parser.add_argument("--persona", help="who calls, over stdio")
    parser.add_argument("--roles", nargs="*", default=[], help="the persona's roles")
    parser.add_argument(
        "--withheld",
        nargs="*",
        default=[],
        metavar="SCHEMA.TABLE.COLUMN",
        help="columns that the persona may not read",
    )
    parser.add_argument(
        "--personas",
        type=Path,
        help="YAML file with the key `personas`, as in dataeval.yaml",
    )
    parser.add_argument("--transport", choices=("stdio", "http"), default="stdio")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    return parser


def _serve(
    parser: argparse.ArgumentParser,
    options: argparse.Namespace,
    build: Callable[[Persona | None], Server[Any]],
) -> None:
    personas = _personas(parser, options)
    if options.transport == "stdio":
        import anyio

        anyio.run(_serve_stdio, build(_caller(parser, options, personas)))
        return
    secret = process_environment().get(SECRET_VARIABLE, "")
    if not secret:
        parser.exit(
            4,
            f"{parser.prog}: the environment variable {SECRET_VARIABLE} is empty; set "
            "it to the secret that signs the callers' tokens\n",
        )
    if not personas:
        parser.exit(
            4, f"{parser.prog}: over HTTP give --personas, or --persona with --roles\n"
        )
    import uvicorn

    from pytest_dataeval.mcp.servers.http_front import http_app

    app = http_app(build(None), personas, secret, host=options.host)
    uvicorn.run(app, host=options.host, port=options.port, log_level="warning")


async def _serve_stdio(server: Server[Any]) -> None:
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def _caller(
    parser: argparse.ArgumentParser,
    options: argparse.Namespace,
    personas: dict[str, Persona],
) -> Persona:
    """Who calls over stdio: with no personas at all, the owner."""
    if not personas:
        return OWNER
    name = options.persona or process_environment().get(PERSONA_VARIABLE, "")
    if name not in personas:
        known = ", ".join(personas)
        parser.exit(
            4,
            f"{parser.prog}: there is no persona {name!r} in {options.personas}; name "
            f"one by --persona or {PERSONA_VARIABLE}: {known}\n",
        )
    return personas[name]


def _personas(
    parser: argparse.ArgumentParser, options: argparse.Namespace
) -> dict[str, Persona]:
    """The personas of the file, or the one of the command line."""
    if options.personas is None:
        if options.persona is None:
            if options.roles or options.withheld:
                parser.exit(
                    4, f"{parser.prog}: --roles and --withheld need --persona\n"
                )
            return {}
        withheld = frozenset(column.lower() for column in options.withheld)
        return {
            options.persona: Persona(options.persona, tuple(options.roles), withheld)
        }
    from pytest_dataeval.config import Model, PersonaConfig
    from pytest_dataeval.validation import validate
    from pytest_dataeval.yamlfile import read_yaml

    class PersonasFile(Model):
        personas: dict[str, PersonaConfig]

    try:
        read = validate(read_yaml(options.personas), PersonasFile)
    except DataevalError as error:
        parser.exit(4, f"{parser.prog}: {error}\n")
    return {
        name: Persona.from_config(name, body) for name, body in read.personas.items()
    }
