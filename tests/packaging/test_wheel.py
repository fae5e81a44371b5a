"""The built wheel, in an empty environment, runs a project of ten lines."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent

#: a user's whole project: a DuckDB file, one case, one line of configuration
CONFIG = 'warehouses: {shop: {url: "duckdb+duckdb_sqlalchemy:///data.duckdb"}}\n'
CASES = """\
warehouse: shop
cases:
  - id: L1-orders
    tier: L1
    question: "How many orders are there?"
    reference: {sql: "select count(*) as orders from orders"}
"""
MAKE = (
    "import duckdb; c = duckdb.connect('data.duckdb'); "
    "c.execute('create table orders as select * from range(7)'); c.close()"
)


def run(*command: str | Path, cwd: Path) -> str:
    """Output of a command that must succeed."""
    kept = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("PYTEST", "PYTHON", "COV", "VIRTUAL_ENV"))
    }
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=kept,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps")
    run(*pip, "--wheel-dir", folder, ROOT, cwd=folder)
    (found,) = folder.glob("pytest_dataeval-*.whl")
    return found


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
        assert "pytest_dataeval/py.typed" in archive.namelist()
        names = [name for name in archive.namelist() if name.endswith("points.txt")]
        entries = archive.read(names[0]).decode()
    assert {top.partition("-")[0] for top in tops} == {"pytest_dataeval"}
    assert "[pytest11]\ndataeval = pytest_dataeval.plugin" in entries
    assert "pytest-dataeval = pytest_dataeval.cli.main:main" in entries


def test_a_ten_line_project_runs_on_the_installed_wheel(
    wheel: Path, tmp_path: Path
) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", wheel, cwd=tmp_path)
    project = tmp_path / "project"
    (project / "cases").mkdir(parents=True)
    (project / "dataeval.yaml").write_text(CONFIG)
    (project / "cases" / "shop.yaml").write_text(CASES)
    run(python, "-c", MAKE, cwd=project)
    out = run(python, "-m", "pytest", cwd=project)
    assert "1 passed" in out
    assert "L1      1/1  100.0%  20.7-100.0" in out
    verified = run(python, "-m", "pytest_dataeval", "verify", cwd=project)
    assert "1 case" in verified
    assert len((CONFIG + CASES).splitlines()) <= 10
