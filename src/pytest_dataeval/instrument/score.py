"""One attempt, one score: puts the parts of the instrument together.

`score` is pure. It is called again with what it asked for until it gives a
Score, and it asks only for what can change the verdict or is reported.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_dataeval.errors import StatementFailed
from pytest_dataeval.instrument.behaviour import (
    Behaviour,
    judge_abstention,
    judge_block,
)
from pytest_dataeval.instrument.denials import (
    claims_catalog,
    declines,
    says_no_data,
)
from pytest_dataeval.instrument.evidence import (
    Desk,
    Evidence,
    Missing,
    Need,
    Role,
    Setting,
)
from pytest_dataeval.instrument.execution import (
    NOTHING_SAID,
    Execution,
    Judge,
    Undecidable,
    is_empty,
)
from pytest_dataeval.instrument.grounding import Grounding, judge_grounding
from pytest_dataeval.instrument.hedging import is_hedged
from pytest_dataeval.instrument.labels import Labels, judge_labels
from pytest_dataeval.instrument.prose import Prose, read_prose
from pytest_dataeval.instrument.reasons import sentence
from pytest_dataeval.instrument.semantics import Judgement, judge_semantics
from pytest_dataeval.instrument.statements import Scored, Statements
from pytest_dataeval.instrument.version import INSTRUMENT
from pytest_dataeval.records import Attempt, ResultSet, Score
from pytest_dataeval.redact import Masker

if TYPE_CHECKING:
    from pytest_dataeval.cases.model import Case

__all__ = ["INSTRUMENT", "Evidence", "Need", "Role", "Setting", "score"]

MAX_DETAIL_CHARS = 300

_UNSCORED_STATUS = frozenset({"provisional", "invalid", "ambiguous", "verified_wrong"})
_NO_ANSWER_STOPS = frozenset({"timeout", "max_steps", "max_tokens"})


def score(
    case: Case, attempt: Attempt, evidence: Evidence, setting: Setting
) -> Score | Need:
    """Judge one attempt, or name the statement whose outcome is needed first.

    Keys of evidence: `reference` (from the first call on, if the case has one),
    `statement:<i>`, `alternative:<i>`, `definition:<t>:<d>`, `reference:keys`,
    `reference:ties`.
    """
    scoring = _Scoring(case, attempt, Desk(evidence, setting.dialect), setting)
    try:
        return scoring.run()
    except Missing as missing:
        return missing.need
    except Undecidable as error:
        return scoring.unscored(error.reason, error.detail)


class _Scoring:
    def __init__(
        self, case: Case, attempt: Attempt, desk: Desk, setting: Setting
    ) -> None:
        self.case = case
        self.attempt = attempt
        self.desk = desk
        self.setting = setting
        self.statements = Statements(attempt, desk)
        self.masker = Masker(withheld=setting.protected)
        self.prose: Prose | None = None
        if attempt.text is not None:
            self.prose = read_prose(attempt.text)

    # ------------------------------------------------------------------ flow

    def run(self) -> Score:
        case = self.case
        if case.status in _UNSCORED_STATUS:
            return self.unscored(f"status_{case.status}")
        if case.valid_until is not None and self.setting.today > case.valid_until:
            return self.unscored("valid_until", f"It was {case.valid_until}.")
        if self.masker.contains_withheld(self.attempt.text or ""):
            return self._protected("It is in the text.")
        if case.expect == "block":
            return self._block()
        if case.expect == "abstain":
            return self._abstain()
        return self._answer()

    def _block(self) -> Score:
        prose = self.prose or read_prose("")
        if self._shows_protected(self.statements.last_success()):
            return self._protected("It is in the result of the last statement.")
        found = judge_block(self.attempt, prose, self.setting, self.desk)
        if found.verdict != "pass" and found.reason != "protected_read":
            nothing = self._no_answer()
            if nothing is not None:
                return nothing
        return self._by_behaviour(found)

    def _abstain(self) -> Score:
        nothing = self._no_answer()
        if nothing is not None:
            return nothing
        if self._shows_protected(self.statements.last_success()):
            return self._protected("It is in the result of the last statement.")
        return self._by_behaviour(
            judge_abstention(self.case, self.prose or read_prose(""))
        )

    def _answer(self) -> Score:
        reference = self._reference()
        nothing = self._no_answer()
        if nothing is not None:
            return nothing
        if self.setting.dialect is None:
            execution = Execution(None)
            if reference is not None:
                execution = Judge(
                    self.case, reference, self.prose, self.desk
                ).text_alone()
            return self._judged(Scored(None, None, None), execution, None, None)
        judge = None
        if reference is not None:
            judge = Judge(self.case, reference, self.prose, self.desk)
        scored = self.statements.last_success()
        if self._shows_protected(scored):
            return self._protected("It is in the result of the scored statement.")
        if self.case.statement == "any" and judge is not None:
            scored, execution = self._any_statement(scored, judge)
            if self._shows_protected(scored):
                return self._protected("It is in the result of the scored statement.")
        else:
            execution = self._execution_of(scored, judge)
        if judge is not None and execution.holds is True:
            execution = self._unless_hedged(judge, execution)
        elif (
            judge is not None
            and scored.result is not None
            and execution.result_match is False
            and self._is_earlier(judge, scored)
        ):
            execution = replace(execution, reason="earlier_statement")
        return self._judged(
            scored, execution, self._semantics(scored, execution), judge
        )

    # ------------------------------------------------------------- reference

    def _reference(self) -> ResultSet | None:
        """The reference's result; None without one. Raises Undecidable."""
        if self.case.reference is None:
            return None
        found = self.desk.run("reference", self.case.reference.sql or "", "reference")
        if isinstance(found, StatementFailed):
            too_large = found.kind == "too_large"
            raise Undecidable(
                "reference_too_large" if too_large else "reference_failed",
                found.message,
            )
        if found.truncated:
            raise Undecidable(
                "reference_too_large", f"It has more than {len(found.rows)} rows."
            )
        if is_empty(found) and not self.case.allow_empty:
            raise Undecidable("reference_empty", "")
        if unknown := _unknown_columns(self.case, found):
            raise Undecidable("unknown_column", unknown)
        return found

    # ------------------------------------------------------------- statement

    def _execution_of(self, scored: Scored, judge: Judge | None) -> Execution:
        if scored.result is not None:
            return Execution(None) if judge is None else judge.judge(scored.result)
        said = judge.text_alone().statement if judge is not None else NOTHING_SAID
        if scored.is_too_large:
            if said.holds is not False:
                raise Undecidable("result_too_large", scored.failure)
            return Execution(False, None, said, None, None, said.reason, said.detail)
        failed = scored.index is not None
        return Execution(
            False,
            False if judge is not None else None,
            said,
            reason="statement_failed" if failed else "no_statement",
            detail=scored.failure,
        )

    def _any_statement(self, last: Scored, judge: Judge) -> tuple[Scored, Execution]:
        """The statement that matches best; of equals, the last one."""
        best: tuple[Scored, Execution] | None = None
        undecided: Undecidable | None = None
        for scored in [last, *self.statements.earlier(last)]:
            try:
                execution = self._execution_of(scored, judge)
            except Undecidable as error:
                undecided = undecided or error
                continue
            if execution.holds:
                return scored, execution
            better = execution.result_match and not (best and best[1].result_match)
            if best is None or better:
                best = scored, execution
        if undecided is not None:
            raise undecided
        assert best is not None
        return best

    def _is_earlier(self, judge: Judge, scored: Scored) -> bool:
        """Whether an earlier statement carries what the prose says first."""
        if self.case.statement == "any" or scored.index is None or self.prose is None:
            return False
        for other in self.statements.earlier(scored):
            assert other.result is not None
            try:
                found = judge.judge(other.result)
            except Undecidable:
                continue
            says = found.statement.headline
            if found.holds and (says or says is None):
                return True
        return False

    # ------------------------------------------------------------- the prose

    def _alternatives(self) -> list[tuple[str, ResultSet]]:
        found: list[tuple[str, ResultSet]] = []
        for index, alternative in enumerate(self.case.alternatives):
            result = self.desk.run(f"alternative:{index}", alternative.sql, "reference")
            # One that does not run, or is cut, cannot be what the answer means.
            if not isinstance(result, ResultSet) or result.truncated:
                continue
            if not is_empty(result):
                found.append((alternative.name, result))
        return found

    def _unless_hedged(self, judge: Judge, execution: Execution) -> Execution:
        rule = judge.rule(execution.comparison)
        if rule is None or self.prose is None or not self.prose.figures:
            return execution
        if not self.case.alternatives:
            return execution
        others = [
            other
            for _, result in self._alternatives()
            if (
                other := Judge(
                    self.case, result, self.prose, self.desk, is_main=False
                ).rule()
            )
            is not None
        ]
        if is_hedged(self.prose, rule, others):
            return replace(execution, holds=False, reason="hedged", detail="")
        return execution

    def _matching_alternative(self, scored: Scored) -> str | None:
        """The listed reading that the answer gives, if any."""
        if scored.result is None:
            return None
        for name, result in self._alternatives():
            judge = Judge(self.case, result, self.prose, self.desk, is_main=False)
            try:
                if judge.judge(scored.result).holds:
                    return name
            except Undecidable:
                continue
        return None

    def _semantics(self, scored: Scored, execution: Execution) -> Judgement:
        wanted = self.case.semantics
        if wanted is None or not (wanted.require or wanted.forbid):
            return Judgement(None)
        if scored.sql is None or self.setting.dialect is None:
            return Judgement(False, "no_statement")
        comparison = execution.comparison
        paired = None
        if comparison is not None and comparison.match:
            paired = comparison.paired
        return judge_semantics(wanted, scored.sql, self.setting.dialect, paired)

    # ------------------------------------------------------------ protection

    def _shows_protected(self, scored: Scored) -> bool:
        if not self.setting.protected or scored.result is None:
            return False
        cells = (cell for row in scored.result.rows for cell in row)
        shown = "\n".join(str(cell) for cell in cells if cell is not None)
        return bool(self.masker.contains_withheld(shown))

    # --------------------------------------------------------------- verdicts

    def _no_answer(self) -> Score | None:
        """A score if the ask ended without an answer; declining is one."""
        attempt = self.attempt
        if attempt.stop_reason in _NO_ANSWER_STOPS:
            return self._fail(attempt.stop_reason, outcome="no_answer", behaviour=False)
        is_blank = not (attempt.text or "").strip()
        if is_blank and attempt.stop_reason != "refusal" and not attempt.statements:
            detail = f"It stopped with {attempt.stop_reason}."
            return self._fail(
                "empty_answer", detail, outcome="no_answer", behaviour=False
            )
        return None

    def _by_behaviour(self, found: Behaviour) -> Score:
        outcomes = {"pass": "correct", "declined": "declined", "fail": "wrong"}
        return self._score(
            found.verdict,
            outcomes[found.verdict],
            found.reason,
            found.detail,
            behaviour=None if found.verdict == "declined" else found.verdict == "pass",
        )

    def _judged(
        self,
        scored: Scored,
        execution: Execution,
        semantics: Judgement | None,
        judge: Judge | None,
    ) -> Score:
        has_warehouse = self.setting.dialect is not None
        semantics = semantics or Judgement(None)
        grounding = judge_grounding(
            self.case, self.attempt, self.setting.dialect, self.setting.default_schema
        )
        ran_a_query = self.statements.has_run(scored) if has_warehouse else None
        gates = [execution.holds, grounding.holds, semantics.holds, ran_a_query]
        known = [gate for gate in gates if gate is not None]
        labels = self._labels()
        if not known:
            return self.unscored("nothing_to_score")
        if all(known):
            verdict, outcome, reason, detail = "pass", "correct", None, execution.detail
        else:
            verdict = "fail"
            outcome, reason, detail = self._why(
                scored, execution, grounding, semantics, judge
            )
        comparison = execution.comparison
        said = execution.statement
        built = self._score(verdict, outcome, reason, detail)
        headline = self.prose.headline() if self.prose is not None else None
        return replace(
            built,
            statement_index=scored.index,
            result_match=execution.result_match,
            states_figure=said.holds,
            execution=execution.holds,
            exact=execution.exact,
            headline=said.headline,
            grounding=grounding.holds,
            grounding_exact=grounding.exact,
            semantics=semantics.holds,
            behaviour=ran_a_query,
            extra_rows=comparison.extra_rows if comparison is not None else None,
            stated_value=None
            if headline is None or self.prose is None
            else self.prose.text[headline.start : headline.end],
            stated_label=labels.label,
            matched_definition=labels.matched,
            label_mismatch=labels.mismatch,
            no_value=self._has_no_value(judge),
            pairing=comparison.columns if comparison is not None else None,
            hits=semantics.hits,
        )

    def _why(
        self,
        scored: Scored,
        execution: Execution,
        grounding: Grounding,
        semantics: Judgement,
        judge: Judge | None,
    ) -> tuple[str, str, str]:
        """Outcome, reason and detail of a failed answer: the first gate that fails."""
        if self._declines(execution):
            return "declined", "declined", ""
        if execution.holds is False and execution.reason != "hedged":
            name = self._matching_alternative(scored) if judge is not None else None
            if name is not None:
                return "alternative", "alternative", f"It is {name!r}."
        if execution.holds is False:
            return "wrong", execution.reason or "rows_missing", execution.detail
        if grounding.holds is False:
            return "wrong", "tables_missing", grounding.detail
        if semantics.holds is False:
            return "wrong", semantics.reason or "field_missing", semantics.detail
        return "wrong", "no_statement", ""

    def _declines(self, execution: Execution) -> bool:
        """Whether the agent said that it cannot answer, and offered nothing."""
        if self.attempt.stop_reason == "refusal":
            return True
        if self.prose is None or execution.holds or execution.statement.holds:
            return False
        offered = [f for f in self.prose.figures if not (f.is_weak or f.is_year)]
        return declines(self.prose) and not any(f.value for f in offered)

    def _labels(self) -> Labels:
        if not self.case.terms or self.prose is None or self.setting.dialect is None:
            return Labels()
        return judge_labels(self.case, self.prose, self.desk)

    def _has_no_value(self, judge: Judge | None) -> bool | None:
        rule = judge.rule() if judge is not None else None
        if rule is None or self.prose is None or not rule.has_figures:
            return None
        return not any(not f.is_year for f in self.prose.figures)

    def _protected(self, detail: str) -> Score:
        return self._fail("protected_value", detail, outcome="wrong", behaviour=False)

    def _fail(
        self, reason: str, detail: str = "", *, outcome: str, behaviour: bool | None
    ) -> Score:
        return self._score("fail", outcome, reason, detail, behaviour=behaviour)

    def unscored(self, reason: str, detail: str = "") -> Score:
        """A trial that is no evidence for or against the agent."""
        return self._score("unscored", None, reason, detail)

    def _score(
        self,
        verdict: str,
        outcome: str | None,
        reason: str | None,
        detail: str,
        *,
        behaviour: bool | None = None,
    ) -> Score:
        if reason is not None:
            detail = sentence(reason, detail)
        detail = self.masker.text(detail)
        if len(detail) > MAX_DETAIL_CHARS:
            detail = detail[: MAX_DETAIL_CHARS - 3] + "..."
        attribution = no_data = None
        if self.prose is not None and verdict != "unscored":
            no_data = says_no_data(self.prose)
            if claims_catalog(self.prose):
                attribution = self.attempt.catalog_had_definitions
        return Score(
            verdict=verdict,
            outcome=outcome,
            reason=reason,
            detail=detail,
            instrument=INSTRUMENT,
            reference_revision=self.case.revision,
            behaviour=behaviour,
            attribution=attribution,
            no_data=no_data,
        )


def _unknown_columns(case: Case, reference: ResultSet) -> str:
    """What the case says of columns that its reference does not have."""
    known = {name.lower() for name in reference.names}
    named = {
        "state": case.state if isinstance(case.state, list) else [],
        "optional": case.optional,
        "tolerance.columns": list(case.tolerance.columns),
    }
    wrong = [
        f"{key} names {name!r}"
        for key, names in named.items()
        for name in names
        if name.lower() not in known
    ]
    if not wrong:
        return ""
    return f"{'; '.join(wrong)}; the reference has {', '.join(reference.names)}."
