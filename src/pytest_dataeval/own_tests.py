"""Users' own tests over the plan: `dataeval_trial` and `dataeval_answer`.

Such a test is parametrised over the cases that its `dataeval` marker selects. Its
trials form a suite of their own, named after the test, and are never pooled with
a YAML suite: the test's asserts are part of what they must pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from pytest_dataeval.engine.ask import Asked, Fault
from pytest_dataeval.engine.outcome import TrialOutcome
from pytest_dataeval.engine.plan import Trial
from pytest_dataeval.errors import UsageError
from pytest_dataeval.items import bindings_of
from pytest_dataeval.keys import HANDLE, SESSION, TRIAL
from pytest_dataeval.records import Answer, Score, TrialKey

if TYPE_CHECKING:
    from pytest_dataeval.records import Attempt
    from pytest_dataeval.session import RunSession

_ID = re.compile(
    r"\[(?:.*-)?(?P<suite>[A-Za-z0-9._-]+):(?P<case>[A-Za-z0-9._-]+):"
    r"(?P<leaf>[a-z0-9_-]+\.w\d+\.[a-z0-9_-]+\.r\d+)"
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrise a test that requests `dataeval_trial` over the plan."""
    if "dataeval_trial" not in metafunc.fixturenames:
        return
    session = metafunc.config.stash[SESSION]
    try:
        ids = list(planned_ids(session, metafunc))
    except UsageError as error:
        raise pytest.UsageError(str(error)) from error
    metafunc.parametrize("dataeval_trial", ids, ids=ids, indirect=True)


def planned_ids(session: RunSession, metafunc: pytest.Metafunc) -> Iterator[str]:
    """`suite:case:leaf` of every trial that the test's marker selects."""
    marker = metafunc.definition.get_closest_marker("dataeval")
    where = metafunc.definition.nodeid
    if marker is None or "suite" not in marker.kwargs:
        raise UsageError(
            f"{where}: a test that requests dataeval_trial or dataeval_answer says "
            'which cases it asks: @pytest.mark.dataeval(suite="...", tier="L3")'
        )
    suite, tier = marker.kwargs["suite"], marker.kwargs.get("tier")
    files = [file for file in session.suites.all() if file.suite == suite]
    if not files:
        from pytest_dataeval.validation import nearest

        known = sorted({file.suite for file in session.suites.all()})
        raise UsageError(f"{where}: " + nearest("suite", suite, known))
    for file in files:
        for loaded in file.cases:
            if tier is None or loaded.case.tier == tier:
                for leaf in session.project.axes.leaves(loaded):
                    yield f"{suite}:{loaded.case.id}:{leaf}"


def trial_from_id(session: RunSession, nodeid: str) -> Trial | None:
    """The trial that a node id of such a test names; None for any other test."""
    match = _ID.search(nodeid)
    if match is None:
        return None
    for file in session.suites.all():
        if file.suite != match["suite"]:
            continue
        for loaded in file.cases:
            if loaded.case.id == match["case"]:
                own = own_suite(nodeid)
                key = TrialKey.from_leaf(own, loaded.case.id, match["leaf"])
                return Trial(key, nodeid, loaded, file)
    return None


def own_suite(nodeid: str) -> str:
    """The name of the suite that a test's trials form: `file.test`."""
    path, _, rest = nodeid.partition("::")
    stem = path.rpartition("/")[2].removesuffix(".py")
    test = rest.partition("[")[0].replace("::", ".")
    return f"{stem}.{test}"


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Tell each item of such a test which trial it is, and its tier."""
    session = config.stash[SESSION]
    seen: dict[TrialKey, str] = {}
    for item in items:
        if "dataeval_trial" not in getattr(item, "fixturenames", ()):
            continue
        trial = trial_from_id(session, item.nodeid)
        if trial is None:
            continue
        if trial.key in seen:
            raise pytest.UsageError(
                f"{item.nodeid} and {seen[trial.key]} are the same trial; "
                "parametrise the test over dataeval_trial alone"
            )
        seen[trial.key] = item.nodeid
        item.stash[TRIAL] = trial
        item.add_marker(trial.tier)


class TrialHandle:
    """One planned trial in the hands of a test."""

    def __init__(
        self, session: RunSession, item: pytest.Function, trial: Trial
    ) -> None:
        self._session = session
        self._item = item
        self._trial = trial
        self.asked: Asked | None = None

    @property
    def key(self) -> TrialKey:
        """Suite, case, wording, agent, arm and repeat."""
        return self._trial.key

    @property
    def question(self) -> str:
        """The exact text that is asked."""
        return self._trial.question

    @property
    def tier(self) -> str:
        return self._trial.tier

    def ask(self) -> Asked:
        """Ask the agent; a second call gives the same answer again."""
        if self.asked is None:
            engine = self._session.ready_engine()
            bindings = bindings_of(self._item)
            self.asked = engine.wait(engine.start(self._trial, bindings))
        return self.asked

    @property
    def attempt(self) -> Attempt:
        """What the harness recorded: text, statements, tool calls."""
        asked = self.ask()
        if asked.attempt is None:
            assert asked.fault is not None
            pytest.fail(f"{asked.fault.what}: {asked.fault.detail}", pytrace=False)
        return asked.attempt

    @property
    def answer(self) -> Answer:
        """The agent's answer, with every statement that ran for it."""
        attempt = self.attempt
        return Answer(
            text=attempt.text,
            sql=[statement.sql for statement in attempt.statements],
            stop_reason=attempt.stop_reason,
            usage=attempt.usage,
            cost=attempt.cost,
            hops=attempt.hops,
        )


def handle_of(request: pytest.FixtureRequest) -> TrialHandle:
    """The handle of the requesting test's trial."""
    trial = request.node.stash[TRIAL]
    handle = TrialHandle(request.config.stash[SESSION], request.node, trial)
    request.node.stash[HANDLE] = handle
    return handle


def conclude(
    session: RunSession,
    item: pytest.Item,
    trial: Trial,
    report: pytest.TestReport,
    call: pytest.CallInfo[None],
) -> TrialOutcome | None:
    """Score a test's trial after its call: it passes if both score and test do."""
    from pytest_dataeval import reports

    handle = item.stash.get(HANDLE, None)
    engine = session.ready_engine()
    assert isinstance(item, pytest.Function)
    if report.skipped:
        return None
    if handle is None or handle.asked is None:
        if report.failed:
            return reports.interrupted(session, trial, call)
        fault = Fault("not_asked", trial.nodeid, "the test never asked its trial")
        asked = Asked(None, fault)
    else:
        asked = handle.asked

    def check(trial: Trial, attempt: Attempt, score: Score) -> str | None:
        if report.failed and call.excinfo is not None:
            return f"the test failed: {call.excinfo.exconly()}"
        complaint: str | None = session.user_check(item)(trial, attempt, score)
        return complaint

    outcome = engine.finish(trial, asked, check, bindings_of(item))
    if outcome.state in ("fail", "fault") and report.passed:
        report.outcome = "failed"
        report.longrepr = session.failure_text(outcome)
    return outcome
