"""Writing what happened to a trial: masked first, then to the run folder."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_dataeval.engine.ask import Asked, Fault
from pytest_dataeval.engine.outcome import TrialOutcome, state_of
from pytest_dataeval.engine.scoring import Scored, Scorer
from pytest_dataeval.errors import HarnessBroken
from pytest_dataeval.records import Attempt, ResultSet, Score, sha256_text

if TYPE_CHECKING:
    from pytest_dataeval.config import Settings
    from pytest_dataeval.engine.plan import Trial
    from pytest_dataeval.redact import Masker

Sink = Callable[[dict[str, Any]], None]

#: In place of a detail that could tell rows of a reference nobody here may read.
NOT_SHOWN = "The reference holds withheld columns, so its rows are not shown."


class Recorder:
    """Masks and hands on every event; writes transcripts and results.

    `sink` takes each event once. Nothing unmasked passes it.
    """

    def __init__(
        self, settings: Settings, scorer: Scorer, folder: Path, sink: Sink
    ) -> None:
        from pytest_dataeval.ledger.artifacts import Artifacts

        self._settings = settings
        self._scorer = scorer
        self._artifacts = Artifacts(folder)
        self._sink = sink
        self._sink_lock = threading.Lock()
        self._maskers: dict[tuple[str, ...], Masker] = {}
        self._references: dict[tuple[str, str], tuple[ResultSet, ResultSet, str]] = {}

    def masker(self, trial: Trial) -> Masker:
        """Masks secrets and the case's protected values. Raises HarnessBroken."""
        from pytest_dataeval.redact import Masker

        protected = self._scorer.protected(trial)
        if protected not in self._maskers:
            self._maskers[protected] = Masker(self._settings.secrets, protected)
        return self._maskers[protected]

    def emit(self, event: dict[str, Any]) -> None:
        """Hand one masked event to the sink; events may come from two threads."""
        with self._sink_lock:
            self._sink(event)

    def attempt(self, trial: Trial, asked: Asked) -> None:
        from pytest_dataeval.ledger.events import attempt_event, tool_call_json

        assert asked.attempt is not None
        masker = self.masker(trial)
        steps: list[dict[str, Any]] = [
            {"role": "user", "content": trial.question},
            *({"role": "agent", **dict(step)} for step in asked.transcript),
        ]
        path, sha = self._artifacts.write_transcript(
            trial.key,
            masker.data(
                {
                    "conversation": steps,
                    "tool_calls": list(map(tool_call_json, asked.attempt.tool_calls)),
                    "answer": asked.attempt.text,
                },
                numbers=True,
            ),
        )
        event = attempt_event(trial.key, asked.attempt, transcript=path, sha256=sha)
        masked = masker.event(event)
        masked["transcript"] = event["transcript"]  # a path, which must be found
        self.emit(self._stamp(masked, trial))

    def _stamp(self, event: dict[str, Any], trial: Trial) -> dict[str, Any]:
        """Add whose event it is; after masking, which must not touch identity."""
        event.update(trial.key.to_json())
        event["tier"] = trial.tier
        event["nodeid"] = trial.nodeid
        event["question_sha"] = sha256_text(trial.question)
        return event

    def fault(self, trial: Trial, fault: Fault) -> Fault:
        """Append a fault event for `trial`; gives the fault back, masked."""
        from pytest_dataeval.ledger.events import fault_event
        from pytest_dataeval.redact import Masker

        try:
            masker = self.masker(trial)
        except HarnessBroken:  # the fault may be just that
            masker = Masker(self._settings.secrets)
        fault = Fault(fault.what, masker.text(fault.where), masker.text(fault.detail))
        event = fault_event(trial.key, fault.what, fault.where, fault.detail)
        self.emit(self._stamp(event, trial))
        return fault

    def score(
        self,
        trial: Trial,
        attempt: Attempt,
        scored: Scored,
        score: Score,
        references: list[dict[str, Any]],
    ) -> TrialOutcome:
        from pytest_dataeval.ledger.events import score_event

        masker = self.masker(trial)
        reference, reference_sha = None, None
        if scored.reference is not None:
            if self._scorer.reads_withheld(trial):
                score = replace(score, detail=NOT_SHOWN)
            else:
                found = self._stored_reference(trial, scored.reference, masker)
                _, reference, reference_sha = found
        answer, answer_sha = None, None
        if scored.answer is not None:
            answer = masker.result(scored.answer)
            answer_sha = self._artifacts.write_result(answer)
        score = replace(
            score,
            detail=masker.text(score.detail),
            stated_value=masker.data(score.stated_value),
            stated_label=masker.data(score.stated_label),
            matched_definition=masker.data(score.matched_definition),
            pairing=masker.data(score.pairing),
            hits=masker.data(score.hits),
            reference_result=reference_sha,
            answer_result=answer_sha,
        )
        for event in references:
            event["result"] = reference_sha
            self.emit(self._stamp(masker.event(event), trial))
        self.emit(self._stamp(score_event(trial.key, score), trial))
        return self.outcome(trial, score, attempt, reference, answer)

    def _stored_reference(
        self, trial: Trial, result: ResultSet, masker: Masker
    ) -> tuple[ResultSet, ResultSet, str]:
        """The reference's result as it is, masked, and its hash; written once."""
        key = (trial.key.suite, trial.key.case)
        known = self._references.get(key)
        if known is None or known[0] is not result:
            masked = masker.result(result)
            known = (result, masked, self._artifacts.write_result(masked))
            self._references[key] = known
        return known

    def outcome(
        self,
        trial: Trial,
        score: Score,
        attempt: Attempt,
        reference: ResultSet | None = None,
        answer: ResultSet | None = None,
    ) -> TrialOutcome:
        state, expected = state_of(score, trial.loaded.case, dt.date.today())
        sql = None
        if score.statement_index is not None:
            sql = attempt.statements[score.statement_index].sql
        masker = self.masker(trial)
        if attempt.text is not None:
            text = masker.text(attempt.text)
            if text is not attempt.text:
                attempt = replace(attempt, text=text)
        return TrialOutcome(
            key=trial.key,
            state=state,
            question=trial.question,
            score=score,
            attempt=attempt,
            reference=reference,
            answer=answer,
            sql=masker.text(sql) if sql is not None else None,
            expected=expected,
        )
