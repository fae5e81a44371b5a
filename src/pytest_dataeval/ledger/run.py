"""A run folder and its ledger: made, resumed, appended to, finished."""

from __future__ import annotations

import datetime as dt
import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pytest_dataeval.errors import UsageError
from pytest_dataeval.ledger.artifacts import Artifacts
from pytest_dataeval.ledger.files import (
    json_bytes,
    write_json,
    write_lines,
    writing,
)
from pytest_dataeval.ledger.read import (
    CASES,
    EVENTS,
    LOCK,
    PLAN,
    RUN,
    SCHEMA,
    SUMMARY,
    Planned,
    read_run_info,
)

if TYPE_CHECKING:
    from filelock import BaseFileLock

    from pytest_dataeval.records import ResultSet

__all__ = ["Artifacts", "Run"]

#: How long a resume waits for a reader that probes the lock.
LOCK_WAIT_S = 0.5


class Run:
    """The one writer of a run folder; holds its lock until `finish` or `close`.

    Threads may append at the same time. Make one with `create` or `resume`.
    """

    def __init__(self, folder: Path, lock: BaseFileLock) -> None:
        self.folder = folder
        self.artifacts = Artifacts(folder)
        self._lock = lock
        self._info: dict[str, Any] = {}
        self._appending = threading.Lock()
        self._file: int | None = None

    # ---------------------------------------------------------------- opening

    @classmethod
    def create(
        cls,
        folder: Path,
        identity: Mapping[str, Any] | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> Self:
        """Begin a run in a new or empty folder.

        `identity` may be left to `pin`, once the plan is known. Raises UsageError
        if something is in the folder, HarnessBroken if it cannot be written.
        """
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                raise UsageError(
                    f"{folder} is not empty: give --run-dir a new folder, or go on "
                    f"with the run in it by --resume {folder}"
                )
        run = cls(folder, _locked(folder))
        run._info = {"schema": SCHEMA, "identity": None, "context": []}
        run._begin(identity, context)
        run._write_info("running", None)
        return run

    @classmethod
    def resume(
        cls,
        folder: Path,
        identity: Mapping[str, Any] | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> Self:
        """Go on with the run in `folder`; a line cut short by a kill is removed.

        Raises UsageError if there is no run, another process writes it, or its
        identity differs (now, or in `pin`).
        """
        info = read_run_info(folder)
        run = cls(folder, _locked(folder))
        run._info = {
            "schema": SCHEMA,
            "identity": info.identity,
            "context": list(info.context),
        }
        try:
            with writing(folder / EVENTS):
                _cut_torn_line(folder / EVENTS)
            run._begin(identity, context)
            if identity is not None:
                run._write_info("running", None)
        except BaseException:
            run.close()
            raise
        return run

    def _begin(
        self, identity: Mapping[str, Any] | None, context: Mapping[str, Any] | None
    ) -> None:
        if identity is not None:
            self._agree(identity)
        began = {"started": dt.datetime.now(dt.UTC).isoformat(timespec="seconds")}
        self._info["context"].append({**began, **(context or {})})
        with writing(self.folder / EVENTS):
            self._file = os.open(
                self.folder / EVENTS, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644
            )

    def pin(self, identity: Mapping[str, Any]) -> None:
        """Fix what the run measures, before anything is appended.

        A resumed run must agree with what it pinned before: if not, `run.json`
        stays as it was, and UsageError lists each difference.
        """
        self._agree(identity)
        self._write_info("running", None)

    def _agree(self, identity: Mapping[str, Any]) -> None:
        pinned = self._info["identity"]
        identity = json.loads(json_bytes(identity))
        if pinned is not None and pinned != identity:
            found = list(_differences(pinned, identity))
            raise UsageError(
                f"{self.folder} cannot go on, since it measured something else:\n  "
                + "\n  ".join(found)
                + "\nRestore these, or start a new run."
            )
        self._info["identity"] = identity

    # ---------------------------------------------------------------- writing

    def append(self, event: Mapping[str, Any]) -> None:
        """Write one line, and hand it to the system at once.

        A killed process loses no finished line. Raises HarnessBroken
        (`ledger_unwritable`) and takes back what it wrote of the line.
        """
        line = json_bytes(event) + b"\n"
        path = self.folder / EVENTS
        with self._appending, writing(path):
            if self._file is None:
                raise OSError(f"run {self.folder} is closed")
            written = os.write(self._file, line)
            if written < len(line):
                self._finish_line(line, written)

    def _finish_line(self, line: bytes, written: int) -> None:
        assert self._file is not None
        begin = os.fstat(self._file).st_size - written
        try:
            while written < len(line):
                written += os.write(self._file, line[written:])
        except OSError:
            os.ftruncate(self._file, begin)
            raise

    def write_cases(self, cases: Sequence[dict[str, Any]]) -> None:
        """`cases.jsonl`: each case as read, protected values replaced."""
        write_lines(self.folder / CASES, list(cases))

    def write_plan(self, plan: Sequence[Planned]) -> None:
        """`plan.jsonl`: every trial of the whole plan, in its order."""
        write_lines(self.folder / PLAN, [planned.to_json() for planned in plan])

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        write_json(self.folder / SUMMARY, summary)

    def write_result(self, result: ResultSet) -> str:
        """See `Artifacts.write_result`."""
        return self.artifacts.write_result(result)

    # ----------------------------------------------------------------- ending

    def finish(
        self,
        status: Literal["complete", "incomplete", "aborted"],
        reason: str | None = None,
    ) -> None:
        """Write how the run ended, and let go of it."""
        try:
            self._write_info(status, reason)
        finally:
            self.close()

    def close(self) -> None:
        """Let go of the run; unfinished, it reads as incomplete from now on."""
        with self._appending:
            if self._file is not None:
                os.close(self._file)
                self._file = None
        self._lock.release()

    def _write_info(self, status: str, reason: str | None) -> None:
        write_json(
            self.folder / RUN, {**self._info, "status": status, "reason": reason}
        )


def _locked(folder: Path) -> BaseFileLock:
    import filelock

    lock = filelock.FileLock(folder / LOCK, thread_local=False)
    with writing(folder / LOCK):
        try:
            lock.acquire(timeout=LOCK_WAIT_S)
        except filelock.Timeout:
            raise UsageError(
                f"{folder} is being written by another process; wait for it to end"
            ) from None
    return lock


def _cut_torn_line(path: Path) -> None:
    """Remove what follows the last newline."""
    if not path.exists():
        return
    with path.open("r+b") as file:
        end = file.seek(0, os.SEEK_END)
        while end > 0:
            start = max(0, end - 65_536)
            file.seek(start)
            newline = file.read(end - start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        file.truncate(end)


def _differences(
    old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = ""
) -> Iterator[str]:
    for key in sorted({*old, *new}):
        before, after = old.get(key), new.get(key)
        if before == after:
            continue
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from _differences(before, after, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}: was {before!r}, is {after!r}"
