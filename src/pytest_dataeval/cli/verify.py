"""`pytest-dataeval verify`: can every case be scored against what it holds?"""

from __future__ import annotations

import datetime as dt
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_dataeval.cli.checks import Checked, Checker
from pytest_dataeval.cli.selection import Chosen, Selection, project_folder, select
from pytest_dataeval.cli.status import FINDING, FINE, NOT_MEASURED
from pytest_dataeval.cli.verified import case_lines, closing_lines, file_line, shown
from pytest_dataeval.config import process_environment
from pytest_dataeval.engine.project import Project
from pytest_dataeval.engine.suites import Suites
from pytest_dataeval.errors import FileError, HarnessBroken, UsageError
from pytest_dataeval.ledger.files import json_bytes
from pytest_dataeval.redact import Masker
from pytest_dataeval.report.text import visible

if TYPE_CHECKING:
    from pytest_dataeval.cases.load import LoadedFile


@dataclass(slots=True)
class Verified:
    """All that one call of `verify` saw.

    `not_verified` are ids of cases whose warehouse could not be reached.
    """

    checked: list[Checked] = field(default_factory=list)
    problems: tuple[FileError, ...] = ()
    not_verified: list[tuple[str, str]] = field(default_factory=list)

    @property
    def status(self) -> int:
        """The exit status; what could not be verified outweighs a finding."""
        if self.not_verified:
            return NOT_MEASURED
        if self.problems or any(one.findings for one in self.checked):
            return FINDING
        return FINE if any(one.statements for one in self.checked) else NOT_MEASURED

    def to_json(self) -> dict[str, Any]:
        """Plain data; of results only their size."""
        return {
            "schema": 1,
            "exit_status": self.status,
            "cases": [one.to_json() for one in self.checked],
            "not_verified": [
                {"suite": suite, "case": case} for suite, case in self.not_verified
            ],
            "unreadable": [str(problem) for problem in self.problems],
        }


def verify(
    arguments: Sequence[str],
    *,
    project_folder: Path | None = None,
    word: str | None = None,
    json_file: Path | None = None,
) -> int:
    """Check the cases that `arguments` and `word` choose, and print a line each.

    Gives the exit status. Raises UsageError for names that do not exist.
    """
    base = Path.cwd()
    if json_file is not None and not (base / json_file).parent.is_dir():
        raise UsageError(f"--json {json_file}: its folder does not exist; make it")
    project = _project(project_folder, base)
    try:
        suites = Suites(project.settings)
        selection = select(suites, arguments, word, base)
        project.warehouses_of(chosen.file for chosen in selection.chosen)
        with tempfile.TemporaryDirectory(prefix="dataeval-") as folder:
            found = _Verification(project, Path(folder), base).run(selection)
    finally:
        project.close()
    for line in closing_lines(found.checked, len(found.not_verified), found.problems):
        print(line)
    if json_file is not None:
        _write(base / json_file, found.to_json())
    return found.status


def _project(given: Path | None, base: Path) -> Project:
    return Project.load(project_folder(given, base), {}, process_environment(), base)


def _write(path: Path, data: dict[str, Any]) -> None:
    try:
        path.write_bytes(json_bytes(data, indent=2) + b"\n")
    except OSError as error:
        raise UsageError(
            f"--json {path}: it cannot be written: {error.strerror or error}"
        ) from error


class _Verification:
    def __init__(self, project: Project, folder: Path, base: Path) -> None:
        self.project = project
        self.base = base
        self.checker = Checker(project, folder, dt.date.today())
        self.found = Verified()
        self._told: set[str] = set()

    def run(self, selection: Selection) -> Verified:
        self.found.problems = selection.problems
        for problem in selection.problems:
            print(visible(str(problem)))
        for chosen in selection.chosen:
            print(file_line(chosen, self.base), flush=True)
            if self._is_ready(chosen.file):
                self._check_all(chosen)
            else:
                self.found.not_verified += [
                    (chosen.file.suite, loaded.case.id) for loaded in chosen.cases
                ]
        return self.found

    def _is_ready(self, file: LoadedFile) -> bool:
        if file.warehouse is None:
            return True
        try:
            self.project.prepare_warehouse(file.warehouse)
        except HarnessBroken as error:
            self._tell(error)
            return False
        return True

    def _check_all(self, chosen: Chosen) -> None:
        place = shown(chosen.file.path, self.base)
        for loaded in chosen.cases:
            try:
                one = self.checker.check(chosen.file, loaded)
            except HarnessBroken as error:
                self._tell(error)
                self.found.not_verified.append((chosen.file.suite, loaded.case.id))
                continue
            self.found.checked.append(one)
            for line in case_lines(one, place):
                print(line, flush=True)

    def _tell(self, error: HarnessBroken) -> None:
        """The error as a sentence on stderr, once however many cases meet it."""
        text = Masker(self.project.settings.secrets).text(f"{error.what}: {error}")
        if text not in self._told:
            self._told.add(text)
            sentence = visible(f"pytest-dataeval: not measured: {text}")
            print(sentence, file=sys.stderr, flush=True)
