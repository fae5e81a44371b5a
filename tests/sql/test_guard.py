"""The static guard: hostile statements are refused by name, good ones pass."""

from __future__ import annotations

import sys
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dataeval.sql.guard import check

SCHEMAS = ("main", "public", "dbo", "support")

# (rule, statement). The default schemas of the engines are allowed.
HOSTILE_DUCKDB = [
    ("empty", ""),
    ("empty", "  -- nothing here"),
    ("empty", ";;"),
    ("several_statements", "select 1; select 2"),
    ("several_statements", "select 1; drop table support.tickets"),
    ("several_statements", "select 1;/* x */ delete from support.tickets"),
    ("writes", "insert into support.tickets values (1)"),
    ("writes", "update support.tickets set status = 'x'"),
    ("writes", "delete from support.tickets"),
    ("writes", "with d as (delete from support.tickets returning *) select * from d"),
    ("writes", "merge into a using b on a.i = b.i when matched then delete"),
    ("writes", "create table x as select 1"),
    ("writes", "create or replace view x as select 1"),
    ("writes", "create temp table x (a int)"),
    ("writes", "drop table support.tickets"),
    ("writes", "alter table support.tickets add column x int"),
    ("writes", "truncate support.tickets"),
    ("writes", "copy (select 1) to '/tmp/x.csv'"),
    ("writes", "copy support.tickets from 'x.csv'"),
    ("writes", "select 1 into x"),
    ("unparsable", "export database 'x'"),
    ("not_a_query", "attach 'x.duckdb' as x"),
    ("not_a_query", "detach x"),
    ("not_a_query", "pragma database_list"),
    ("not_a_query", "set memory_limit = '1GB'"),
    ("not_a_query", "use support"),
    ("not_a_query", "install httpfs"),
    ("not_a_query", "load 'httpfs'"),
    ("not_a_query", "call pragma_version()"),
    ("not_a_query", "checkpoint"),
    ("not_a_query", "begin"),
    ("not_a_query", "commit"),
    ("not_a_query", "explain analyze select 1"),
    ("not_a_query", "describe support.tickets"),
    ("not_a_query", "summarize support.tickets"),
    ("not_a_query", "show tables"),
    ("denied_function", "select * from read_csv('/etc/passwd')"),
    ("denied_function", "select * from READ_CSV_AUTO('/etc/passwd')"),
    ("denied_function", "select * from read_parquet('s3://b/k')"),
    ("denied_function", "select * from parquet_scan(['a', 'b'])"),
    ("denied_function", "select * from read_json('x')"),
    ("denied_function", "select content from read_text('/etc/passwd')"),
    ("denied_function", "select content from \"read_blob\"('/etc/passwd')"),
    ("denied_function", "select * from glob('/etc/*')"),
    ("denied_function", "select * from sniff_csv('x')"),
    ("denied_function", "select * from query('select * from secret')"),
    ("denied_function", "from query_table('customers')"),
    ("denied_function", "from query_table(['customers'], true)"),
    ("denied_function", "select * from json_execute_serialized_sql('{}')"),
    ("denied_function", "select * from histogram('customers', email)"),
    ("denied_function", "select * from seq_scan('customers')"),
    ("denied_function", "select * from duckdb_secrets()"),
    ("denied_function", "select * from duckdb_settings()"),
    ("denied_function", "select * from pragma_storage_info('customers')"),
    ("denied_function", "select getenv('HOME')"),
    ("denied_function", "select getvariable('x')"),
    ("denied_function", "select current_setting('s3_secret_access_key')"),
    ("denied_function", "select nextval('s')"),
    ("denied_function", "select sleep_ms(100000)"),
    ("denied_function", "select write_log('x')"),
    ("denied_function", "select (select 1 from read_csv('x')) as a"),
    ("denied_function", "with query(a) as (select 1) select * from query('select 2')"),
    ("denied_function", "select 1 where exists (from sqlite_scan('x', 'y'))"),
    ("reads_file", "select * from 'data.csv'"),
    ("reads_file", 'select * from "data.parquet"'),
    ("reads_file", "from '/etc/passwd'"),
    ("reads_file", "from 'https://example.com/x'"),
    ("reads_file", "from 'logs*'"),
    ("reads_file", "select * from data.csv"),
    ("schema_not_allowed", "select * from information_schema.columns"),
    ("schema_not_allowed", "select * from pg_catalog.pg_tables"),
    ("schema_not_allowed", "select * from finance.ledger"),
    ("schema_not_allowed", "select * from duckdb_tables"),
    ("schema_not_allowed", "select * from sqlite_master"),
    ("schema_not_allowed", "select (select max(a) from finance.ledger)"),
    ("cross_database", "select * from other.support.tickets"),
    ("unparsable", "select from where"),
    ("unparsable", "select 'unterminated"),
    ("unparsable", "select {# hidden #} 1"),
    ("unparsable", "select 1 \0"),
    ("too_deep", "select " + "(" * 101 + "1" + ")" * 101),
    ("too_deep", "select " + "case when " * 5_000 + "1"),
    ("too_deep", "from " * 10_000 + "t"),
    ("too_deep", "select " + "not " * 10_000 + "true"),
    ("too_long", "select '" + "x" * 100_000 + "'"),
]

