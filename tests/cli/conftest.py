"""A shop that the program is called in, in its own process."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from pytest_dataeval.cli.main import main

SHOP = """
    create schema shop;
    create table shop.orders (id integer, customer varchar, amount decimal(10, 2),
                              email varchar);
    insert into shop.orders values
        (1, 'ann', 10.50, 'ann@example.com'), (2, 'ann', 20.00, 'ann@example.com'),
        (3, 'bea', 5.25, 'bea@example.com'), (4, 'cyd', 20.00, 'cyd@example.com');
"""

CONFIG = """
    warehouses:
      shop: {url: "duckdb:///data.duckdb"}
    personas:
      clerk: {roles: [Shop.Clerk], withheld: [shop.orders.email]}
      boss: {roles: [Shop.Boss]}
"""


@dataclass(frozen=True)
class Ended:
    """How a call of the program ended."""

    status: int
    out: str
    err: str


Program = Callable[..., Ended]
Cases = Callable[..., Path]


@pytest.fixture
def program(capsys: pytest.CaptureFixture[str]) -> Program:
    """Call the program with these arguments."""

    def call(*arguments: str) -> Ended:
        capsys.readouterr()
        status = main(arguments)
        return Ended(status, *capsys.readouterr())

    return call


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a project with four orders and no case yet."""
    connection = duckdb.connect(str(tmp_path / "data.duckdb"))
    connection.execute(SHOP)
    connection.close()
    (tmp_path / "dataeval.yaml").write_text(textwrap.dedent(CONFIG))
    (tmp_path / "cases").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cases(shop: Path) -> Cases:
    """Write a case file for the shop; `text` holds the list under `cases`."""

    def write(text: str, name: str = "shop", warehouse: str = "shop") -> Path:
        path = shop / "cases" / f"{name}.yaml"
        body = textwrap.indent(textwrap.dedent(text).strip(), "  ")
        path.write_text(f"warehouse: {warehouse}\ncases:\n{body}\n")
        return path

    return write
