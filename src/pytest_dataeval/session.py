"""One pytest session's run: who plays which part, and what each hook does.

In a serial session one process asks, scores and writes the ledger. Under
pytest-xdist workers ask and score, and the controller alone writes.
"""

from __future__ import annotations

import gc
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from pytest_dataeval import cmdline, reports, selection, terminal, xdist
from pytest_dataeval.config import process_environment
from pytest_dataeval.engine.ask import Fault
from pytest_dataeval.engine.bindings import UNBOUND
from pytest_dataeval.engine.engine import Engine
from pytest_dataeval.engine.outcome import State, TrialOutcome
from pytest_dataeval.engine.plan import Trial, counts
from pytest_dataeval.engine.preflight import preflight
from pytest_dataeval.engine.prior import priors_of
from pytest_dataeval.engine.project import Project
from pytest_dataeval.engine.recording import Recording, context_of
from pytest_dataeval.engine.schedule import Schedule
from pytest_dataeval.engine.suites import Suites
from pytest_dataeval.errors import (
    FileError,
    FileErrors,
    HarnessBroken,
)
from pytest_dataeval.items import TrialItem, bindings_of, trial_of
from pytest_dataeval.keys import SESSION
from pytest_dataeval.records import TrialKey
from pytest_dataeval.stopping import NOT_MEASURED, stopping_pytest

if TYPE_CHECKING:
    from pytest_dataeval.cases.load import LoadedFile
    from pytest_dataeval.config import AgentConfig
    from pytest_dataeval.ledger.summary import Summary
    from pytest_dataeval.records import Attempt, Score

#: serial asks, scores and writes; a worker asks and scores; the controller
#: writes; a dry session (--collect-only, --help) only collects.
Part = Literal["serial", "worker", "controller", "dry"]


def start_session(config: pytest.Config) -> None:
    """Make the session of this process and register what belongs to it.

    Raises pytest.UsageError (exit 4) for names and files that are wrong, and
    ends pytest with status 6 if the harness is broken before the first ask.
    """
    from pytest_dataeval import fixtures, own_tests

    with stopping_pytest():
        session = RunSession(config)
        config.stash[SESSION] = session
        manager = config.pluginmanager
        manager.register(session, "dataeval-session")
        manager.register(reports.TrialReports(session), "dataeval-reports")
        manager.register(fixtures, "dataeval-fixtures")
        manager.register(own_tests, "dataeval-own-tests")
        if session.part == "controller":
            manager.register(xdist.ControllerHooks(session), "dataeval-xdist")
        if session.part == "worker":
            session.join(xdist.read_workerinput(config))
        elif session.part != "dry" and session.named_files():
            with stopping_pytest(session.project.settings.secrets):
                session.prepare()


def part_of(config: pytest.Config) -> Part:
    """Which part this process plays."""
    if hasattr(config, "workerinput"):
        return "worker"
    looks = ("collectonly", "help", "version", "showfixtures", "show_fixtures_per_test")
    if any(getattr(config.option, name, False) for name in looks):
        return "dry"
    distributed = getattr(config.option, "dist", "no") != "no"
    return "controller" if distributed else "serial"


