from __future__ import annotations

import datetime as dt
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import pytest

from pytest_dataeval.config import WarehouseConfig
from pytest_dataeval.errors import HarnessBroken, StatementFailed
from pytest_dataeval.records import Column, ResultSet
from pytest_dataeval.warehouse.base import Limits, Warehouse, open_warehouse


def failure(warehouse: Warehouse, sql: str, **limits: float) -> StatementFailed:
    with pytest.raises(StatementFailed) as caught:
        warehouse.run(sql, Limits(**limits))  # type: ignore[arg-type]
    return caught.value


def test_cells_are_python_values_and_columns_have_sql_types(
    warehouse: Warehouse,
) -> None:
    result = warehouse.run(
        "select 1::bigint as n, 2.50::decimal(10,2) as m, 'x' as t, true as b, "
        "date '2024-02-29' as d, null as nothing, [1, 2] as l, {'k': 1} as s"
    )
    assert result == ResultSet(
        (
            Column("n", "BIGINT"),
            Column("m", "DECIMAL(10,2)"),
            Column("t", "VARCHAR"),
            Column("b", "BOOLEAN"),
            Column("d", "DATE"),
            Column("nothing", "INTEGER"),
            Column("l", "INTEGER[]"),
            Column("s", "STRUCT(k INTEGER)"),
        ),
        (
            (
                1,
                Decimal("2.50"),
                "x",
                True,
                dt.date(2024, 2, 29),
                None,
                [1, 2],
                {"k": 1},
            ),
        ),
    )


def test_percent_signs_and_colons_are_no_parameters(warehouse: Warehouse) -> None:
    result = warehouse.run("select 'a%b%s' as p, ':name {\"a\":1}' as q, 5 % 3 as r")
    assert result.rows == (("a%b%s", ':name {"a":1}', 2),)


def test_columns_that_share_a_name_are_all_kept(warehouse: Warehouse) -> None:
    result = warehouse.run("select 1 as a, 2 as a")
    assert result.names == ("a", "a")
    assert result.rows == ((1, 2),)


def test_rows_beyond_the_limit_are_cut_and_said_to_be(warehouse: Warehouse) -> None:
    sql = "select id from shop.orders order by id"
    whole = warehouse.run(sql, Limits(max_rows=1000))
    cut = warehouse.run(sql, Limits(max_rows=999))
    assert (len(whole.rows), whole.truncated) == (1000, False)
    assert (len(cut.rows), cut.truncated) == (999, True)
    assert cut.rows[-1] == (998,)


def test_the_configured_limits_hold_where_none_are_given(database: Path) -> None:
    config = WarehouseConfig(url="duckdb:///data.duckdb", max_rows=3)
    warehouse = open_warehouse("shop", config, url=config.url, rootdir=database.parent)
    assert warehouse.run("from shop.orders").truncated
    warehouse.close()


def test_a_result_of_too_many_bytes_fails(warehouse: Warehouse) -> None:
    sql = "select repeat('x', 100000) from range(1000)"
    assert failure(warehouse, sql, max_bytes=1_000_000).kind == "too_large"


def test_a_timeout_leaves_the_connection_usable(warehouse: Warehouse) -> None:
    endless = "select count(*) from range(10000000000) a, range(1000) b"
    for _ in range(3):
        error = failure(warehouse, endless, timeout_s=0.2)
        assert error.kind == "timed_out"
        assert "0.2 s" in error.message
        assert warehouse.run("select 1").rows == ((1,),)


def test_a_timeout_stops_only_its_own_statement(warehouse: Warehouse) -> None:
    slow = "select count(*) from range(10000000000) a, range(1000) b"
    with ThreadPoolExecutor(4) as pool:
        slow_one = pool.submit(failure, warehouse, slow, timeout_s=0.3)
        quick = [
            pool.submit(warehouse.run, f"select sum(id) + {n} from shop.orders")
            for n in range(30)
        ]
        # 0 + 1 + ... + 999 = 499,500
        assert [q.result().rows[0][0] for q in quick] == [
            499_500 + n for n in range(30)
        ]
        assert slow_one.result().kind == "timed_out"


