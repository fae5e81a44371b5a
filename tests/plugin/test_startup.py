"""What the plugin costs a project that has no golden questions."""

from __future__ import annotations

import json

from .conftest import Project

LIST = """
    import json, sys

    def pytest_unconfigure(config):
        with open("modules.json", "w") as file:
            json.dump(sorted(sys.modules), file)
"""

#: imported for other reasons by pytest itself or by the standard library
OURS_AT_MOST = {
    "pytest_dataeval",
    "pytest_dataeval.cmdline",
    "pytest_dataeval.hookspecs",
    "pytest_dataeval.plugin",
}
HEAVY = (
    "pydantic",
    "yaml",
    "sqlalchemy",
    "sqlglot",
    "duckdb",
    "mcp",
    "jwt",
    "filelock",
    "httpx2",
    "asyncio",
)


def imported(project: Project, *args: str) -> set[str]:
    project.write("conftest.py", LIST)
    project.pytest(*args)
    return set(json.loads((project.root / "modules.json").read_text()))


def test_a_project_without_golden_questions_imports_four_small_modules(
    project: Project,
) -> None:
    project.write("tests/test_one.py", "def test_one():\n    pass\n")
    with_us = imported(project, "-q", "tests")
    without = imported(project, "-q", "tests", "-p", "no:dataeval")
    assert {m for m in with_us if m.startswith("pytest_dataeval")} == OURS_AT_MOST
    assert with_us - without - OURS_AT_MOST == set()


def test_a_suite_without_sql_imports_no_warehouse_and_no_mcp(words: Project) -> None:
    modules = imported(words, "-q", "--agents", "mine")
    for name in ("sqlalchemy", "sqlglot", "duckdb", "mcp", "jwt", "httpx2"):
        assert name not in modules, name
    assert "pydantic" in modules
    assert set(HEAVY) - modules  # the list above is part of what is watched
