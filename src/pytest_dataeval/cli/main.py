"""The command line of `pytest-dataeval`: sub-commands, errors, exit status.

Each sub-command is imported when it is run, so that `--help` costs nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from pytest_dataeval.cli.status import INTERRUPTED, NOT_MEASURED, USAGE
from pytest_dataeval.errors import FileError, FileErrors, HarnessBroken, UsageError

PROGRAM = "pytest-dataeval"

EXIT_STATUS = """\
exit status:
  0  all is well
  1  something was found
  4  the command line, dataeval.yaml or a name in it is wrong
  6  it could not be measured
"""


class _Parser(argparse.ArgumentParser):
    def __init__(self, **options: Any) -> None:
        formatter = argparse.RawDescriptionHelpFormatter
        super().__init__(formatter_class=formatter, allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        # argparse would end the process with status 2, which pytest uses for ^C
        raise UsageError(f"{message} (see {self.prog} --help)")


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version

        print(f"{PROGRAM} {version(PROGRAM)}")
        parser.exit()


def main(argv: Sequence[str] | None = None) -> int:
    """Run one sub-command; gives the exit status (`sys.argv` without `argv`).

    Errors of ours are sentences on stderr. Raises SystemExit(0) after --help and
    --version, as argparse does.
    """
    try:
        arguments = _parser().parse_args(argv)
        status: int = arguments.run(arguments)
        sys.stdout.flush()
        return status
    except (UsageError, FileError, FileErrors) as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return USAGE
    except HarnessBroken as error:
        print(f"{PROGRAM}: not measured: {error.what}: {error}", file=sys.stderr)
        return NOT_MEASURED
    except KeyboardInterrupt:
        print(f"{PROGRAM}: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone; Python's own flush at exit must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOT_MEASURED


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog=PROGRAM,
        description="Golden questions for data agents: what needs no agent.\n"
        "Agents are asked by pytest; see the options under `dataeval` in "
        "`pytest --help`.",
        epilog=EXIT_STATUS,
    )
    parser.add_argument(
        "--version", action=_Version, nargs=0, help="print the version and exit"
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_verify(commands)
    _add_schema(commands)
    _add_report(commands)
    return parser


def _add_verify(commands: Any) -> None:
    parser = commands.add_parser(
        "verify",
        help="run every reference and check that it can be scored against",
        description="Run, twice, every statement that the cases hold: references,\n"
        "alternatives, definitions of terms, and the SQL of must_not_contain, each\n"
        "with the rights that it has in a run. A statement that fails, gives\n"
        "nothing, is cut at the row limit or gives another result the second time\n"
        "is a finding. Values are never printed.",
        epilog=EXIT_STATUS,
    )
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="case files, folders or node ids (FILE::CASE); without any, all cases",
    )
    parser.add_argument(
        "--project",
        type=Path,
        metavar="DIR",
        help="the folder of dataeval.yaml; without it the nearest one at or above "
        "the current folder",
    )
    parser.add_argument(
        "-k",
        dest="word",
        metavar="WORD",
        help="only cases whose id or one of whose tags holds WORD, in either case",
    )
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help="write what was found to FILE as well",
    )
    parser.set_defaults(run=_verify)


def _add_schema(commands: Any) -> None:
    parser = commands.add_parser(
        "schema",
        help="print the JSON Schemas of case files and of dataeval.yaml",
        description="Print the JSON Schema of case files (cases) or of the\n"
        "configuration (dataeval), for editors and other programs; without a name\n"
        "one JSON object that holds both under their names.",
    )
    parser.add_argument(
        "name",
        nargs="?",
        choices=("cases", "dataeval"),
        help="print this one",
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="write NAME.schema.json to this folder in place of printing",
    )
    parser.set_defaults(run=_schema)


def _add_report(commands: Any) -> None:
    parser = commands.add_parser(
        "report",
        help="print the summary of a run again",
        description="Print what the session printed at its end, from the run folder\n"
        "alone. A run that is not complete says so in the first line.",
        epilog=EXIT_STATUS,
    )
    parser.add_argument(
        "folder", type=Path, metavar="RUN", help="a run folder, in .dataeval/runs/"
    )
    parser.add_argument(
        "--json", action="store_true", help="print the summary as JSON instead"
    )
    parser.set_defaults(run=_report)


def _verify(arguments: argparse.Namespace) -> int:
    from pytest_dataeval.cli.verify import verify

    return verify(
        arguments.paths,
        project_folder=arguments.project,
        word=arguments.word,
        json_file=arguments.json,
    )


def _schema(arguments: argparse.Namespace) -> int:
    from pytest_dataeval.cli.schema import schema

    return schema(arguments.name, arguments.output)


def _report(arguments: argparse.Namespace) -> int:
    from pytest_dataeval.cli.report import report

    return report(arguments.folder, as_json=arguments.json)
