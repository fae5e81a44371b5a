"""What `import pytest_dataeval` gives, and what it costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import pytest_dataeval
from pytest_dataeval import records


def test_every_public_name_is_there() -> None:
    for name in pytest_dataeval.__all__:
        assert getattr(pytest_dataeval, name) is not None
    assert pytest_dataeval.Answer is records.Answer
    assert set(pytest_dataeval.__all__) <= set(dir(pytest_dataeval))


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Anser'"):
        _ = pytest_dataeval.Anser  # type: ignore[attr-defined]


def test_importing_the_package_imports_none_of_its_modules() -> None:
    code = (
        "import sys; import pytest_dataeval; "
        "print(*(m for m in sys.modules if m.startswith('pytest_dataeval')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["pytest_dataeval"]


def test_the_agent_contract_imports_nothing_heavy() -> None:
    code = (
        "import sys; from pytest_dataeval import Agent, Answer, assert_agent; "
        "heavy = {'pydantic', 'sqlglot', 'sqlalchemy', 'mcp', 'duckdb', 'pytest'}; "
        "print(*sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []
