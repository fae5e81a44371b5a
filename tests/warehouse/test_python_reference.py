from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from pytest_dataeval.errors import HarnessBroken, StatementFailed
from pytest_dataeval.records import Column, ResultSet
from pytest_dataeval.warehouse.python_reference import (
    fixed_values,
    run_python_reference,
)

COUNT = ResultSet((Column("n", "BIGINT"),), ((7,),))


def run(sql: str) -> ResultSet:
    if sql == "bad":
        raise StatementFailed("not_found", "no such table")
    if sql == "down":
        raise HarnessBroken("warehouse_unreachable", "warehouse w", "gone")
    return COUNT


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "refs.py").write_text(
        "from dataclasses import dataclass\n"
        "@dataclass\n"
        "class Row:\n"
        "    n: int\n"
        "def result(w): return w.run('select 1')\n"
        "def doubled(w): return Row(w.run('select 1').rows[0][0] * 2).n\n"
        "def rows(w): return [{'a': 1, 'b': 'x'}, {'b': 'y', 'a': 2}]\n"
        "def nothing(w): return None\n"
        "def nested(w): return [[1, 2]]\n"
        "def raises(w): raise ValueError('week 54')\n"
        "def bad_sql(w): return w.run('bad')\n"
        "def down(w): return w.run('down')\n"
        "constant = 5\n"
    )
    (tmp_path / "broken.py").write_text("import no_such_module\n")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("result", COUNT),
        ("doubled", ResultSet((Column("value"),), ((14,),))),
        ("rows", ResultSet((Column("a"), Column("b")), ((1, "x"), (2, "y")))),
    ],
)
def test_what_a_function_returns_becomes_a_result(
    folder: Path, name: str, expected: ResultSet
) -> None:
    assert run_python_reference(f"refs.py:{name}", base=folder, run=run) == expected


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("refs.py:raises", "refs.py:raises raised ValueError: week 54"),
        ("refs.py:nothing", "refs.py:nothing returned NoneType as row 1"),
        ("refs.py:nested", "refs.py:nested returned list as row 1"),
        ("refs.py:absent", "has no function 'absent'"),
        ("refs.py:constant", "has no function 'constant'"),
        ("gone.py:f", "FileNotFoundError"),
        ("broken.py:f", "No module named 'no_such_module'"),
        ("refs:result", "not of the form file.py:function"),
        ("refs.py", "not of the form file.py:function"),
    ],
)
def test_trouble_in_the_file_is_an_invalid_statement(
    folder: Path, spec: str, said: str
) -> None:
    with pytest.raises(StatementFailed) as caught:
        run_python_reference(spec, base=folder, run=run)
    assert caught.value.kind == "invalid"
    assert said in caught.value.message


def test_a_failing_statement_keeps_its_own_kind(folder: Path) -> None:
    with pytest.raises(StatementFailed) as caught:
        run_python_reference("refs.py:bad_sql", base=folder, run=run)
    assert caught.value.kind == "not_found"
    with pytest.raises(HarnessBroken):
        run_python_reference("refs.py:down", base=folder, run=run)


def test_fixed_values_are_rows() -> None:
    day = dt.date(2026, 4, 1)
    assert fixed_values([3, 4.5, "x", day]) == ResultSet(
        (Column("value"),), ((3,), (4.5,), ("x",), (day,))
    )
    assert fixed_values([]) == ResultSet((), ())
    assert fixed_values([{"n": None}]) == ResultSet((Column("n"),), ((None,),))


@pytest.mark.parametrize(
    "value", [[{"a": 1}, {"b": 1}], [{"a": 1}, 2], [1, {"a": 1}], [None], [[1]]]
)
def test_fixed_values_of_mixed_shapes_are_refused(value: list[object]) -> None:
    with pytest.raises(StatementFailed) as caught:
        fixed_values(value)
    assert caught.value.kind == "invalid"
