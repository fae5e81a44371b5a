from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from pytest_dataeval.errors import HarnessBroken, StatementFailed
from pytest_dataeval.records import Column, ResultSet
from pytest_dataeval.warehouse.references import ReferenceKey, ReferenceStore
from pytest_dataeval.warehouse.results import result_sha256

KEY = ReferenceKey(suite="support", case="L1-count", revision=1)
RESULT = ResultSet(
    (Column("day", "DATE"), Column("amount", "DECIMAL(10,2)")),
    ((dt.date(2024, 2, 29), Decimal("1.10")), (None, None)),
)


def must_not_run() -> ResultSet:
    raise AssertionError("the reference was computed again")


def test_a_reference_is_computed_once_and_read_back_as_it_was(tmp_path: Path) -> None:
    store = ReferenceStore(tmp_path)
    first = store.get(KEY, lambda: RESULT)
    again = store.get(KEY, must_not_run)
    elsewhere = ReferenceStore(tmp_path).get(KEY, must_not_run)
    assert (first.fresh, again.fresh, elsewhere.fresh) == (True, False, False)
    assert first.result == again.result == elsewhere.result == RESULT
    assert isinstance(elsewhere.result, ResultSet)
    assert isinstance(elsewhere.result.rows[0][1], Decimal)
    assert first.sha256 == elsewhere.sha256 == result_sha256(RESULT)


@pytest.mark.parametrize(
    "other",
    [
        ReferenceKey("support", "L1-count", 2),
        ReferenceKey("other", "L1-count", 1),
        ReferenceKey("support", "L1-count", 1, snapshot="later"),
        ReferenceKey("support", "L1-count", 1, persona="alice"),
        ReferenceKey("support", "L1-count", 1, name="alternative:0"),
    ],
)
def test_each_part_of_the_key_tells_references_apart(
    tmp_path: Path, other: ReferenceKey
) -> None:
    store = ReferenceStore(tmp_path)
    changed = ResultSet((Column("n"),), ((2,),))
    store.get(KEY, lambda: RESULT)
    assert store.get(other, lambda: changed).result == changed


def test_a_failed_statement_is_kept_like_a_result(tmp_path: Path) -> None:
    def fails() -> ResultSet:
        raise StatementFailed("not_found", "no table t")

    ReferenceStore(tmp_path).get(KEY, fails)
    kept = ReferenceStore(tmp_path).get(KEY, must_not_run)
    assert kept.result is None
    assert kept.sha256 is None
    assert kept.error is not None
    assert (kept.error.kind, kept.error.message) == ("not_found", "no table t")


def test_an_unreachable_warehouse_is_a_fault_and_not_kept(tmp_path: Path) -> None:
    def unreachable() -> ResultSet:
        raise StatementFailed("broken", "connection refused")

    store = ReferenceStore(tmp_path)
    with pytest.raises(HarnessBroken, match="connection refused") as caught:
        store.get(KEY, unreachable)
    assert caught.value.what == "warehouse_unreachable"
    assert store.get(KEY, lambda: RESULT).fresh


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HarnessBroken) as caught:
        ReferenceStore(tmp_path / "file" / "refs").get(KEY, lambda: RESULT)
    assert caught.value.what == "references_unwritable"
    assert caught.value.where == str(tmp_path / "file" / "refs")


WORKER = """
import sys, time
from pathlib import Path
from pytest_dataeval.records import Column, ResultSet
from pytest_dataeval.warehouse.references import ReferenceKey, ReferenceStore

folder = Path(sys.argv[1])

def compute():
    with open(folder / "computed.txt", "a") as log:
        log.write("x")
    time.sleep(0.3)
    return ResultSet((Column("n", "INTEGER"),), ((42,),))

got = ReferenceStore(folder / "references").get(ReferenceKey("s", "c", 1), compute)
print(got.result.rows[0][0], got.fresh)
"""


def test_eight_processes_compute_a_reference_once(tmp_path: Path) -> None:
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ,
        )
        for _ in range(8)
    ]
    said = sorted(worker.communicate(timeout=60)[0].strip() for worker in workers)
    assert said == ["42 False"] * 7 + ["42 True"]
    assert (tmp_path / "computed.txt").read_text() == "x"
