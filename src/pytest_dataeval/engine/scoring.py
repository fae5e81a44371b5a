"""From an attempt to a score: run what the instrument needs, ask it again."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_dataeval.errors import HarnessBroken, StatementFailed
from pytest_dataeval.records import Attempt, ResultSet, Score

if TYPE_CHECKING:
    from pytest_dataeval.cases.model import Case
    from pytest_dataeval.engine.plan import Trial
    from pytest_dataeval.engine.project import Project
    from pytest_dataeval.warehouse.base import Warehouse
    from pytest_dataeval.warehouse.references import Reference, ReferenceStore

#: More rounds than the instrument can ever ask for: a safety line, not a limit.
MAX_ROUNDS = 200

Emit = Callable[[dict[str, Any]], None]
Outcome = ResultSet | StatementFailed


class Scorer:
    """Scores attempts of one process against references shared by all of them."""

    def __init__(
        self,
        project: Project,
        references: ReferenceStore,
        warehouse: Warehouse | None = None,
    ) -> None:
        self.project = project
        self.references = references
        self._replacement = warehouse
        self._protected: dict[tuple[str, str], tuple[str, ...]] = {}
        self._unreported: dict[tuple[str, str], Reference] = {}

    def within(self, warehouse: Warehouse | None) -> Scorer:
        """A scorer that runs everything in `warehouse`; None gives this one."""
        if warehouse is None:
            return self
        return Scorer(self.project, self.references, warehouse)

    def _warehouse(self, trial: Trial) -> Warehouse | None:
        """Where the trial's statements run; None for a suite without one."""
        if self._replacement is not None:
            return self._replacement
        name = trial.suite_file.warehouse
        return self.project.warehouse(name) if name is not None else None

    # ------------------------------------------------------------- references

    def reference(self, trial: Trial) -> Reference | None:
        """The case's reference, run once a run; None where the case has none."""
        case = trial.loaded.case
        if case.reference is None:
            return None
        persona = self.reference_persona(trial)
        found = self._stored(
            trial, "reference", persona, lambda: self._compute(trial, persona)
        )
        if found.fresh:
            # whoever scores first reports it, which need not be who asked first
            self._unreported[trial.key.suite, trial.key.case] = found
        return found

    def _compute(self, trial: Trial, persona: str | None) -> ResultSet:
        from pytest_dataeval.warehouse.python_reference import (
            fixed_values,
            run_python_reference,
        )

        reference = trial.loaded.case.reference
        assert reference is not None
        if reference.value is not None:
            return fixed_values(reference.value)
        if reference.python is not None:
            return run_python_reference(
                reference.python,
                base=trial.suite_file.path.parent,
                run=lambda sql: self.run(trial, sql, persona),
            )
        assert reference.sql is not None
        return self.run_reference(trial, reference.sql, persona)

    def reference_persona(self, trial: Trial) -> str | None:
        """Whose rights the case's reference is read with; None is the owner."""
        reference = trial.loaded.case.reference
        if reference is not None and reference.persona == "owner":
            return None
        return self.project.persona_of(trial.loaded.case)

    def _stored(
        self,
        trial: Trial,
        name: str,
        persona: str | None,
        compute: Callable[[], ResultSet],
    ) -> Reference:
        from pytest_dataeval.warehouse.references import ReferenceKey

        case = trial.loaded.case
        key = ReferenceKey(
            suite=trial.key.suite,
            case=case.id,
            revision=case.revision,
            snapshot=self._replacement.fingerprint() if self._replacement else "",
            persona=persona,
            name=name,
        )
        return self.references.get(key, compute)

    # ------------------------------------------------------- protected values

    def protected(self, trial: Trial) -> tuple[str, ...]:
        """The values that no answer may hold, resolved once a case.

        They are needed before anything of the trial is written, since each is
        masked. Raises HarnessBroken if a statement that yields them fails: an
        unknown secret cannot be kept.
        """
        key = (trial.key.suite, trial.key.case)
        if key not in self._protected:
            self._protected[key] = tuple(self._resolve_protected(trial))
        return self._protected[key]

    def _resolve_protected(self, trial: Trial) -> list[str]:
        values: list[str] = []
        for index, entry in enumerate(trial.loaded.case.must_not_contain):
            if isinstance(entry, str):
                values.append(entry)
                continue
            owner = entry.persona == "owner"
            persona = None if owner else self.project.persona_of(trial.loaded.case)
            # never stored, not even for other workers: each process asks for itself
            found = self._outcome(trial, entry.sql, persona)
            if isinstance(found, StatementFailed):
                raise HarnessBroken(
                    "protected_values_unknown",
                    f"{trial.suite_file.path}: case {trial.key.case}",
                    f"must_not_contain[{index}].sql did not run: {found.message}.",
                    "Values that are not known cannot be withheld; mend the SQL.",
                )
            cells = (cell for row in found.rows for cell in row)
            values.extend(str(cell) for cell in cells if cell is not None)
        return values

    # -------------------------------------------------------------- statements

    def run(self, trial: Trial, sql: str, persona: str | None) -> ResultSet:
        """Run one statement read-only, with the rights of `persona`.

        `persona=None` is the owner. Raises StatementFailed, or HarnessBroken if
        the warehouse cannot be reached.
        """
        warehouse = self._warehouse(trial)
        if warehouse is None:
            raise StatementFailed(
                "invalid", f"suite {trial.key.suite} names no warehouse to run SQL in"
            )
        withheld = self.project.withheld(persona)
        if withheld:
            _refuse_withheld(sql, warehouse, withheld)
        try:
            return warehouse.run(sql, persona=persona)
        except StatementFailed as error:
            if error.kind == "broken":
                raise HarnessBroken(
                    "warehouse_unreachable",
                    f"warehouse {warehouse.name}",
                    error.message,
                    "Check that it is up and that its url is right, then resume.",
                ) from error
            raise

    def run_reference(self, trial: Trial, sql: str, persona: str | None) -> ResultSet:
        """Run a statement of the case's author, written in the case's dialect.

        Raises what `run` raises, and StatementFailed if it cannot be translated.
        """
        return self.run(trial, self.translated(trial, sql), persona)

    def translated(self, trial: Trial, sql: str) -> str:
        """A statement of the case's author in the warehouse's dialect."""
        from pytest_dataeval.sql.parse import Unparsable
        from pytest_dataeval.sql.transpile import transpile

        reference = trial.loaded.case.reference
        warehouse = self._warehouse(trial)
        if reference is None or reference.dialect is None or warehouse is None:
            return sql
        try:
            translated = transpile(sql, reference.dialect, warehouse.dialect)
        except ValueError as error:
            raise StatementFailed("invalid", str(error)) from error
        if isinstance(translated, Unparsable):
            raise StatementFailed("invalid", translated.reason)
        return translated

    def reads_withheld(self, trial: Trial) -> bool:
        """Whether the reference may hold what the trial's persona may not read.

        It then ran as the owner, and what it gave is neither stored nor shown.
        """
        from pytest_dataeval.sql.protect import withheld_columns_read

        reference = trial.loaded.case.reference
        warehouse = self._warehouse(trial)
        withheld = self.project.withheld(self.project.persona_of(trial.loaded.case))
        if reference is None or warehouse is None or not withheld:
            return False
        if reference.persona != "owner" or reference.value is not None:
            return False
        if reference.sql is None:
            return True  # a function may read anything
        read = withheld_columns_read(
            self.translated(trial, reference.sql),
            warehouse.dialect,
            warehouse.columns(),
            withheld,
            default_schema=warehouse.default_schema,
        )
        return read is None or bool(read)

    def live_reference(self, trial: Trial) -> Outcome | None:
        """What a live reference gives now; None for a case whose data stand still.

        Raises HarnessBroken if the warehouse cannot be reached.
        """
        reference = trial.loaded.case.reference
        if reference is None or not reference.live:
            return None
        try:
            return self._compute(trial, self.reference_persona(trial))
        except StatementFailed as error:
            return error

    def _outcome(self, trial: Trial, sql: str, persona: str | None) -> Outcome:
        try:
            return self.run(trial, sql, persona)
        except StatementFailed as error:
            return error

    # ------------------------------------------------------------------- score

    def score(
        self,
        trial: Trial,
        attempt: Attempt,
        emit: Emit,
        live: tuple[Outcome, Outcome] | None = None,
    ) -> Scored:
        """Score one attempt; `emit` receives a reference event when one is new.

        `live` is what a live reference gave before and after the ask. Raises
        HarnessBroken when our side fails.
        """
        from pytest_dataeval.instrument.score import Need, score

        case = trial.loaded.case
        persona = self.project.persona_of(case)
        evidence: dict[str, Outcome] = {}
        if live is not None:
            before, after = live
            evidence["reference"] = after
            if not _same(before, after):
                return Scored(_moved(case), evidence)
        elif (found := self._reference_outcome(trial, emit)) is not None:
            evidence["reference"] = found
        setting = self._setting(trial, persona)
        for _ in range(MAX_ROUNDS):
            result = score(case, attempt, evidence, setting)
            if isinstance(result, Score):
                return Scored(result, evidence)
            assert isinstance(result, Need)
            evidence[result.key] = self._fulfil(trial, result, persona)
        raise HarnessBroken(
            "instrument_loop",
            f"case {case.id}",
            f"the instrument asked for more than {MAX_ROUNDS} results",
            "This is a defect of pytest-dataeval; please report the case.",
        )

    def _reference_outcome(self, trial: Trial, emit: Emit) -> Outcome | None:
        from pytest_dataeval.ledger.events import reference_event

        case = trial.loaded.case
        found = self.reference(trial)
        if found is None or case.reference is None:
            return None
        fresh = self._unreported.pop((trial.key.suite, trial.key.case), None)
        if fresh is not None:
            as_of = case.reference.as_of
            day = as_of.isoformat() if as_of is not None else None
            emit(reference_event(trial.key, case.revision, fresh, as_of=day))
        return found.result or found.error

    def _fulfil(self, trial: Trial, need: Any, persona: str | None) -> Outcome:
        if need.role == "answer":
            return self._outcome(trial, need.sql, persona)
        as_who = self.reference_persona(trial)
        found = self._stored(
            trial,
            need.key,
            as_who,
            lambda: self.run_reference(trial, need.sql, as_who),
        )
        outcome = found.result or found.error
        assert outcome is not None
        return outcome

    def _setting(self, trial: Trial, persona: str | None) -> Any:
        from pytest_dataeval.instrument.score import Setting

        today = dt.date.today()
        protected = self.protected(trial)
        warehouse = self._warehouse(trial)
        if warehouse is None:
            return Setting(
                dialect=None,
                default_schema=None,
                columns={},
                withheld=frozenset(),
                protected=protected,
                today=today,
            )
        return Setting(
            dialect=warehouse.dialect,
            default_schema=warehouse.default_schema,
            columns=warehouse.columns(),
            withheld=self.project.withheld(persona),
            protected=protected,
            today=today,
        )