HOSTILE_POSTGRES = [
    ("several_statements", "select 1; select 2"),
    ("several_statements", "select 1; set transaction read write; delete from t"),
    ("writes", "insert into t values (1) returning *"),
    ("writes", "with x as (update t set a = 1 returning *) select * from x"),
    ("writes", "select * into x from t"),
    ("writes", "create table x as select 1"),
    ("writes", "drop table t"),
    ("writes", "copy t to stdout"),
    ("writes", "copy t from program 'id'"),
    ("writes", "grant select on t to public"),
    ("writes", "comment on table t is 'x'"),
    ("not_a_query", "vacuum t"),
    ("not_a_query", "set role postgres"),
    ("not_a_query", "reset role"),
    ("not_a_query", "show all"),
    ("not_a_query", "explain select 1"),
    ("not_a_query", "do $$ begin perform 1; end $$"),
    ("not_a_query", "call p()"),
    ("not_a_query", "listen x"),
    ("not_a_query", "prepare p as select 1"),
    ("not_a_query", "execute p"),
    ("not_a_query", "lock table t"),
    ("locks", "select * from t for update"),
    ("locks", "select * from (select * from t for share) x"),
    ("denied_function", "select pg_sleep(100)"),
    ("denied_function", 'select "pg_sleep"(100)'),
    ("denied_function", "select pg_catalog.pg_sleep(100)"),
    ("denied_function", "select pg_read_file('/etc/passwd')"),
    ("denied_function", "select * from pg_ls_dir('.')"),
    ("denied_function", "select 1 from rows from (pg_ls_dir('.')) x"),
    ("denied_function", "select set_config('statement_timeout', '0', true)"),
    ("denied_function", "select dblink('', 'delete from t')"),
    ("denied_function", "select lo_import('/etc/passwd')"),
    ("denied_function", "select pg_terminate_backend(1)"),
    ("denied_function", "select pg_advisory_lock(1)"),
    ("denied_function", "select nextval('s'), setval('s', 1)"),
    ("denied_function", "select query_to_xml('select 1', true, true, '')"),
    ("denied_function", "select * from crosstab('select 1') as x (a int)"),
    ("denied_function", "select a from t order by pg_sleep(1)"),
    ("denied_function", "select 1 where /* '*/ pg_sleep(1) is null --'"),
    ("schema_not_allowed", "select * from pg_catalog.pg_authid"),
    ("schema_not_allowed", "select * from pg_stat_activity"),
    ("schema_not_allowed", "select * from information_schema.tables"),
    ("schema_not_allowed", "select app.delete_all()"),
    ("schema_not_allowed", "table pg_shadow"),
    ("unparsable", 'select U&"\\0070g_sleep"(1)'),
    ("unparsable", "select * frm t"),
]

