"""The pytest plugin's entry: options, markers, and the switch that starts a run.

This module is imported in every pytest session where the package is installed,
so it imports only pytest and the standard library; the rest is imported when
the project has golden questions.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

#: option, metavar, help. Each exists as --dataeval-<option>, and as --<option>
#: where no other plugin has that name.
VALUE_OPTIONS: tuple[tuple[str, str, str], ...] = (
    ("agents", "A,B", "who is asked (default: gold, which costs nothing)"),
    ("arms", "A,B", "what the agent is given, or 'all' (default: the first arm)"),
    ("repeats", "N", "independent asks of each wording (default: 1)"),
    ("wordings", "N", "reviewed wordings to ask of each case, or 'all' (default: 1)"),
    (
        "concurrency",
        "N",
        "asks in flight in one process (default: 8 for agents that wait, else 1)",
    ),
    ("run-dir", "DIR", "folder of this run, new or empty (default: .dataeval/runs/ID)"),
    ("resume", "RUN", "go on with the run in this folder"),
    ("answers", "FILE", "recorded answers for the replay agent, one JSON a line"),
)
FLAG_OPTIONS: tuple[tuple[str, str], ...] = (
    ("unreviewed", "also ask wordings that no person has reviewed"),
)
#: short forms beside their own name
ALIASES = {"agents": ("agent",)}
#: only with the long form
LONG_OPTIONS: tuple[tuple[str, str, str], ...] = (
    ("profile", "NAME", "a named set of options from dataeval.yaml"),
)
TIERS = {
    "L1": "a lookup in one table",
    "L2": "joins and aggregations",
    "L3": "an answer that depends on a definition only the catalog holds",
    "L4": "unanswerable: abstaining is right",
    "L5": "adversarial: a guard must refuse",
}


def dest(option: str) -> str:
    """Where pytest keeps the value of an option."""
    return "dataeval_" + option.replace("-", "_")


def option_names() -> list[str]:
    """Names of all options, without dashes in front."""
    return [name for name, *_ in (*VALUE_OPTIONS, *FLAG_OPTIONS, *LONG_OPTIONS)]


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    from pytest_dataeval import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the long form of each option, which no other plugin can hold.

    https://docs.pytest.org/en/stable/reference/reference.html#pytest.hookspec.pytest_addoption
    """
    group = parser.getgroup("dataeval", "golden questions for data agents")
    for name, metavar, text in (*VALUE_OPTIONS, *LONG_OPTIONS):
        group.addoption(
            f"--dataeval-{name}", dest=dest(name), metavar=metavar, help=text
        )
    for name, text in FLAG_OPTIONS:
        group.addoption(
            f"--dataeval-{name}",
            dest=dest(name),
            action="store_true",
            default=False,
            help=text,
        )


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None]:
    """Register the short forms after every plugin and conftest has had its turn.

    Until then pytest takes the value of an unknown option for a path, so the
    values of ours are taken out of the paths that initial conftests come from.
    """
    _forget_values(early_config, parser, args)
    yield
    group = parser.getgroup("dataeval")
    for name, metavar, _ in VALUE_OPTIONS:
        for short in (name, *ALIASES.get(name, ())):
            text = f"short for --dataeval-{name}"
            _try_option(group, f"--{short}", dest=dest(name), metavar=metavar, help=text)
    for name, _ in FLAG_OPTIONS:
        text = f"short for --dataeval-{name}"
        _try_option(
            group,
            f"--{name}",
            dest=dest(name),
            action="store_true",
            default=False,
            help=text,
        )


def _try_option(group: pytest.OptionGroup, name: str, **keywords: object) -> None:
    try:
        group.addoption(name, **keywords)
    except ValueError:
        return  # another plugin has the name: the long form stands


def _forget_values(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> None:
    shorts = {
        f"--{short}"
        for name, _, _ in VALUE_OPTIONS
        for short in (name, *ALIASES.get(name, ()))
    }
    if not shorts.intersection(args):
        return
    kept = list(_without_values(args, shorts))
    known = parser.parse_known_args(kept)
    early_config.known_args_namespace.file_or_dir = known.file_or_dir


def _without_values(args: list[str], shorts: set[str]) -> Iterator[str]:
    skip = False
    for token in args:
        if skip:
            skip = False
        elif token in shorts:
            skip = True
        else:
            yield token


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register the markers; start a run's session if the project has cases."""
    for tier, text in TIERS.items():
        config.addinivalue_line("markers", f"{tier}: {text}")
    config.addinivalue_line(
        "markers",
        "dataeval(suite=None, tier=None, tags=()): golden questions; on a test that "
        "requests dataeval_trial or dataeval_answer it names the cases to ask",
    )
    if has_golden_questions(config.rootpath):
        from pytest_dataeval.session import start_session

        start_session(config)


def has_golden_questions(rootdir: Path) -> bool:
    """Whether `rootdir` looks like a project of ours; a look, nothing is read."""
    if (rootdir / "dataeval.yaml").is_file():
        return True
    folder = rootdir / "cases"
    if not folder.is_dir():
        return False
    return any(
        name.endswith((".yaml", ".yml"))
        for _, _, names in os.walk(folder)
        for name in names
    )