class Scored:
    """A score, and the results that it stands on (for display and the ledger)."""

    def __init__(self, score: Score, evidence: Mapping[str, Outcome]) -> None:
        self.score = score
        self.evidence = evidence

    @property
    def reference(self) -> ResultSet | None:
        found = self.evidence.get("reference")
        return found if isinstance(found, ResultSet) else None

    @property
    def answer(self) -> ResultSet | None:
        """The result of the statement that was scored."""
        found = self.evidence.get(f"statement:{self.score.statement_index}")
        return found if isinstance(found, ResultSet) else None

    def with_hashes(self, reference: str | None, answer: str | None) -> Score:
        return replace(self.score, reference_result=reference, answer_result=answer)


def _same(before: Outcome, after: Outcome) -> bool:
    """Whether two runs of a live reference gave the same rows, in any order."""
    if not isinstance(before, ResultSet) or not isinstance(after, ResultSet):
        return isinstance(before, StatementFailed) == isinstance(after, StatementFailed)
    return Counter(map(repr, before.rows)) == Counter(map(repr, after.rows))


def _moved(case: Case) -> Score:
    from pytest_dataeval.instrument.reasons import sentence
    from pytest_dataeval.instrument.version import INSTRUMENT

    reason = "reference_moved"
    return Score("unscored", None, reason, sentence(reason), INSTRUMENT, case.revision)


def _refuse_withheld(sql: str, warehouse: Warehouse, withheld: frozenset[str]) -> None:
    """Raise StatementFailed if `sql` reads a withheld column, or might."""
    from pytest_dataeval.sql.protect import withheld_columns_read

    read = withheld_columns_read(
        sql,
        warehouse.dialect,
        warehouse.columns(),
        withheld,
        default_schema=warehouse.default_schema,
    )
    if read is None:
        raise StatementFailed(
            "refused", "the columns it reads cannot be told, and some are withheld"
        )
    if read:
        raise StatementFailed("refused", f"it reads withheld {', '.join(sorted(read))}")
