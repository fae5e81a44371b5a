"""What pytest's reports say of trials, and what is read off them."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

from pytest_dataeval import own_tests, terminal
from pytest_dataeval.engine.ask import Fault
from pytest_dataeval.engine.outcome import TrialOutcome
from pytest_dataeval.errors import HarnessBroken
from pytest_dataeval.items import TrialFailed, TrialItem, trial_of
from pytest_dataeval.keys import OUTCOME
from pytest_dataeval.stopping import stopping_pytest

if TYPE_CHECKING:
    from pytest_dataeval.engine.plan import Trial
    from pytest_dataeval.redact import Masker
    from pytest_dataeval.session import RunSession


class TrialReports:
    """Report hooks of every process of a session."""

    def __init__(self, session: RunSession) -> None:
        self.session = session

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        trial = trial_of(item)
        # a teardown that fails says nothing about a trial that has ended
        if trial is not None and (
            call.when == "call" or (call.when == "setup" and report.failed)
        ):
            with stopping_pytest():
                self._mark(report, item, trial, call)
        return report

    def _mark(
        self,
        report: pytest.TestReport,
        item: pytest.Item,
        trial: Trial,
        call: pytest.CallInfo[None],
    ) -> None:
        """Write the trial's state on its report, and its events in a worker."""
        outcome = item.stash.get(OUTCOME, None)
        if not isinstance(item, TrialItem):
            outcome = own_tests.conclude(self.session, item, trial, report, call)
        elif report.failed and not _is_ours(call):
            # something around the trial raised: a fixture, a timeout, a plugin
            outcome = interrupted(self.session, trial, call)
        if outcome is None:
            return
        item.stash[OUTCOME] = outcome
        if outcome.state == "xfail" and not item.config.option.runxfail:
            report.outcome = "skipped"
            report.wasxfail = outcome.reason
        if report.failed:
            # an own test's assert, or a fixture's error, may quote the answer
            text = report.longreprtext
            masked = masker_of(self.session, trial).text(text)
            if masked != text:
                report.longrepr = masked
        mark(report, outcome)
        if self.session.part == "worker":
            # one JSON string: xdist cannot ship anything richer in safety
            vars(report)["dataeval_events"] = json.dumps(self.session.events)
            self.session.events.clear()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        session = self.session
        state = getattr(report, "dataeval_state", None)
        if state is not None:
            session.states[report.nodeid] = state
            if state == "fault":
                session.faults[report.nodeid] = report.dataeval_reason
        elif report.failed:
            session.foreign_failures += 1

    def pytest_report_teststatus(
        self, report: pytest.TestReport
    ) -> tuple[str, str, str | tuple[str, dict[str, bool]]] | None:
        return terminal.status(report)


def masker_of(session: RunSession, trial: Trial) -> Masker:
    """Masks the trial's protected values, or at least secrets where those fail."""
    from pytest_dataeval.redact import Masker

    try:
        return session.ready_engine().recorder.masker(trial)
    except HarnessBroken:
        return Masker(session.project.settings.secrets)


def mark(report: pytest.TestReport, outcome: TrialOutcome) -> None:
    """Put the state on the report in plain words that any process can read."""
    reason = outcome.reason if outcome.state != "pass" else ""
    vars(report).update(dataeval_state=outcome.state, dataeval_reason=reason)


def interrupted(
    session: RunSession, trial: Trial, call: pytest.CallInfo[None]
) -> TrialOutcome:
    """A trial whose item raised something of its own becomes a fault."""
    assert call.excinfo is not None
    fault = Fault(
        "item_failed", f"{call.when} of {trial.nodeid}", call.excinfo.exconly()
    )
    fault = session.ready_engine().recorder.fault(trial, fault)
    return TrialOutcome(trial.key, "fault", trial.question, fault=fault)


def _is_ours(call: pytest.CallInfo[None]) -> bool:
    error = call.excinfo.value if call.excinfo is not None else None
    return isinstance(error, TrialFailed)
