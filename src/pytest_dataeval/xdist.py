"""The one module that knows pytest-xdist.

The controller checks the project and writes the ledger; workers ask and score.
What a worker needs travels in `workerinput`, in memory; what it did travels on
its reports, as one JSON string each.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_dataeval.session import RunSession

KEY = "dataeval"


def read_workerinput(config: pytest.Config) -> dict[str, str]:
    """What the controller handed to this worker."""
    found: dict[str, str] = json.loads(config.workerinput[KEY])  # type: ignore[attr-defined]
    return found


def worker_count(config: pytest.Config) -> int:
    """Processes that ask: 1 without pytest-xdist."""
    specs = getattr(config.option, "tx", None) or []
    return max(1, len(specs)) if getattr(config.option, "dist", "no") != "no" else 1


class ControllerHooks:
    """Hooks that only the controller of a distributed session has."""

    def __init__(self, session: RunSession) -> None:
        self.session = session

    @pytest.hookimpl
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[KEY] = json.dumps(self.session.for_workers())

    @pytest.hookimpl
    def pytest_xdist_node_collection_finished(
        self, node: Any, ids: Sequence[str]
    ) -> None:
        """Take the plan from the first worker; xdist checks that all agree."""
        if not self.session.planned:
            self.session.plan_from_ids(ids)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        events = getattr(report, "dataeval_events", None)
        if events is not None:
            self.session.record(json.loads(events))
        elif report.failed and report.when not in ("setup", "call", "teardown"):
            # the worker died: xdist makes a report with nothing but the id
            self.session.worker_lost(report)
