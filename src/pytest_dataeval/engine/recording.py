"""The run's record: its folder, what identifies it, and how it ended."""

from __future__ import annotations

import datetime as dt
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_dataeval.engine.prior import priors_of
from pytest_dataeval.ledger.read import Planned, load
from pytest_dataeval.ledger.run import Run

if TYPE_CHECKING:
    from pytest_dataeval.engine.engine import Engine
    from pytest_dataeval.engine.options import RunOptions
    from pytest_dataeval.engine.plan import Trial
    from pytest_dataeval.engine.project import Project
    from pytest_dataeval.ledger.summary import Summary

RUNS = Path(".dataeval") / "runs"


class Recording:
    """The run folder of this session, held by the one process that writes it.

    `references` is a private folder outside of it, where processes share what
    references gave: it may hold what the run folder must not, and is removed at
    the end; a run of one process (`is_shared` is False) has none. Raises UsageError for a folder that is taken, HarnessBroken for one
    that cannot be written.
    """

    def __init__(
        self,
        options: RunOptions,
        rootdir: Path,
        context: Mapping[str, Any],
        *,
        is_shared: bool,
    ) -> None:
        self.rootdir = rootdir
        self.resumed = options.resume is not None
        if options.resume is not None:
            self.folder = options.resume
            self.run = Run.resume(self.folder, context=context)
        else:
            self.folder = options.run_dir or rootdir / RUNS / new_run_id()
            self.run = Run.create(self.folder, context=context)
        self.references: Path | None = None
        if is_shared:
            self.references = Path(tempfile.mkdtemp(prefix="dataeval-"))
        self.opened = False
        self.incomplete = True

    @property
    def shown_folder(self) -> str:
        """The folder as a person would type it from the project's root."""
        if self.folder.is_relative_to(self.rootdir):
            return str(self.folder.relative_to(self.rootdir))
        return str(self.folder)

    def append(self, event: Mapping[str, Any]) -> None:
        """Write one event to the ledger."""
        self.run.append(event)

    def open(self, engine: Engine, trials: Sequence[Trial]) -> None:
        """Pin what the run measures, and write its cases and its plan.

        A resumed run must agree with what it pinned before; what its ledger knows
        is handed to the engine. Raises UsageError with each difference.
        """
        self.run.pin(identity_of(engine.project, trials))
        if self.resumed:
            engine.prior = priors_of(self.folder)
        else:
            self.run.write_cases(cases_of(engine, trials))
            self.run.write_plan([Planned(t.key, t.tier, t.nodeid) for t in trials])
        self.opened = True

    def finish(self, interrupted: bool) -> Summary | None:
        """Write the summary and the run's status; None if no plan was made."""
        from pytest_dataeval.ledger.summary import summarise

        if not self.opened:
            if not self.resumed:  # what a refused resume found stays as it was
                self.run.finish("aborted", "it ended before anything was planned")
            return None
        view = load(self.folder)
        missing = [
            planned
            for planned in view.plan
            if (record := view.trials.get(planned.key)) is None or record.score is None
        ]
        status: Literal["complete", "incomplete"] = "complete"
        reason = None
        if missing:
            status = "incomplete"
            why = "interrupted" if interrupted else "not all trials were scored"
            reason = f"{why}: {len(missing)} of {len(view.plan)} are missing"
        self.incomplete = bool(missing)
        info = replace(view.info, status=status, reason=reason)
        summary = summarise(replace(view, info=info))
        self.run.write_summary(summary.to_json())
        self.run.finish(status, reason)
        return summary

    def close(self) -> None:
        """Let go of the run and remove the shared references."""
        self.run.close()
        if self.references is not None:
            shutil.rmtree(self.references, ignore_errors=True)


def new_run_id() -> str:
    """A name that sorts by time; a folder that is taken is refused."""
    now = dt.datetime.now(dt.UTC)
    return f"{now:%Y%m%d-%H%M%S-%f}"


def identity_of(project: Project, trials: Sequence[Trial]) -> dict[str, Any]:
    """What must agree for a run to go on or to be merged with another."""
    from pytest_dataeval.cases.load import question_set_sha
    from pytest_dataeval.engine.plan import plan_sha256
    from pytest_dataeval.instrument.version import INSTRUMENT

    files = {trial.suite_file.path: trial.suite_file for trial in trials}
    sha256, count = question_set_sha(files.values())
    warehouses = project.warehouses_of(files.values())
    return {
        "questions": {"sha256": sha256, "count": count},
        "instrument": INSTRUMENT,
        "agents": {name: project.agent_identity(name) for name in project.axes.agents},
        "arms": {arm.name: arm.identity() for arm in project.arms.values()},
        "warehouses": {
            name: project.warehouse(name).fingerprint() for name in warehouses
        },
        "plan_sha256": plan_sha256(trial.nodeid for trial in trials),
    }


def cases_of(engine: Engine, trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """Each planned case as it was read, with its protected values masked."""
    seen: dict[tuple[str, str], dict[str, Any]] = {}
    for trial in trials:
        name = (trial.key.suite, trial.key.case)
        if name in seen:
            continue
        data = trial.loaded.case.model_dump(
            mode="json", by_alias=True, exclude_defaults=True
        )
        masked = engine.recorder.masker(trial).data(data)
        withheld = trial.loaded.case.must_not_contain
        if withheld:
            masked["must_not_contain"] = [
                f"[withheld:{i}]" if isinstance(entry, str) else {"sql": entry.sql}
                for i, entry in enumerate(withheld)
            ]
        seen[name] = {
            "suite": trial.key.suite,
            "file": trial.suite_file.path.name,
            "line": trial.loaded.line,
            "warehouse": trial.suite_file.warehouse,
            "sha": trial.loaded.sha,
            "case": masked,
        }
    return list(seen.values())


def context_of(command: Sequence[str], workers: int, rootdir: Path) -> dict[str, Any]:
    """What is worth knowing of this start of a run, but need not agree."""
    from importlib.metadata import version

    return {
        "command": list(command),
        "workers": workers,
        "commit": _commit(rootdir),
        "host": platform.node(),
        "python": platform.python_version(),
        "versions": {
            name: version(name) for name in ("pytest-dataeval", "pytest", "sqlglot")
        },
    }


def _commit(rootdir: Path) -> str | None:
    """The commit of the project, with a mark if the tree differs from it."""
    git = shutil.which("git")
    if git is None or not (rootdir / ".git").exists():
        return None
    found = subprocess.run(
        [git, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
        cwd=rootdir,
        capture_output=True,
        text=True,
        timeout=10,
        check=False,
    )
    return found.stdout.strip() or None
