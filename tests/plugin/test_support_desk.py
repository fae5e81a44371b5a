"""The main job on the repository's own golden questions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .conftest import QUIET, needs_xdist

ROOT = Path(__file__).resolve().parent.parent.parent


def ask(folder: Path, *args: str) -> tuple[int, str, dict[str, Any]]:
    """Run pytest on the repository's cases; status, output, summary."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "TOX_"))}
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "cases", *QUIET),
            *("-p", "no:cacheprovider", "--run-dir", str(folder), "--tb=no", *args),
        ],
        cwd=ROOT,
        env=kept,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    summary = json.loads((folder / "summary.json").read_text())
    return done.returncode, done.stdout + done.stderr, summary


def stable(summary: dict[str, Any]) -> dict[str, Any]:
    """A summary less what a clock gave."""
    for group in summary["groups"]:
        group.pop("latency_median_ms")
    return summary


@pytest.fixture(scope="session")
def gold(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    status, out, summary = ask(tmp_path_factory.mktemp("gold") / "run")
    assert status == 0, out
    return stable(summary)


def test_gold_scores_48_of_48(gold: dict[str, Any]) -> None:
    assert gold["status"] == "complete"
    assert gold["tally"]["planned"] == gold["tally"]["passed"] == 48
    (group,) = gold["groups"]
    tiers = {t["tier"]: t["tally"]["passed"] for t in group["tiers"]}
    assert tiers == {"L1": 3, "L2": 2, "L3": 39, "L4": 2, "L5": 2}


@needs_xdist
@pytest.mark.parametrize("workers", ["2", "8"])
def test_the_summary_is_the_same_whatever_the_workers(
    gold: dict[str, Any], tmp_path: Path, workers: str
) -> None:
    status, out, summary = ask(tmp_path / "run", "-n", workers)
    assert status == 0, out
    assert stable(summary) == gold


def test_the_summary_is_the_same_whatever_the_order(
    gold: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reverse = tmp_path / "reverse.py"
    reverse.write_text(
        "import pytest\n\n"
        "@pytest.hookimpl(trylast=True)\n"
        "def pytest_collection_modifyitems(items):\n    items.reverse()\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    status, out, summary = ask(tmp_path / "run", "-p", "reverse")
    assert status == 0, out
    assert stable(summary) == gold


@pytest.fixture(scope="session")
def lexical(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("lexical") / "run"
    options = ("-m", "L3", "--agents", "lexical", "--arms", "all", "--repeats", "2")
    status, out, summary = ask(folder, *options)
    assert status == 1, out  # it has no model, and misses some everywhere
    return summary


def rate(summary: dict[str, Any], arm: str) -> float:
    (group,) = [g for g in summary["groups"] if g["arm"] == arm]
    (tier,) = group["tiers"]
    return tier["rate"]["rate"]


def test_arms_differ_for_an_agent_without_a_model(lexical: dict[str, Any]) -> None:
    assert rate(lexical, "catalog") > 0.5
    assert rate(lexical, "schema-only") < rate(lexical, "catalog")
    assert rate(lexical, "none") < rate(lexical, "catalog")
    assert rate(lexical, "floor") < rate(lexical, "catalog")


def test_prefetching_the_schema_changes_the_work_and_not_the_rate(
    lexical: dict[str, Any],
) -> None:
    assert rate(lexical, "prefetch") == rate(lexical, "catalog")
    arms = [group["arm"] for group in lexical["groups"]]
    assert arms[:2] == ["catalog", "prefetch"]


def test_each_later_arm_is_paired_with_the_first(lexical: dict[str, Any]) -> None:
    paired = {g["arm"]: g["paired"] for g in lexical["groups"]}
    assert paired.pop("catalog") == []
    for arm, tests in paired.items():
        assert {t["against"] for t in tests} == {"catalog"}, arm
        assert all(t["pairs"] + t["ties_dropped"] + t["unpaired"] <= 39 for t in tests)
