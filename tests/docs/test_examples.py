"""Every YAML and Python example of the pages is read by what would read it."""

from __future__ import annotations

import ast
import asyncio
import re
from pathlib import Path

import duckdb
import pytest
from pages import Block, blocks, read

from pytest_dataeval.cases.load import LoadedFile, load_case_file
from pytest_dataeval.catalog.load import load_catalog
from pytest_dataeval.config import load_settings
from pytest_dataeval.errors import FileErrors
from pytest_dataeval.records import Column, ResultSet
from pytest_dataeval.warehouse.python_reference import run_python_reference

CASE_FILES = {"cases"}
CATALOGS = {"catalog"}


def whole(block: Block) -> str:
    """A list of cases as a case file; other examples are files already."""
    return f"cases:\n{block.text}" if block.text.startswith("- id:") else block.text


def load(block: Block, folder: Path) -> object:
    if block.page in CASE_FILES:
        path = folder / "shop.yaml"
        path.write_text(whole(block))
        return load_case_file(path)
    if block.page in CATALOGS:
        path = folder / "catalog.yaml"
        path.write_text(block.text)
        return load_catalog(path)
    (folder / "cases").mkdir()
    (folder / "dataeval.yaml").write_text(block.text)
    return load_settings(folder, {})


@pytest.mark.parametrize("block", blocks("yaml"), ids=lambda block: block.id)
def test_an_example_is_a_good_file(block: Block, tmp_path: Path) -> None:
    loaded = load(block, tmp_path)
    assert loaded is not None, "no key `cases`"
    if isinstance(loaded, LoadedFile):
        assert loaded.cases


@pytest.mark.parametrize("block", blocks("yaml bad"), ids=lambda block: block.id)
def test_a_bad_example_gives_the_messages_below_it(
    block: Block, tmp_path: Path
) -> None:
    behind = read(block.page).split(f"{block.text}```\n", 1)[1]
    shown = re.search(r"^```\n(.*?)^```$", behind, re.DOTALL | re.MULTILINE)
    assert shown is not None
    with pytest.raises(FileErrors) as raised:
        load(block, tmp_path)
    folder = "cases/" if block.page in CASE_FILES else ""
    told = str(raised.value).replace(f"{tmp_path}/", folder)
    assert told.splitlines() == shown[1].splitlines()


@pytest.mark.parametrize(
    "block", blocks("python", "python run", "python hooks"), ids=lambda block: block.id
)
def test_a_python_example_compiles_and_imports(block: Block) -> None:
    imports: list[ast.stmt] = [
        node
        for node in ast.parse(block.text).body
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    exec(compile(ast.Module(imports, []), block.id, "exec"), {})


def test_the_python_reference_of_the_page_computes_rows(tmp_path: Path) -> None:
    (block,) = blocks("python", pages=("cases",))
    (tmp_path / "references.py").write_text(block.text)
    repairs = ResultSet((Column("team"), Column("minutes")), (("Red", 9), ("Blue", 5)))
    result = run_python_reference(
        "references.py:fastest", base=tmp_path, run=lambda sql: repairs
    )
    assert result.names == ("team", "minutes")
    assert result.rows == (("Blue", 5),)


def test_the_server_in_process_answers(tmp_path: Path) -> None:
    connection = duckdb.connect(str(tmp_path / "data.duckdb"))
    connection.execute(
        "create schema shop; create table shop.orders (id integer, email varchar);"
        "insert into shop.orders values (1, 'a'), (2, 'b')"
    )
    connection.close()
    names: dict[str, object] = {}
    exec(blocks("python", pages=("servers",))[0].text, names)
    count_orders = names["count_orders"]
    assert callable(count_orders)
    assert asyncio.run(count_orders(tmp_path)) == [[2]]


def test_the_token_of_the_page_is_verified() -> None:
    from pytest_dataeval.mcp.tokens import verify

    names: dict[str, str] = {}
    exec(blocks("python", pages=("servers",))[1].text, names)
    claims = verify(names["token"], "the secret of DATAEVAL_JWT_SECRET")
    assert (claims["sub"], claims["roles"]) == ("analyst", ["Data.Analyst"])


def test_the_schema_name_clash_of_the_page_stops_the_warehouse(tmp_path: Path) -> None:
    from pytest_dataeval.config import WarehouseConfig
    from pytest_dataeval.errors import HarnessBroken
    from pytest_dataeval.warehouse.base import open_warehouse

    connection = duckdb.connect(str(tmp_path / "support.duckdb"))
    connection.execute("create schema support")
    connection.close()
    url = "duckdb+duckdb_sqlalchemy:///support.duckdb"
    with pytest.raises(HarnessBroken, match="Give the file another name"):
        open_warehouse("support", WarehouseConfig(url=url), url=url, rootdir=tmp_path)