class RunSession:
    """State and hooks of one session. Registered as a plugin once made."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.part: Part = part_of(config)
        given = {
            name: config.getoption(cmdline.dest(name))
            for name in cmdline.option_names()
        }
        selection.refuse_foreign_options(config)
        self.project = Project.load(
            config.rootpath,
            {name.replace("-", "_"): value for name, value in given.items()},
            process_environment(),
            config.invocation_params.dir,
            self._agent_hook,
        )
        if self.part in ("controller", "worker"):
            selection.refuse_concurrency(self.project.options)
        self.suites = Suites(self.project.settings)
        self.recording: Recording | None = None
        self.engine: Engine | None = None
        self.schedule: Schedule | None = None
        self.events: list[dict[str, Any]] = []
        self.states: dict[str, State] = {}
        self.faults: dict[str, str] = {}
        self.planned: dict[str, Trial] = {}
        self.foreign_failures = 0
        self.summary: Summary | None = None
        self.trouble: str | None = None

    def _agent_hook(self, name: str, config: AgentConfig | None) -> object | None:
        found: object | None = self.config.hook.pytest_dataeval_agent(
            name=name, config=config
        )
        return found

    def named_files(self) -> list[LoadedFile]:
        """The case files that the command line's paths take in."""
        base = self.config.invocation_params.dir
        return self.suites.named_by(self.config.args, base)

    # ----------------------------------------------------------------- set-up

    def prepare(self) -> None:
        """Make the run folder and check everything that asks will need.

        Raises UsageError and HarnessBroken before any agent is asked.
        """
        if self.engine is not None:
            return
        recording = self.prepare_folders()
        self.engine = Engine(
            self.project,
            recording.references,
            recording.folder,
            recording.append,
            self.suites.answers(self.project.options.answers),
        )
        preflight(self.engine, self.named_files() or self.suites.all())

    def prepare_folders(self) -> Recording:
        """The run folder, and the place where references are shared."""
        if self.recording is None:
            self.recording = Recording(
                self.project.options,
                self.config.rootpath,
                context_of(
                    ["pytest", *map(str, self.config.invocation_params.args)],
                    xdist.worker_count(self.config),
                    self.config.rootpath,
                ),
                is_shared=self.part == "controller",
            )
        return self.recording

    def join(self, run: dict[str, str]) -> None:
        """A worker's set-up: the controller has checked and made the folder."""
        self.engine = Engine(
            self.project,
            Path(run["references"]),
            Path(run["folder"]),
            self.events.append,
            self.suites.answers(self.project.options.answers),
        )
        if run["resumed"]:
            self.engine.prior = priors_of(Path(run["folder"]))

    def ready_engine(self) -> Engine:
        """The engine, checked and open. Raises what `prepare` raises."""
        if self.engine is None:
            self.prepare()
        assert self.engine is not None
        return self.engine

    # ------------------------------------------------- the controller's part

    def for_workers(self) -> dict[str, str]:
        """What a worker needs to ask and score; no secret is written anywhere."""
        self.prepare_folders()
        assert self.recording is not None
        return {
            "folder": str(self.recording.folder),
            "references": str(self.recording.references),
            "resumed": "yes" if self.recording.resumed else "",
        }

    def plan_from_ids(self, ids: Iterable[str]) -> None:
        """Take the plan from the ids that a worker collected; open the ledger."""
        trials = [t for t in map(self.trial_from_id, ids) if t is not None]
        self.planned = {trial.nodeid: trial for trial in trials}
        if trials:
            self.open_ledger()

    def trial_from_id(self, nodeid: str) -> Trial | None:
        """Decode a node id; None for a test that is no trial."""
        from pytest_dataeval import own_tests

        if not selection.is_trial_id(nodeid):
            return own_tests.trial_from_id(self, nodeid)
        name, case_id, leaf = nodeid.split("::")
        file = self.suites.load((self.config.rootpath / name).resolve())
        if file is None:
            return None
        loaded = next(x for x in file.cases if x.case.id == case_id)
        key = TrialKey.from_leaf(file.suite, case_id, leaf)
        return Trial(key, nodeid, loaded, file)

    def record(self, events: Iterable[dict[str, Any]]) -> None:
        """Append a worker's events to the ledger."""
        assert self.recording is not None
        with stopping_pytest():
            for event in events:
                self.recording.append(event)

    def worker_lost(self, report: pytest.TestReport) -> None:
        """A trial whose worker died under it: a fault, asked again on resume."""
        trial = self.planned.get(report.nodeid)
        if trial is None or self.engine is None:
            return
        fault = Fault(
            "worker_lost",
            "pytest-xdist",
            "the worker process ended during this trial; resume the run to ask it "
            "again",
        )
        self.engine.recorder.fault(trial, fault)
        reports.mark(
            report, TrialOutcome(trial.key, "fault", trial.question, fault=fault)
        )

    # ------------------------------------------------------------- collection

    def pytest_collect_file(
        self, file_path: Path, parent: pytest.Collector
    ) -> pytest.Collector | None:
        from pytest_dataeval.collection import BrokenCaseFile, CaseFileNode

        if not self.suites.is_candidate(file_path):
            return None
        try:
            loaded = self.suites.load(file_path)
        except (FileError, FileErrors) as error:
            return BrokenCaseFile.from_parent(
                parent, path=file_path, problem=str(error)
            )
        if loaded is None:
            return None
        return CaseFileNode.from_parent(parent, path=file_path, loaded=loaded)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        with stopping_pytest():
            selection.check_named_leaves(self.config, self.project, self.suites)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.part != "dry":  # a listing reads best case by case
            selection.order_by_repeat(items)
        selection.refuse_stale_last_failed(self.config, items)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if self.part in ("controller", "worker") or session.testsfailed:
            return
        trials = [t for t in map(trial_of, session.items) if t is not None]
        self.planned = {trial.nodeid: trial for trial in trials}
        if self.part == "serial" and trials:
            self.open_ledger()

    def open_ledger(self) -> None:
        """Pin the identity of the run now that the plan is known."""
        with stopping_pytest(self.project.settings.secrets):
            self.prepare()
            assert self.recording is not None
            assert self.engine is not None
            self.recording.open(self.engine, list(self.planned.values()))

    # ---------------------------------------------------------------- running

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        # what was collected stays: walking 40,000 items again at each full garbage
        # collection would make a trial dearer the more of them there are
        gc.freeze()
        if self.part != "serial" or self.engine is None or not self.planned:
            return
        ahead = [
            item.trial
            for item in session.items
            if isinstance(item, TrialItem) and not item.bound
        ]
        self.schedule = Schedule(self.engine, ahead, self.engine.most_in_flight())

    def run_item(self, item: TrialItem) -> TrialOutcome:
        """Ask (or wait for the ask that is under way), score, record."""
        assert self.engine is not None, "a trial ran in a session that only collects"
        trial = item.trial
        bindings = bindings_of(item) if item.bound else UNBOUND
        future = None
        if self.schedule is not None and not item.bound:
            future = self.schedule.take(trial.nodeid)
        if future is None:
            future = self.engine.start(trial, bindings)
        try:
            asked = self.engine.wait(future)
            return self.engine.finish(trial, asked, self.user_check(item), bindings)
        except HarnessBroken as error:
            if self.part != "worker":
                with stopping_pytest(self.project.settings.secrets):
                    raise
            # xdist takes a worker that exits for a crash: the trial says it
            fault = self.engine.recorder.fault(trial, Fault.of(error))
            return TrialOutcome(trial.key, "fault", trial.question, fault=fault)

    def user_check(self, item: pytest.Item) -> Any:
        """The project's `pytest_dataeval_check` hooks, as the engine calls them."""

        def check(trial: Trial, answer: Attempt, score: Score) -> str | None:
            complaints: Iterable[str | None] = item.ihook.pytest_dataeval_check(
                trial=trial, answer=answer, score=score
            )
            return next((text for text in complaints if text), None)

        return check

    def failure_text(self, outcome: TrialOutcome) -> str:
        """What a person sees of a trial that did not pass."""
        return terminal.failure_text(outcome)

    # -------------------------------------------------------------------- end

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        gc.unfreeze()
        if self.schedule is not None:
            self.schedule.cancel()
        if self.part in ("serial", "controller"):
            session.exitstatus = self.exit_status(int(exitstatus))
        try:
            if self.recording is not None:
                self.summary = self.recording.finish(interrupted=exitstatus == 2)
        except HarnessBroken as error:
            # what was appended is there; the run reads as incomplete
            self.trouble = str(error)
            session.exitstatus = NOT_MEASURED
        finally:
            if self.engine is not None:
                self.engine.close()
            if self.recording is not None:
                self.recording.close()

    def exit_status(self, pytest_status: int) -> int:
        """The session's exit status; pytest's own 2, 3, 4 and 5 stand."""
        if pytest_status not in (0, 1) or not self.planned:
            return pytest_status
        if self.foreign_failures:
            return 1
        ended = list(self.states.values())
        if pytest_status == 0 and len(ended) < len(self.planned):
            return NOT_MEASURED  # a fixture skipped some: not a clean run
        scored = sum(state in ("pass", "fail", "xfail") for state in ended)
        if "fault" in ended or not scored:
            return NOT_MEASURED
        return 1 if "fail" in ended else 0

    def paid_agents(self) -> set[str]:
        """Agents that may cost money, as far as can be told without asking them."""
        return {n for n in self.project.axes.agents if self.project.may_cost(n)}

    def axis_options(self) -> list[str]:
        """The options that give a run the same axes as this one."""
        axes = self.project.axes
        options = ["--agents", ",".join(axes.agents), "--arms", ",".join(axes.arms)]
        if axes.repeats > 1:
            options += ["--repeats", str(axes.repeats)]
        if axes.wordings != 1:
            options += ["--wordings", str(axes.wordings or "all")]
        if axes.unreviewed:
            options.append("--unreviewed")
        return options

    def resume_command(self) -> str:
        """The command that goes on with this run."""
        assert self.recording is not None
        given = [str(word) for word in self.config.invocation_params.args]
        if "--resume" not in " ".join(given):
            given += ["--resume", self.recording.shown_folder]
        return shlex.join(["pytest", *given])

    def pytest_report_header(self) -> list[str]:
        return terminal.header(self)

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> None:
        if self.part == "worker":
            return  # xdist calls this hook on workers too
        if self.part == "dry":
            keys = [trial.key for trial in self.planned.values()]
            lines = terminal.plan_lines(counts(keys), self.paid_agents())
        else:
            width = terminalreporter._tw.fullwidth
            lines = terminal.summary_lines(self, width)
        for line in lines:
            terminalreporter.write_line(line)