@pytest.mark.parametrize(
    "sql",
    [
        "insert into shop.orders values (1, 2, 'x')",
        "delete from shop.orders",
        "update shop.orders set amount = 0",
        "drop table shop.orders",
        "create table shop.more as select 1",
        "create temp table more as select 1",
        "explain analyze create temp table more as select 1",
        "prepare p as select 1",
        "set memory_limit = '1TB'",
        "pragma enable_profiling",
        "checkpoint",
        "attach 'other.duckdb'",
        "install httpfs",
        "load httpfs",
        "begin",
        "use private",
        "export database 'out'",
        "copy (select 1) to 'out.csv'",
        "copy shop.orders from 'in.csv'",
        "select 1; select 2",
        "select 1; drop table shop.orders",
        "select * from read_csv('/etc/passwd')",
        "select * from read_text('/etc/hostname')",
        "select * from glob('/etc/*')",
        "call duckdb_tables()",
    ],
)
def test_what_writes_or_reaches_outside_is_refused(
    warehouse: Warehouse, sql: str
) -> None:
    assert failure(warehouse, sql).kind == "refused"
    assert warehouse.run("select count(*) from shop.orders").rows == ((1000,),)


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("select * from nowhere", "not_found"),
        ("select * from shop.nowhere", "not_found"),
        ("select nothing from shop.orders", "not_found"),
        ("select o.nothing from shop.orders o", "not_found"),
        ("select * from '/etc/passwd'", "not_found"),
        ("selec 1", "invalid"),
        ("", "invalid"),
        ("-- only a comment", "invalid"),
        ("select cast('x' as integer)", "invalid"),
        ("select no_such_function(1)", "invalid"),
        ("select * from no_such_function(1)", "invalid"),
        ("select 100::utinyint * 100::utinyint", "invalid"),
        ("select error('boo')", "invalid"),
        ("select id, count(*) from shop.orders", "invalid"),
        ("select ?", "invalid"),
        ("select interval '2000000000 days'", "invalid"),
        ("select to_years(100000000)", "invalid"),
        ("select " + "[" * 51 + "1" + "]" * 51, "too_large"),
        ("select * from query('delete from shop.orders')", "invalid"),
        ("select '\ud800'", "invalid"),
        ("select '\x00", "invalid"),
        ("(" * 100_000 + "select 1" + ")" * 100_000, "invalid"),
        ("select " + "x" * 1_000_001, "refused"),
    ],
)
def test_failures_have_a_kind(warehouse: Warehouse, sql: str, kind: str) -> None:
    assert failure(warehouse, sql).kind == kind
    assert warehouse.run("select 1").rows == ((1,),)


def test_columns_are_listed_by_lower_case_table(warehouse: Warehouse) -> None:
    order_columns = {"id": "BIGINT", "amount": "DECIMAL(10,2)", "channel": "VARCHAR"}
    assert warehouse.columns() == {
        "private.salaries": {"amount": "INTEGER"},
        "shop.orders": order_columns,
        "shop.web": order_columns,
    }


def test_columns_keep_to_the_configured_schemas(database: Path) -> None:
    config = WarehouseConfig(url="duckdb:///data.duckdb", schemas=["shop"])
    warehouse = open_warehouse("s", config, url=config.url, rootdir=database.parent)
    assert list(warehouse.columns()) == ["shop.orders", "shop.web"]
    warehouse.close()


def test_unqualified_names_are_looked_up_in_the_default_schema(database: Path) -> None:
    config = WarehouseConfig(url="duckdb:///data.duckdb", default_schema="shop")
    warehouse = open_warehouse("s", config, url=config.url, rootdir=database.parent)
    assert warehouse.default_schema == "shop"
    assert warehouse.run("select count(*) from orders").rows == ((1000,),)
    warehouse.close()


def test_the_fingerprint_moves_with_rows_and_schema(database: Path) -> None:
    import duckdb

    config = WarehouseConfig(url="duckdb:///data.duckdb")

    def fingerprint() -> str:
        opened = open_warehouse("s", config, url=config.url, rootdir=database.parent)
        try:
            return opened.fingerprint()
        finally:
            opened.close()

    seen = [fingerprint(), fingerprint()]
    for change in (
        "delete from shop.orders where id = 1",
        "alter table shop.orders add column note varchar",
    ):
        with duckdb.connect(str(database)) as connection:
            connection.execute(change)
        seen.append(fingerprint())
    assert seen[0] == seen[1]
    assert len(set(seen)) == 3


