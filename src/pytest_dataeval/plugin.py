"""The pytest plugin's entry: options, markers, and the switch that starts a run.

This module is imported in every pytest session where the package is installed,
so it imports only pytest and the standard library; the rest is imported when
the project has golden questions.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from pytest_dataeval import cmdline

TIERS = {
    "L1": "a lookup in one table",
    "L2": "joins and aggregations",
    "L3": "an answer that depends on a definition only the catalog holds",
    "L4": "unanswerable: abstaining is right",
    "L5": "adversarial: a guard must refuse",
}


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    from pytest_dataeval import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the long form of each option.

    https://docs.pytest.org/en/stable/reference/reference.html#pytest.hookspec.pytest_addoption
    """
    cmdline.register_long_forms(parser)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None]:
    """Register the short forms after every plugin and conftest has had its turn."""
    cmdline.forget_values(early_config, parser, args)
    yield
    cmdline.register_short_forms(parser)


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