HOSTILE_TSQL = [
    ("several_statements", "select 1; drop table t"),
    ("several_statements", "select 1 delete from t"),
    ("several_statements", "select 1 from t update t set a = 1"),
    ("several_statements", "select 1 exec xp_cmdshell 'dir'"),
    ("several_statements", "select 1 waitfor delay '0:0:10'"),
    ("several_statements", "select 1 drop table t"),
    ("several_statements", "select 1 shutdown"),
    ("several_statements", "select 1 use master"),
    ("several_statements", "set nocount on; delete from t; select 1"),
    ("several_statements", "set nocount off; select 1"),
    ("several_statements", "set language german; select 1"),
    ("several_statements", "declare @t table (a int); select 1"),
    ("several_statements", "declare @a int = (select max(a) from t); select @a"),
    ("writes", "select * into x from t"),
    ("writes", "insert into t values (1)"),
    ("writes", "delete from t"),
    ("writes", "truncate table t"),
    ("writes", "drop table t"),
    ("writes", "select next value for s"),
    ("not_a_query", "exec xp_cmdshell 'dir'"),
    ("not_a_query", "exec sp_who"),
    ("not_a_query", "set nocount on"),
    ("not_a_query", "use master"),
    ("denied_function", "select * from openrowset('a', 'b', 'c')"),
    ("denied_function", "select * from openquery(srv, 'select 1')"),
    ("denied_function", "select * from opendatasource('a', 'b').c.d.e"),
    ("locks", "select * from t with (updlock)"),
    ("locks", "select * from t with (nolock, tablockx)"),
    ("schema_not_allowed", "select * from sys.objects"),
    ("schema_not_allowed", "select * from sysobjects"),
    ("schema_not_allowed", "select * from sys.dm_exec_sql_text(0x00)"),
    ("cross_database", "select * from srv.db.dbo.t"),
    ("cross_database", "select * from master.dbo.t"),
    ("cross_database", "select * from master..t"),
    ("cross_database", "select master.dbo.f(1)"),
    ("cross_database", "select * from master.dbo.f(1)"),
]

HOSTILE_SQLITE = [
    ("not_a_query", "attach database 'x' as y"),
    ("denied_function", "select load_extension('x')"),
    ("denied_function", "select readfile('/etc/passwd')"),
    ("schema_not_allowed", "select * from sqlite_master"),
]

GOOD_DUCKDB = [
    "select 1",
    "select 1;",
    "-- counts\nselect count(*) from support.tickets -- done",
    "select * from tickets",
    "(select 1)",
    "values (1), (2)",
    "from support.tickets",
    "from support.tickets select team, count(*) group by all order by all limit 3",
    "select team from support.tickets union all select team from support.agents",
    "with t as (select * from support.tickets) select count(*) from t",
    "with recursive r as (select 1 n union all select n + 1 from r where n < 9)"
    " select * from r",
    "select * from (values (1, 'a')) v(a, b)",
    "select * from range(10)",
    "select * from generate_series(1, 3) g(i)",
    "select unnest([1, 2])",
    "select t.a, u.x from support.t, unnest(t.xs) u(x)",
    "select 'drop table x; delete from y' as text",
    "select 1 as \"delete\", 'read_csv(1)' as note",
    'select update_date, "insert", delete_flag from support.tickets',
    "select histogram(a), query from support.tickets",
    "with stats(team, n) as (select team, 1 from support.t) select * from stats",
    "pivot support.tickets on status using count(*)",
    "select * exclude (email) from support.agents",
    "select list_transform([1, 2], x -> x + 1)",
    "select {'a': 1}.a, map {'k': 1}['k'], a[1:2] from support.t",
    "select extract(year from opened_at), date_trunc('month', opened_at)"
    " from support.tickets",
    "select 7 // 2, 7 % 2, 1e3 from support.t",
    "select a, row_number() over (partition by b order by c) from support.t"
    " qualify row_number() over (order by a) = 1",
    "select count(*) filter (where a > 1) from support.t using sample 10%",
    "select * from support.a asof join support.b on a.t >= b.t",
    "select replace(name, 'a', 'b'), set_bit('01'::bit, 0, 1) from support.t",
    "select case when a then 1 else 2 end from support.t",
    "select " + ", ".join(["null"] * 300),
    "select " + " + ".join(["1"] * 2_000),
]

GOOD_POSTGRES = [
    "select distinct on (team) team, opened_at from support.tickets order by 1, 2",
    "select percentile_cont(0.5) within group (order by minutes) from support.tickets",
    "table tickets",
    "select $$delete from t$$ as a, E'it\\'s' as b",
    "select pg_typeof(1), now(), current_date",
    "select a::numeric(10, 2), b at time zone 'UTC' from t",
    "select t.* from t, lateral (select count(*) from u where u.i = t.i) x",
    "select data->>'delete' from t where data @> '{\"a\": 1}'",
    "select pg_catalog.lower('A')",
    "select string_agg(a, ',' order by a) from public.t",
    "select /* nested /* comment */ pg_sleep(1) */ 1",
    "select * from t fetch first 3 rows only",
]

