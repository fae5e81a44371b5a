"""Short texts on which a parser would not come to an end."""

from __future__ import annotations

import pytest
import sqlglot.parser

from pytest_dataeval.sql.effort import TooMuchWork, doublings, parse_in_steps
from pytest_dataeval.sql.parse import Unparsable, parse_all, tokens

ENDLESS = [
    "select * from t " + "join u " * 40,
    "select * from t " + "join u join v on 1 = 1 " * 40,
    "select * from t " + ", natural join u" * 40,
    "select " + "int(" * 40 + "1" + ")" * 40,
    "select " + "date(" * 40 + "d" + ")" * 40,
    "select " + "array[" * 40 + "1" + "]" * 40,
    "select " + "struct(" * 40 + "1 as a" + ")" * 40,
    "select " + "object(" * 40 + "1" + ")" * 40,
    "select " + "limit 1 {'a': " * 40 + "1" + "}" * 40,
    "select " + "if {'a': " * 40 + "1" + "}" * 40,
]


@pytest.mark.parametrize("sql", ENDLESS, ids=lambda sql: sql[:40])
def test_double_work_is_seen_beforehand(sql: str) -> None:
    parsed = parse_all(sql, "duckdb")
    assert isinstance(parsed, Unparsable)
    assert parsed.rule == "too_deep"


@pytest.mark.skipif(
    not str(sqlglot.parser.__file__).endswith(".py"),
    reason="the compiled parser does not let its steps be counted",
)
@pytest.mark.parametrize("sql", ENDLESS[:5], ids=lambda sql: sql[:40])
def test_double_work_is_stopped_on_the_way(sql: str) -> None:
    found = tokens(sql, "duckdb")
    assert found is not None
    with pytest.raises(TooMuchWork):
        parse_in_steps(found, sql, "duckdb")


@pytest.mark.parametrize(
    ("sql", "levels"),
    [
        ("select 1 from a join b on 1 = 1 join c using (i) cross join d", 1),
        ("select 1 from a join b join c on 1 = 1 on 2 = 2", 2),
        ("select 1 from a natural join b natural join c", 2),
        ("select 1 from a join (select 1 from b join c on 1 = 1) x on 1 = 1", 2),
        ("select decimal(1), date(timestamp(d)), int(1) from t", 2),
        ("select a < b, c > d, array[1 > 2, (3)] from t", 1),
        ("select a::struct(b array<int>) from t limit (1)", 2),
    ],
)
def test_levels_of_double_work(sql: str, levels: int) -> None:
    found = tokens(sql, "duckdb")
    assert found is not None
    assert doublings(found, "duckdb") == levels


def test_thirty_joins_with_their_conditions_are_read() -> None:
    sql = "select 1 from t0 " + " ".join(
        f"left join t{i} on t{i}.id = t0.id and t{i}.d > date(timestamp '2024-01-01')"
        for i in range(1, 30)
    )
    assert not isinstance(parse_all(sql, "duckdb"), Unparsable)
