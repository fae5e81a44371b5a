"""dataeval.yaml and .env: what is read, what is refused, how secrets come in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_dataeval.config import (
    AgentConfig,
    Config,
    Settings,
    config_schema,
    load_settings,
    process_environment,
)
from pytest_dataeval.dotenv import read_dotenv
from pytest_dataeval.errors import FileErrors, HarnessBroken
from pytest_dataeval.schemadoc import schema_text

ROOT = Path(__file__).parents[2]


def settings_of(folder: Path, text: str) -> Settings:
    (folder / "dataeval.yaml").write_text(text, encoding="utf-8")
    return load_settings(folder, {})


def test_a_project_without_configuration_has_the_defaults(tmp_path: Path) -> None:
    settings = load_settings(tmp_path, {})
    assert settings.config == Config()
    assert settings.document is None
    assert settings.case_folders() == [tmp_path / "cases"]
    assert settings.secrets == ()


def test_a_whole_configuration(tmp_path: Path) -> None:
    (tmp_path / "golden").mkdir()
    settings = settings_of(
        tmp_path,
        """\
warehouses: {support: {url: "duckdb:///support.duckdb", timeout_s: 5}}
catalogs: {support: {file: catalog.yaml}}
servers:
  warehouse: {bundled: warehouse, warehouse: support}
  catalog: {bundled: catalog, catalog: support, tools: [search_metadata]}
  remote: {url: "https://mcp.example.com", headers: {X-Team: a}, role: other}
  local: {command: [python, server.py], env: {A: b}}