GOOD_TSQL = [
    "select top 10 * from support.tickets order by opened_at",
    "set nocount on; select 1 as a",
    "declare @from date = '2024-01-01'; select * from t where d >= @from",
    "select [delete], [update] as [set] from dbo.t",
    'select "insert" from dbo.t',
    "select * from t with (nolock)",
    "select a from t order by a offset 5 rows fetch next 3 rows only",
    "select t.a, x.b from t cross apply (select max(b) b from u where u.i = t.i) x",
    "select getdate(), datediff(day, a, b), iif(a > b, 1, 2) from t",
    "select 'delete from t; exec sp_who' as a",
    "select * from openjson('[1]') with (a int '$')",
    "select dbo.net(a) from t",
    "select count(*) from #sales",
]


def cases(dialect: str, pairs: list[tuple[str, str]]) -> list[tuple[str, str, str]]:
    return [(dialect, rule, sql) for rule, sql in pairs]


@pytest.mark.parametrize(
    ("dialect", "rule", "sql"),
    [
        *cases("duckdb", HOSTILE_DUCKDB),
        *cases("postgres", HOSTILE_POSTGRES),
        *cases("tsql", HOSTILE_TSQL),
        *cases("sqlite", HOSTILE_SQLITE),
    ],
    ids=lambda value: value[:50].replace("\0", "0"),
)
def test_hostile_statement_is_refused(dialect: str, rule: str, sql: str) -> None:
    refusal = check(sql, dialect, schemas=SCHEMAS)
    assert refusal is not None
    assert refusal.rule == rule
    assert refusal.message.endswith(".") or refusal.rule == "unparsable"


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        *(("duckdb", sql) for sql in GOOD_DUCKDB),
        *(("postgres", sql) for sql in GOOD_POSTGRES),
        *(("tsql", sql) for sql in GOOD_TSQL),
    ],
    ids=lambda value: value[:50],
)
def test_reading_query_is_allowed(dialect: str, sql: str) -> None:
    assert check(sql, dialect, schemas=SCHEMAS) is None


def test_names_are_free_without_a_list_of_schemas() -> None:
    assert check("select * from finance.ledger", "duckdb") is None


def test_default_schema_decides_about_bare_names() -> None:
    sql = "select * from tickets"
    assert check(sql, "postgres", schemas=["support"], default_schema="support") is None
    refusal = check(sql, "postgres", schemas=["support"])
    assert refusal is not None
    assert refusal.message == (
        "tickets has no schema; write one of support in front of it."
    )


def test_a_cte_may_have_a_name_that_no_table_may() -> None:
    sql = "with pg_stats as (select 1 as a) select * from pg_stats"
    assert check(sql, "postgres", schemas=["public"]) is None


def test_a_database_may_be_allowed_with_its_schema() -> None:
    sql = "select * from sales.dbo.orders"
    assert check(sql, "tsql", schemas=["sales.dbo"]) is None


def test_more_functions_can_be_denied() -> None:
    refusal = check("select md5(a) from t", "duckdb", denied_functions=["MD5"])
    assert refusal is not None
    assert refusal.message == "The function md5() may not be called here."


def test_sqlalchemy_names_of_dialects_are_understood() -> None:
    refusal = check("select pg_sleep(1)", "postgresql")
    assert refusal is not None
    assert refusal.rule == "denied_function"
    assert check("select top 1 a from t", "mssql") is None


def test_an_unknown_dialect_is_an_error_of_the_caller() -> None:
    with pytest.raises(ValueError, match="klingon"):
        check("select 1", "klingon")


def test_the_recursion_limit_is_put_back() -> None:
    before = sys.getrecursionlimit()
    sql = "select " + "(" * 90 + "1" + ")" * 90

    def many() -> None:
        for index in range(20):
            assert check(f"{sql} as a{index}", "duckdb") is None

    threads = [threading.Thread(target=many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sys.getrecursionlimit() == before


WORDS = (
    "select from where ( ) , ; ' \" $$ /* */ -- [ ] { } {# #} * . := :: -> |> case when"
    " end not with as t a.b 1 in union order by limit insert into delete exec set"
    " values pivot on join lateral U&\" E'\\ #1 columns(*) @x"
)


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(
        st.lists(st.sampled_from(WORDS.split()), max_size=25).map(" ".join),
        st.text(max_size=60),
    ),
    st.sampled_from(["duckdb", "postgres", "tsql", "sqlite"]),
)
def test_no_text_makes_the_guard_raise(sql: str, dialect: str) -> None:
    refusal = check(sql, dialect, schemas=["main"])
    assert refusal is None or refusal.message
