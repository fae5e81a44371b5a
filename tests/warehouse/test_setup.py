from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_dataeval.config import WarehouseConfig
from pytest_dataeval.errors import HarnessBroken
from pytest_dataeval.warehouse.setup import prepare


def configured(*setup: str) -> WarehouseConfig:
    return WarehouseConfig(url="duckdb:///shop.duckdb", setup=list(setup))


def test_the_command_runs_once_in_the_root_folder(tmp_path: Path) -> None:
    code = "import sys; open('log.txt', 'a').write(sys.executable)"
    config = configured("python", "-c", code)
    prepare("shop", config, tmp_path)
    prepare("shop", config, tmp_path)
    assert (tmp_path / "log.txt").read_text() == sys.executable


def test_no_command_does_nothing(tmp_path: Path) -> None:
    prepare("shop", configured(), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_shows_the_end_of_the_output(tmp_path: Path) -> None:
    code = "print(*range(100), sep='\\n', flush=True); raise SystemExit('no disk')"
    with pytest.raises(HarnessBroken) as caught:
        prepare("shop", configured("python", "-c", code), tmp_path)
    assert caught.value.what == "warehouse_setup"
    assert "ended with status 1" in str(caught.value)
    assert "no disk" in caught.value.remedy
    assert "99" in caught.value.remedy
    assert "\n50\n" not in caught.value.remedy


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(HarnessBroken, match="no-such-program") as caught:
        prepare("shop", configured("no-such-program"), tmp_path)
    assert caught.value.where == "dataeval.yaml: warehouses.shop.setup"
