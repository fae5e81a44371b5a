"""The command line's options: their names, and how they are registered.

Imported in every pytest session, so it imports only pytest and the standard
library.
"""

from __future__ import annotations

from collections.abc import Iterator

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


def dest(option: str) -> str:
    """Where pytest keeps the value of an option."""
    return "dataeval_" + option.replace("-", "_")


def option_names() -> list[str]:
    """Names of all options, without dashes in front."""
    return [name for name, *_ in (*VALUE_OPTIONS, *FLAG_OPTIONS, *LONG_OPTIONS)]


def register_long_forms(parser: pytest.Parser) -> None:
    """Register `--dataeval-<name>`, which no other plugin can hold."""
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


def register_short_forms(parser: pytest.Parser) -> None:
    """Register `--<name>` wherever no plugin and no conftest has the name."""
    group = parser.getgroup("dataeval")
    for name, metavar, _ in VALUE_OPTIONS:
        for short in (name, *ALIASES.get(name, ())):
            if _is_free(parser, f"--{short}"):
                text = f"short for --dataeval-{name}"
                group.addoption(
                    f"--{short}", dest=dest(name), metavar=metavar, help=text
                )
    for name, _ in FLAG_OPTIONS:
        if _is_free(parser, f"--{name}"):
            group.addoption(
                f"--{name}",
                dest=dest(name),
                action="store_true",
                default=False,
                help=f"short for --dataeval-{name}",
            )


def _is_free(parser: pytest.Parser, option: str) -> bool:
    """Whether nobody has registered `option`: then the parser does not know it."""
    given = f"{option}=x"
    try:
        return given in parser.parse_known_and_unknown_args([given])[1]
    except pytest.UsageError:
        return False  # somebody's option, which takes no such value


def forget_values(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> None:
    """Keep the values of our short forms out of pytest's first look at paths.

    Until the short forms are registered pytest takes such a value for a path and
    would look there for initial conftests.
    """
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
