"""Whether what a case holds can be scored against: each statement, run twice."""

from __future__ import annotations

import dataclasses
import datetime as dt
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_dataeval.cli.ties import tie_at_limit
from pytest_dataeval.engine.plan import Trial
from pytest_dataeval.engine.scoring import Scorer
from pytest_dataeval.errors import HarnessBroken, StatementFailed, UsageError
from pytest_dataeval.instrument.compare import is_exact
from pytest_dataeval.instrument.rows import WorkLimitReached
from pytest_dataeval.records import ResultSet, TrialKey
from pytest_dataeval.redact import Masker
from pytest_dataeval.warehouse.references import ReferenceStore

if TYPE_CHECKING:
    from pytest_dataeval.cases.load import LoadedCase, LoadedFile
    from pytest_dataeval.engine.project import Project

#: What `as` may say: whom a reference runs as.

REMEDIES = {
    "refused": "Write one statement that only reads what it may see, or run it with "
    "as: owner.",
    "not_found": "Mend the name.",
    "invalid": "Mend it.",
    "timed_out": "Make it cheaper, or raise the warehouse's timeout_s.",
    "too_large": "Return fewer or smaller values.",
}


@dataclass(frozen=True, slots=True)
class Measured:
    """A statement that ran: `key` in its case, its size, and its quicker run's time."""

    key: str
    rows: int
    columns: int
    ms: float


@dataclass(frozen=True, slots=True)
class Remark:
    """A sentence about the key of a case."""

    key: str
    message: str


@dataclass(slots=True)
class Checked:
    """What was seen of one case. A finding has to be mended, a warning looked at."""

    file: Path
    line: int
    suite: str
    case: str
    status: str
    statements: list[Measured] = field(default_factory=list)
    findings: list[Remark] = field(default_factory=list)
    warnings: list[Remark] = field(default_factory=list)

    @property
    def state(self) -> str:
        """`finding`, `warning`, `ok`, or `nothing` where no statement is held."""
        if self.findings:
            return "finding"
        if self.warnings:
            return "warning"
        return "ok" if self.statements else "nothing"

    def to_json(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "file": str(self.file), "state": self.state}


@dataclass(frozen=True, slots=True)
class _Statement:
    """A statement of a case. `run` gives its result and how long it took, in ms.

    `sql` is None for a Python function and fixed values, `persona` for the owner.
    """

    key: str
    sql: str | None
    persona: str | None
    run: Callable[[Scorer], tuple[ResultSet, float]]
    may_be_empty: bool = False
    may_move: bool = False
    is_protected: bool = False


class Checker:
    """Checks cases of one project, with the engine's own rights and limits.

    `folder` is a private one, where references are kept until the end.
    """

    def __init__(self, project: Project, folder: Path, today: dt.date) -> None:
        self.project = project
        self.today = today
        # A scorer runs a reference once, so the second run is another's.
        self._scorers = tuple(
            Scorer(project, ReferenceStore(folder / name)) for name in ("1", "2")
        )

    def check(self, file: LoadedFile, loaded: LoadedCase) -> Checked:
        """Run all that the case holds. Raises HarnessBroken if our side fails."""
        case = loaded.case
        found = Checked(file.path, loaded.line, file.suite, case.id, case.status)
        if case.valid_until is not None and case.valid_until < self.today:
            text = f"{case.valid_until} has passed, so that the case is not scored"
            found.warnings.append(Remark("valid_until", f"{text}; set a new day."))
        try:
            persona = self.project.persona_of(case)
        except UsageError as error:
            found.findings.append(Remark("persona", f"{error}."))
            return found
        _CaseCheck(self._scorers, self._trial(file, loaded), persona, found).run()
        return found

    def _trial(self, file: LoadedFile, loaded: LoadedCase) -> Trial:
        """The case as the engine takes it; no agent and no arm has a part in it."""
        arm = next(iter(self.project.arms))
        key = TrialKey(file.suite, loaded.case.id, 1, "gold", arm, 1)
        return Trial(key, f"{file.path}::{loaded.case.id}", loaded, file)