personas: {alice: {roles: [analyst], withheld: [support.agents.email]}}
arms: {catalog: {}, bare: {catalog: false, prompt: minimal}}
agents: {mine: {python: "pkg.mod:Agent", options: {deep: {x: [1]}}}, theirs: {}}
profiles: {nightly: {arms: all, repeats: 5, wordings: all}}
cases: [golden]
""",
    )
    config = settings.config
    assert list(config.servers) == ["warehouse", "catalog", "remote", "local"]
    assert config.warehouses["support"].timeout_s == 5.0
    assert config.agents["mine"].options == {"deep": {"x": [1]}}
    assert config.agents["theirs"] == AgentConfig()
    assert config.profiles["nightly"].arms == "all"
    assert settings.case_folders() == [tmp_path / "golden"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Arms: {}", "1:1: Arms: unknown key 'Arms'; did you mean 'arms'?"),
        (
            "servers: {s: {bundled: warehouse, url: x}}",
            "1:35: servers.s.url: give only one of bundled, command and url, not"
            " bundled and url",
        ),
        ("servers: {s: {}}", "1:11: servers.s: give one of bundled, command and url"),
        (
            "servers: {s: {url: x, env: {A: b}}}",
            "1:23: servers.s.env: env belongs to command; delete it",
        ),
        (
            "servers: {s: {command: [x], headers: {A: b}}}",
            "1:29: servers.s.headers: headers belongs to url; delete it",
        ),
        (
            "servers: {s: {command: []}}",
            "1:15: servers.s.command: must have at least one entry",
        ),
        (
            "servers: {s: {bundled: warehouse, catalog: c}}",
            "1:35: servers.s.catalog: the bundled warehouse server takes no catalog",
        ),
        (
            "servers: {s: {bundled: catalog, role: other}}",
            "1:33: servers.s.role: the bundled catalog server has the role catalog;"
            " delete role",
        ),
        (
            "warehouses: {support: {url: x}}\n"
            "servers: {s: {bundled: warehouse, warehouse: suport}}",
            "2:35: servers.s.warehouse: unknown warehouse 'suport'; known: support;"
            " did you mean 'support'?",
        ),
        (
            "servers: {s: {bundled: catalog, catalog: c}}",
            "1:33: servers.s.catalog: unknown catalog 'c'; known: none",
        ),
        (
            "agents: {a: {builtin: gold, python: 'm:C'}}",
            "1:29: agents.a.python: give only one of builtin and python, not builtin"
            " and python",
        ),
        (
            "agents: {a: {python: pkg.mod}}",
            "1:14: agents.a.python: expected package.module:Class, found 'pkg.mod'",
        ),
        (
            "arms: {a: {prompt: minimal, prompt_file: p.md}}",
            "1:29: arms.a.prompt_file: give only one of prompt and prompt_file, not"
            " prompt and prompt_file",
        ),
        (
            "arms: {Catalog: {}}",
            "1:8: arms.Catalog: 'Catalog' does not fit ^[a-z0-9_-]+$",
        ),
        (
            "personas: {p: {withheld: [email]}}",
            r"1:27: personas.p.withheld[0]: 'email' does not fit"
            r" ^[^.]+\.[^.]+\.[^.]+$",
        ),
        (
            "profiles: {p: {wordings: two}}",
            "1:16: profiles.p.wordings: expected a whole number or all, found the text"
            " 'two'",
        ),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FileErrors) as caught:
        settings_of(tmp_path, text)
    assert str(caught.value) == f"{tmp_path / 'dataeval.yaml'}:{message}"


def test_a_named_case_folder_must_exist(tmp_path: Path) -> None:
    with pytest.raises(FileErrors) as caught:
        settings_of(tmp_path, "cases: [golden]")
    assert str(caught.value) == (
        f"{tmp_path / 'dataeval.yaml'}:1:9: cases[0]: the folder 'golden' does not"
        f" exist below {tmp_path}"
    )


def test_names_are_resolved(tmp_path: Path) -> None:
    settings = load_settings(tmp_path, {"USER": "alice", "PASSWORD": "hunter22"})
    url = "postgresql://${USER}:${PASSWORD}@h/$${x}?a=$1"
    assert (
        settings.resolve(url, "warehouses.w.url")
        == "postgresql://alice:hunter22@h/${x}?a=$1"
    )


def test_every_named_secret_is_known_before_it_is_used(tmp_path: Path) -> None:
    """A process masks what another one of the run uses."""
    text = (
        'warehouses: {w: {url: "postgresql://${USER}:${PASSWORD}@h/$${x}"}}\n'
        'personas: {p: {token: "${TOKEN}"}, q: {token: "${UNSET}"}}\n'
    )
    (tmp_path / "dataeval.yaml").write_text(text)
    values = {"USER": "alice", "PASSWORD": "hunter22", "TOKEN": "t0ken", "x": "no"}
    assert load_settings(tmp_path, values).secrets == ("alice", "hunter22", "t0ken")


def test_a_value_is_not_resolved_again(tmp_path: Path) -> None:
    settings = load_settings(tmp_path, {"A": "${B}"})
    assert settings.resolve("${A}", "x") == "${B}"


@pytest.mark.parametrize(
    ("environ", "seen"), [({}, "not set"), ({"TOKEN": ""}, "empty")]
)
def test_a_missing_or_empty_secret_is_named(
    tmp_path: Path, environ: dict[str, str], seen: str
) -> None:
    settings = load_settings(tmp_path, environ)
    with pytest.raises(HarnessBroken) as caught:
        settings.resolve("Bearer ${TOKEN}", "servers.s.headers.Authorization")
    assert caught.value.what == "secret_missing"
    assert str(caught.value) == (
        "dataeval.yaml: servers.s.headers.Authorization: the environment variable"
        f" TOKEN is {seen}. Set TOKEN, or write it to {tmp_path / '.env'}."
    )


@pytest.mark.parametrize("text", ["${", "${A", "${}", "${a b}", "${1}"])
def test_a_malformed_name_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(HarnessBroken) as caught:
        load_settings(tmp_path, {"A": "x"}).resolve(text, "k")
    assert str(caught.value) == (
        "dataeval.yaml: k: after ${ comes the name of an environment variable, then }."
        " Write $${ for a literal ${."
    )


def test_the_environment_wins_over_dotenv_even_when_empty(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=file\nB=file\nC=file\n")
    settings = load_settings(tmp_path, {"A": "process", "B": ""})
    assert settings.resolve("${A} ${C}", "k") == "process file"
    with pytest.raises(HarnessBroken, match="B is empty"):
        settings.resolve("${B}", "k")


def test_settings_show_no_secret(tmp_path: Path) -> None:
    settings = load_settings(tmp_path, {"A": "hunter22"})
    settings.resolve("${A}", "k")
    assert "hunter22" not in repr(settings)


def test_the_process_environment_is_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATAEVAL_EXAMPLE", "1")
    environ = process_environment()
    monkeypatch.setenv("DATAEVAL_EXAMPLE", "2")
    assert environ["DATAEVAL_EXAMPLE"] == "1"


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=b", "b"),
        ("  export A = b  ", "b"),
        ("A=", ""),
        ("A=b # comment", "b"),
        ("A= # comment", ""),
        ("A=b#c", "b#c"),
        ("A=b=c", "b=c"),
        ("A='b # c' # d", "b # c"),
        ("A='b\\n'", "b\\n"),
        ('A="b\\n\\"c\\" \\\\"', 'b\n"c" \\'),
        ('A="b # c"', "b # c"),
        ("A=${B}", "${B}"),
        ("\ufeffA=b", "b"),
        ("A=b\r", "b"),
        ("A=x\nA=y", "y"),
    ],
)
def test_dotenv_lines(tmp_path: Path, line: str, value: str) -> None:
    path = tmp_path / ".env"
    path.write_text(f"{line}\n\n# A=z\n", encoding="utf-8", newline="")
    assert read_dotenv(path) == {"A": value}


def test_bad_dotenv_lines_are_named_without_their_content(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("hunter22\nA=ok\nB=\"hunter22\nC='x' y\n1A=hunter22\n")
    with pytest.raises(FileErrors) as caught:
        read_dotenv(path)
    assert str(caught.value) == (
        f"{path}:1:1: expected NAME=value, or a comment that begins with #\n"
        f"{path}:3:3: B: the value must end with the quote that it begins with\n"
        f"{path}:4:3: C: the value must end with the quote that it begins with\n"
        f"{path}:5:1: expected NAME=value, or a comment that begins with #"
    )


def test_a_dotenv_file_of_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_bytes(b"A=\xff")
    with pytest.raises(FileErrors, match="the file is not UTF-8; save it as UTF-8"):
        read_dotenv(path)


def test_the_published_schema_is_current() -> None:
    published = ROOT / "docs" / "schemas" / "dataeval.schema.json"
    assert published.read_text(encoding="utf-8") == schema_text(config_schema())


def test_the_schema_describes_sections_and_keys() -> None:
    schema = config_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == "urn:pytest-dataeval:schema:dataeval"
    assert schema["additionalProperties"] is False
    assert schema["properties"]["arms"]["description"] == (
        "What an agent is given; the first is the default arm."
    )
    server = schema["$defs"]["ServerConfig"]
    assert server["properties"]["url"]["description"] == "A streamable HTTP endpoint."
    assert json.loads(schema_text(schema)) == schema