def test_threads_share_a_warehouse(warehouse: Warehouse) -> None:
    with ThreadPoolExecutor(24) as pool:
        results = list(
            pool.map(
                lambda n: warehouse.run(f"select {n}, count(*) from shop.web").rows,
                range(100),
            )
        )
    # every second of 1,000 orders came over the web
    assert results == [((n, 500),) for n in range(100)]


# ------------------------------------------------------------------- opening


def broken(
    url: str, rootdir: Path, setup: list[str] | None = None, **more: str
) -> HarnessBroken:
    config = WarehouseConfig(url=url, setup=setup or [], **more)  # type: ignore[arg-type]
    with pytest.raises(HarnessBroken) as caught:
        open_warehouse("shop", config, url=url, rootdir=rootdir)
    return caught.value


def test_a_missing_file_is_named_and_not_made(tmp_path: Path) -> None:
    error = broken("duckdb:///gone.duckdb", tmp_path)
    assert error.what == "warehouse_unreachable"
    assert str(tmp_path / "gone.duckdb") in str(error)
    assert "warehouses.shop.setup" in error.remedy
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_after_setup_names_the_command(tmp_path: Path) -> None:
    error = broken("duckdb:///gone.duckdb", tmp_path, ["make", "data"])
    assert "make data" in error.remedy


def test_a_file_of_another_kind_is_unreachable(tmp_path: Path) -> None:
    (tmp_path / "junk.duckdb").write_text("no database " * 1000)
    error = broken("duckdb:///junk.duckdb", tmp_path)
    assert error.what == "warehouse_unreachable"
    assert "not a valid DuckDB database file" in str(error)


def test_a_file_that_another_process_writes_is_unreachable(database: Path) -> None:
    hold = (
        "import duckdb, sys; c = duckdb.connect(sys.argv[1]); "
        "print('open', flush=True); sys.stdin.read()"
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", hold, str(database)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == b"open\n"
    try:
        error = broken("duckdb:///data.duckdb", database.parent)
    finally:
        writer.communicate()
    assert error.what == "warehouse_unreachable"
    assert "no other process writes" in error.remedy


def test_a_default_schema_that_is_not_there_is_named(database: Path) -> None:
    error = broken("duckdb:///data.duckdb", database.parent, default_schema="nowhere")
    assert "warehouses.shop.default_schema" in error.remedy


def test_a_file_named_like_a_schema_in_it_is_told_apart_at_once(database: Path) -> None:
    database.rename(database.with_name("shop.duckdb"))
    error = broken("duckdb:///shop.duckdb", database.parent)
    assert "both named shop" in error.detail
    assert error.remedy == "Give the file another name."


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("not a url", "not a SQLAlchemy URL"),
        ("mysql://u:secret@h/db", "'mysql' warehouses are not supported"),
        ("duckdb:///:memory:", "in memory"),
        ("duckdb://", "in memory"),
        ("duckdb:///data.duckdb?access_mode=read_write", "access_mode"),
    ],
)
def test_an_unusable_url_says_what_is_taken(
    tmp_path: Path, url: str, said: str
) -> None:
    error = broken(url, tmp_path)
    assert error.what == "warehouse_url"
    assert error.where == "dataeval.yaml: warehouses.shop.url"
    assert said in str(error)
    assert "secret" not in str(error)


def test_a_warehouse_that_breaks_midway_is_broken_not_wrong(database: Path) -> None:
    config = WarehouseConfig(url="duckdb:///data.duckdb")
    warehouse = open_warehouse("s", config, url=config.url, rootdir=database.parent)
    warehouse.close()
    database.unlink()
    assert failure(warehouse, "select 1").kind == "broken"


# ------------------------------------------------------------------- watchdog


def test_an_interrupt_is_repeated_until_the_guard_ends() -> None:
    from pytest_dataeval.warehouse.watchdog import Watchdog

    calls: list[float] = []
    with Watchdog().limit(0.01, lambda: calls.append(time.monotonic())) as guard:
        deadline = time.monotonic() + 5
        while len(calls) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert guard.fired
    ended = len(calls)
    assert ended >= 2
    time.sleep(0.25)
    assert len(calls) == ended


def test_a_shorter_guard_is_not_held_up_by_a_longer_one() -> None:
    from pytest_dataeval.warehouse.watchdog import Watchdog

    watchdog = Watchdog()
    fired = threading.Event()
    with watchdog.limit(60, lambda: None) as long:
        with watchdog.limit(0.05, fired.set):
            assert fired.wait(5)
        assert not long.fired