class _CaseCheck:
    def __init__(
        self,
        scorers: Sequence[Scorer],
        trial: Trial,
        persona: str | None,
        found: Checked,
    ) -> None:
        self.first, self.second = scorers
        self.trial = trial
        self.case = trial.loaded.case
        self.persona = persona
        self.found = found
        project = self.first.project
        self.has_withheld = bool(project.withheld(persona))
        self.secrets = project.settings.secrets
        values = self.case.must_not_contain
        self.protected = [entry for entry in values if isinstance(entry, str)]
        self.protected_known = True

    def run(self) -> None:
        # Protected values come first: they are masked in what is said of the rest.
        for statement in [*self._protected_statements(), *self._statements()]:
            result = self._check(statement)
            if not statement.is_protected:
                continue
            if result is None or result.truncated:
                self.protected_known = False
            else:
                cells = (cell for row in result.rows for cell in row)
                self.protected += [str(cell) for cell in cells if cell is not None]
        # A person reads the reference first.
        self.found.statements.sort(key=lambda m: m.key.startswith("must_not_contain"))

    # ------------------------------------------------------------- statements

    def _statements(self) -> Iterator[_Statement]:
        case = self.case
        reference = case.reference
        who = self.first.reference_persona(self.trial)
        if reference is not None:
            yield _Statement(
                "reference",
                reference.sql,
                who,
                self._run_reference,
                may_be_empty=case.allow_empty,
                may_move=reference.live,
            )
        others = [
            (f"alternatives[{index}]", alternative.sql)
            for index, alternative in enumerate(case.alternatives)
        ]
        others += [
            (f"terms[{index}].definitions[{number}]", definition.sql)
            for index, term in enumerate(case.terms)
            for number, definition in enumerate(term.definitions)
        ]
        for key, sql in others:
            yield _Statement(
                key, sql, who, self._runs(sql, who), may_be_empty=case.allow_empty
            )

    def _protected_statements(self) -> Iterator[_Statement]:
        for index, entry in enumerate(self.case.must_not_contain):
            if not isinstance(entry, str):
                who = None if entry.persona == "owner" else self.persona
                key = f"must_not_contain[{index}]"
                run = self._runs(entry.sql, who)
                yield _Statement(key, entry.sql, who, run, is_protected=True)

    def _run_reference(self, scorer: Scorer) -> tuple[ResultSet, float]:
        found = scorer.reference(self.trial)
        assert found is not None
        if found.error is not None:
            raise found.error
        assert found.result is not None
        return found.result, found.ms

    def _runs(
        self, sql: str, persona: str | None
    ) -> Callable[[Scorer], tuple[ResultSet, float]]:
        def run(scorer: Scorer) -> tuple[ResultSet, float]:
            started = time.perf_counter()
            result = scorer.run(self.trial, sql, persona)
            return result, (time.perf_counter() - started) * 1000

        return run

    # ----------------------------------------------------------------- checks

    def _check(self, statement: _Statement) -> ResultSet | None:
        """Run it twice and say what is wrong; its result, or None if it failed."""
        try:
            result, ms = statement.run(self.first)
        except StatementFailed as error:
            self._finding(statement, self._failed(statement, error))
            return None
        measured = Measured(statement.key, len(result.rows), len(result.columns), ms)
        self.found.statements.append(measured)
        if problem := _unusable(statement, result):
            self._finding(statement, problem)
            return result
        try:
            again, ms_again = statement.run(self.second)
        except StatementFailed as error:
            text = f"it ran once, and then {self._failed(statement, error)}"
            self._finding(statement, text)
            return result
        # The first statement of all also pays for imports and connections.
        self.found.statements[-1] = replace(measured, ms=min(ms, ms_again))
        if not statement.may_move:
            self._compare(statement, result, again)
        if statement.key == "reference" and statement.sql is not None:
            self._warn_of_tie(statement, statement.sql, result)
        return result

    def _compare(
        self, statement: _Statement, result: ResultSet, again: ResultSet
    ) -> None:
        try:
            if is_exact(result, again, ordered=False):
                return
        except WorkLimitReached:
            text = "its rows are too much alike to tell whether a second run is equal."
            self.found.warnings.append(Remark(statement.key, text))
            return
        self._finding(
            statement,
            "it gave another result when it was run again; take out what changes, "
            "such as random(), now(), or a LIMIT over rows that tie.",
        )

    def _warn_of_tie(self, statement: _Statement, sql: str, result: ResultSet) -> None:
        name = self.trial.suite_file.warehouse
        if name is None:
            return
        dialect = self.first.project.warehouse(name).dialect

        def run(changed: str) -> ResultSet:
            return self.first.run(self.trial, changed, statement.persona)

        try:
            tie = tie_at_limit(sql, dialect, result, run)
        except StatementFailed:
            # Without its LIMIT it may well take too long: then nothing is claimed.
            return
        if tie is not None:
            self.found.warnings.append(Remark(statement.key, f"{tie}."))

    def _finding(self, statement: _Statement, message: str) -> None:
        self.found.findings.append(Remark(statement.key, message))

    def _failed(self, statement: _Statement, error: StatementFailed) -> str:
        if error.kind == "broken":
            name = self.trial.suite_file.warehouse
            raise HarnessBroken(
                "warehouse_unreachable", f"warehouse {name}", error.message
            ) from error
        remedy = REMEDIES[error.kind]
        message = self._message(statement, error)
        return (
            f"it did not run as {statement.persona or 'the owner'} ({error.kind}): "
            f"{message}{'' if message.endswith(('.', '!')) else '.'} {remedy}"
        )

    def _message(self, statement: _Statement, error: StatementFailed) -> str:
        """What the engine said, unless a protected value could stand in it.

        Engines repeat values that they cannot convert. What the persona may read
        is shown, once the case's protected values are masked in it.
        """
        by_owner = statement.persona is None and self.has_withheld
        if error.kind == "invalid" and (
            statement.is_protected or by_owner or not self.protected_known
        ):
            return "what the engine said is not shown, for it may hold protected values"
        masked = Masker(self.secrets, self.protected).text(error.message)
        return masked.strip().partition("\n")[0]


def _unusable(statement: _Statement, result: ResultSet) -> str | None:
    """Why nothing can be compared with `result`."""
    if result.truncated:
        return (
            f"it was cut after {len(result.rows)} rows, and a cut result is never "
            "compared; return fewer rows, or raise the warehouse's max_rows."
        )
    if any(cell is not None for row in result.rows for cell in row):
        return None
    what = "nothing but NULL" if result.rows else "no rows"
    if statement.is_protected:
        return f"it gave {what}, so that nothing is protected; mend it."
    if statement.may_be_empty:
        return None
    return (
        f"it gave {what}, which no answer can be compared with; mend it, or say "
        "allow_empty: true if that is right."
    )
