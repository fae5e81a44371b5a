"""The program as a whole: help, errors, and what a process sees."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import entry_points, version
from typing import Any

import pytest

from pytest_dataeval.cli.main import main

Program = Callable[..., Any]


def test_the_console_script_is_this_program() -> None:
    (script,) = entry_points(group="console_scripts", name="pytest-dataeval")
    assert script.load() is main


@pytest.mark.parametrize("command", [(), ("verify",), ("schema",), ("report",)])
def test_help_is_no_error(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command, "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(
        " ".join(["usage: pytest-dataeval", *command])
    )


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    expected = f"pytest-dataeval {version('pytest-dataeval')}\n"
    assert capsys.readouterr().out == expected


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "the following arguments are required: COMMAND"),
        (("verfy",), "invalid choice: 'verfy'"),
        (("report",), "the following arguments are required: RUN"),
        (("schema", "case"), "invalid choice: 'case'"),
        (("verify", "--projct", "x"), "unrecognized arguments: --projct"),
    ],
)
def test_a_wrong_command_line_is_one_sentence_and_status_4(
    program: Program, arguments: tuple[str, ...], sentence: str
) -> None:
    ended = program(*arguments)
    assert ended.status == 4
    assert sentence in ended.err
    assert ended.err.startswith("pytest-dataeval: ")
    assert "--help)\n" in ended.err
    assert ended.out == ""


def test_an_interrupt_ends_without_a_traceback(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("pytest_dataeval.cli.schema.schema", interrupted)
    ended = program("schema")
    assert (ended.status, ended.err) == (2, "pytest-dataeval: interrupted\n")


def test_as_a_module_in_a_process_of_its_own() -> None:
    command = [sys.executable, "-m", "pytest_dataeval", "report", "no-such-run"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert done.stdout == ""
    assert done.stderr == (
        "pytest-dataeval: no-such-run is no run folder; runs lie in .dataeval/runs/ of "
        "their project\n"
    )


def test_a_reader_that_goes_away_gets_no_traceback() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest_dataeval", "schema"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(timeout=30) == 6


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from pytest_dataeval.cli.main import main\n"
        "try:\n    main(['--help'])\n"
        "except SystemExit:\n    print(*sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    modules = set(done.stderr.split())
    assert "pytest_dataeval.cli.main" in modules
    for name in (
        "pytest",
        "pydantic",
        "yaml",
        "sqlalchemy",
        "sqlglot",
        "duckdb",
        "mcp",
    ):
        assert name not in modules, name
