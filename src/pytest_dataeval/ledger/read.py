"""Reading a run folder: pure data, whoever wrote it and however it ended."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_dataeval.errors import HarnessBroken, UsageError
from pytest_dataeval.ledger.artifacts import Artifacts
from pytest_dataeval.ledger.events import KINDS, attempt_from_event
from pytest_dataeval.records import Attempt, Score, TrialKey

RUN = "run.json"
CASES = "cases.jsonl"
PLAN = "plan.jsonl"
EVENTS = "events.jsonl"
SUMMARY = "summary.json"
LOCK = ".lock"

#: The form of a run folder; a reader refuses one that it does not know.
SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Planned:
    """One trial of the plan."""

    key: TrialKey
    tier: str
    nodeid: str

    def to_json(self) -> dict[str, Any]:
        return {**self.key.to_json(), "tier": self.tier, "nodeid": self.nodeid}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Planned:
        return cls(TrialKey.from_json(data), data["tier"], data["nodeid"])


@dataclass(frozen=True, slots=True)
class RunInfo:
    """`run.json`. `status` is running, complete, incomplete or aborted."""

    identity: Mapping[str, Any] | None
    context: tuple[Mapping[str, Any], ...]
    status: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class Fault:
    """What failed on our side, and where."""

    what: str
    where: str
    detail: str


@dataclass(slots=True)
class TrialRecord:
    """The latest that the ledger says of one trial.

    `attempt` is an event. `fault` is None if the trial was asked or
    scored after it.
    """

    attempt: Mapping[str, Any] | None = None
    score: Score | None = None
    fault: Fault | None = None


@dataclass(frozen=True)
class RunView:
    """A whole run folder, read. `plan` is in the order of the run."""

    folder: Path
    info: RunInfo
    plan: tuple[Planned, ...]
    trials: Mapping[TrialKey, TrialRecord]
    references: tuple[Mapping[str, Any], ...] = field(default=())

    def attempt(self, key: TrialKey) -> Attempt | None:
        """The trial's attempt with its tool calls, read from the transcript."""
        record = self.trials.get(key)
        if record is None or record.attempt is None:
            return None
        path = record.attempt["transcript"]["path"]
        transcript = Artifacts(self.folder).read_transcript(path)
        return attempt_from_event(record.attempt, transcript)


def load(folder: Path) -> RunView:
    """Read a run folder, finished or not.

    Raises UsageError where there is none, HarnessBroken (`ledger_damaged`) for a
    line other than the last that is no event.
    """
    info = read_run_info(folder)
    plan = tuple(Planned.from_json(row) for row in read_lines(folder / PLAN))
    trials: dict[TrialKey, TrialRecord] = {}
    references: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    for event in read_lines(folder / EVENTS):
        if event.get("kind") not in KINDS:
            raise HarnessBroken(
                "ledger_damaged",
                str(folder / EVENTS),
                f"a line is no event that this version knows: {event!r:.100}.",
                "Restore the file from a copy; the ledger is only ever appended to.",
            )
        if event["kind"] == "reference":
            name = (event["suite"], event["case"], event["revision"], event["snapshot"])
            references[name] = event
            continue
        _take(trials.setdefault(TrialKey.from_json(event), TrialRecord()), event)
    ordered = tuple(references[name] for name in sorted(references))
    return RunView(folder, info, plan, trials, ordered)


def _take(record: TrialRecord, event: Mapping[str, Any]) -> None:
    match event["kind"]:
        case "attempt":
            record.attempt = event
            record.fault = None
        case "score":
            record.score = Score.from_json(event)
            record.fault = None
        case "fault":
            record.fault = Fault(event["what"], event["where"], event["detail"])


def read_run_info(folder: Path) -> RunInfo:
    """`run.json`; a run that says it is running, but is not, is incomplete."""
    path = folder / RUN
    try:
        data = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"{folder} is no run folder: it has no {RUN}") from None
    except ValueError as error:
        raise HarnessBroken(
            "ledger_damaged", str(path), f"it is not JSON: {error}."
        ) from error
    if not isinstance(data, dict) or not {"schema", "status"} <= data.keys():
        raise HarnessBroken(
            "ledger_damaged", str(path), "it is not of the form that a run has."
        )
    if data["schema"] != SCHEMA:
        raise UsageError(
            f"{path}: the run has form {data['schema']}, and this version of "
            f"pytest-dataeval reads form {SCHEMA}"
        )
    status, reason = data["status"], data["reason"]
    if status == "running" and not _is_locked(folder):
        status, reason = "incomplete", "the process that wrote it ended early"
    return RunInfo(data["identity"], tuple(data["context"]), status, reason)


def _is_locked(folder: Path) -> bool:
    import filelock

    path = folder / LOCK
    if not path.exists():
        return False
    try:
        with filelock.FileLock(path, timeout=0):
            return False
    except filelock.Timeout:
        return True
    except OSError:
        # A folder that cannot be written has no writer.
        return False


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """JSON lines; none if the file is not there, and no torn last line."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return
    whole, _, _torn = content.rpartition(b"\n")
    if not whole:
        return
    for number, line in enumerate(whole.split(b"\n"), start=1):
        try:
            row = json.loads(line)
            if not isinstance(row, dict):
                raise ValueError("it is no object")
            yield row
        except ValueError as error:
            raise HarnessBroken(
                "ledger_damaged",
                f"{path}:{number}",
                f"the line is not JSON: {error}.",
                "Restore the file from a copy; the ledger is only ever appended to.",
            ) from error
