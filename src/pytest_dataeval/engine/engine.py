"""The engine: one trial from its question to its score, and the ledger's lines.

It knows nothing of pytest. In one process trials may be asked ahead on a
background event loop; each is finished (scored and written) by its own caller.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import threading
import uuid
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_dataeval.engine.ask import Asked, Fault, Terms, ask_once
from pytest_dataeval.engine.background import BackgroundLoop
from pytest_dataeval.engine.bindings import UNBOUND, Bindings
from pytest_dataeval.engine.outcome import TrialOutcome, state_of
from pytest_dataeval.engine.prior import Prior
from pytest_dataeval.engine.scoring import Scored, Scorer
from pytest_dataeval.errors import HarnessBroken
from pytest_dataeval.records import (
    Attempt,
    ResultSet,
    Score,
    TrialKey,
    sha256_text,
)

if TYPE_CHECKING:
    from pytest_dataeval.agents.adapt import AdaptedAgent
    from pytest_dataeval.agents.replay import Answers
    from pytest_dataeval.cases.load import LoadedFile
    from pytest_dataeval.engine.facade import ToolFacade
    from pytest_dataeval.engine.plan import Trial
    from pytest_dataeval.engine.project import Project
    from pytest_dataeval.mcp.provide import Provider, TokenFor
    from pytest_dataeval.redact import Masker

#: A check of the user's own: a sentence turns a pass into a fail.
Check = Callable[["Trial", Attempt, Score], str | None]
Sink = Callable[[dict[str, Any]], None]

#: Asks in flight where nothing else is said.
CONCURRENCY_WAITING = 8


class Engine:
    """Asks, scores and records trials for one process.

    `references` is the folder that processes share references through, `folder`
    the run's. `sink` takes each ledger event once, masked. `answers` are those that the
    replay agent gives. `prior` is set where a run goes on: it tells what
    the earlier part already knows of a trial.
    """

    def __init__(
        self,
        project: Project,
        references: Path,
        folder: Path,
        sink: Sink,
        answers: Answers | None = None,
    ) -> None:
        from pytest_dataeval.ledger.artifacts import Artifacts
        from pytest_dataeval.warehouse.references import ReferenceStore

        self.project = project
        self.scorer = Scorer(project, ReferenceStore(references))
        self.artifacts = Artifacts(folder)
        self.answers = answers
        self.prior: Callable[[TrialKey], Prior | None] = lambda key: None
        self._sink = sink
        self._sink_lock = threading.Lock()
        self._loop: BackgroundLoop | None = None
        self._agents: dict[str, AdaptedAgent] = {}
        self._asking: dict[str, Trial] = {}
        self._slots: dict[str, asyncio.Semaphore] = {}
        self._maskers: dict[tuple[tuple[str, ...], tuple[str, ...]], Masker] = {}
        self._provider: Provider | None = None

    # ------------------------------------------------------------------ parts

    @property
    def loop(self) -> BackgroundLoop:
        if self._loop is None:
            self._loop = BackgroundLoop()
        return self._loop

    @property
    def provider(self) -> Provider:
        if self._provider is None:
            from pytest_dataeval.mcp.provide import Provider

            self._provider = Provider(
                self.project.settings, self.project.warehouse, self.project.catalog
            )
        return self._provider

    def agent(self, name: str) -> AdaptedAgent:
        """The configured agent `name`, made once a process."""
        if name not in self._agents:
            from pytest_dataeval.agents.load import Services, make_agent

            settings = self.project.settings
            self._agents[name] = make_agent(
                name,
                settings.config.agents.get(name),
                Services(
                    gold=self._gold_task,
                    key=lambda conversation: self._asking[conversation].key,
                    answers=self.answers,
                ),
                hook=self.project.hook,
                configured=settings.config.agents,
                import_paths=[settings.rootdir],
            )
        return self._agents[name]

    def masker(self, trial: Trial) -> Masker:
        """Masks secrets and the case's protected values. Raises HarnessBroken."""
        from pytest_dataeval.redact import Masker

        # a secret that was resolved meanwhile calls for a new masker
        key = (self.project.settings.secrets, self.scorer.protected(trial))
        if key not in self._maskers:
            self._maskers[key] = Masker(*key)
        return self._maskers[key]

    def emit(self, event: dict[str, Any]) -> None:
        """Hand one masked event to the sink; events may come from two threads."""
        with self._sink_lock:
            self._sink(event)

    # -------------------------------------------------------------- preflight

    def preflight(self, files: Sequence[LoadedFile]) -> None:
        """Check what the asks will need, before any of them.

        Tokens of all personas, the warehouses and personas that the files name,
        the agents, and the servers of every arm. Raises UsageError for what does
        not exist and HarnessBroken for what cannot be used.
        """
        project = self.project
        for persona in project.settings.config.personas:
            project.token_for(persona)
        for file in files:
            for loaded in file.cases:
                project.persona_of(loaded.case)
        warehouses = project.warehouses_of(files)
        for name in warehouses:
            project.prepare_warehouse(name)
        agents = [self.agent(name) for name in project.axes.agents]
        if any(agent.needs_servers for agent in agents):
            self._check_servers(warehouses, files)

    def _check_servers(
        self, warehouses: Sequence[str], files: Sequence[LoadedFile]
    ) -> None:
        persona = next(
            (self.project.persona_of(x.case) for f in files for x in f.cases), None
        )
        suites: list[str | None] = [*warehouses] or [None]
        for arm in self.project.arms.values():
            for warehouse in suites:
                if self._has_servers(warehouse):
                    token_for = self.project.token_for
                    check = self.provider.check(arm, persona, warehouse, token_for)
                    self.loop.run(check)

    def most_in_flight(self) -> int:
        """The largest number of asks that may be under way at once."""
        limit = self.project.options.concurrency
        if limit is not None:
            return limit
        agents = [self.agent(name) for name in self.project.axes.agents]
        return max(concurrency_of(agent) for agent in agents)

    # -------------------------------------------------------------------- ask

    def start(self, trial: Trial, bindings: Bindings = UNBOUND) -> Future[Asked]:
        """Begin the ask of `trial`; what `bindings` names replaces our own parts."""
        (future,) = self.start_all([trial], bindings)
        return future

    def start_all(
        self, trials: Sequence[Trial], bindings: Bindings = UNBOUND
    ) -> list[Future[Asked]]:
        """Begin several asks, in this order."""
        futures: list[Future[Asked]] = []
        asks: list[tuple[Future[Asked], Coroutine[Any, Any, Asked]]] = []
        for trial in trials:
            future: Future[Asked] = Future()
            futures.append(future)
            prior = self.prior(trial.key)
            if prior is not None:
                future.set_result(Asked(prior.attempt, None))
                continue
            try:
                self.masker(trial)
                agent = bindings.agent or self.agent(trial.key.agent)
            except HarnessBroken as error:
                future.set_result(Asked(None, Fault.of(error)))
                continue
            asks.append((future, self._ask(trial, agent, bindings)))
        if asks:
            self.loop.submit_all(asks)
        return futures

    async def _ask(
        self, trial: Trial, agent: AdaptedAgent, bindings: Bindings
    ) -> Asked:
        async with self._slot(trial.key.agent, agent):
            asked = await self._converse(trial, agent, bindings)
            if asked.fault is not None:
                # a fault is ours: asked again once; an answer never is
                asked = await self._converse(trial, agent, bindings)
        if asked.attempt is not None:
            self._record_attempt(trial, asked)
        return asked

    async def _converse(
        self, trial: Trial, agent: AdaptedAgent, bindings: Bindings
    ) -> Asked:
        """One fresh conversation, known by its id while it lasts."""
        conversation = uuid.uuid4().hex
        self._asking[conversation] = trial
        provider = self._own_provider(bindings)
        try:
            return await self._ask_in(
                conversation, trial, agent, provider, bindings.token_for
            )
        finally:
            del self._asking[conversation]
            if provider is not None:
                await provider.aclose()

    def _own_provider(self, bindings: Bindings) -> Provider | None:
        """A provider for this trial alone, where its fixtures change the servers."""
        if not bindings.own_servers:
            return None
        from pytest_dataeval.mcp.provide import Provider

        project = self.project
        warehouse = bindings.warehouse
        return Provider(
            project.settings,
            project.warehouse if warehouse is None else lambda name: warehouse,
            project.catalog,
        )

    async def _ask_in(
        self,
        conversation: str,
        trial: Trial,
        agent: AdaptedAgent,
        provider: Provider | None,
        token_for: TokenFor | None,
    ) -> Asked:
        project = self.project
        arm = project.arms[trial.key.arm]
        config = project.settings.config.agents.get(trial.key.agent)
        persona = project.persona_of(trial.loaded.case)
        warehouse = trial.suite_file.warehouse

        async def open_toolbox() -> Any:
            if not agent.needs_servers or not self._has_servers(warehouse):
                return None
            return await (provider or self.provider).open(
                arm, persona, warehouse, token_for or project.token_for
            )

        terms = Terms(
            timeout_s=config.timeout_s if config else 300.0,
            max_steps=config.max_steps if config else 16,
            system_prompt=arm.prompt,
            model=config.model if config else None,
            effort=config.effort if config else None,
        )
        return await ask_once(
            agent,
            trial.question,
            persona,
            terms,
            open_toolbox,
            prefetch=arm.prefetch,
            conversation=conversation,
            catalog_had_definitions=arm.has_definitions,
        )

    def _has_servers(self, warehouse: str | None) -> bool:
        return bool(self.project.settings.config.servers) or warehouse is not None

    def _slot(self, name: str, agent: AdaptedAgent) -> asyncio.Semaphore:
        """One semaphore for all agents if --concurrency is given, else one each."""
        limit = self.project.options.concurrency
        key = "" if limit is not None else name
        if key not in self._slots:
            count = limit if limit is not None else concurrency_of(agent)
            self._slots[key] = asyncio.Semaphore(count)
        return self._slots[key]

    def _gold_task(self, conversation: str) -> Any:
        from pytest_dataeval.engine.gold import gold_task

        return gold_task(self._asking[conversation], self.scorer)

    # ----------------------------------------------------------------- record

    def _record_attempt(self, trial: Trial, asked: Asked) -> None:
        from pytest_dataeval.ledger.events import attempt_event, tool_call_json

        assert asked.attempt is not None
        masker = self.masker(trial)
        steps: list[dict[str, Any]] = [
            {"role": "user", "content": trial.question},
            *({"role": "agent", **dict(step)} for step in asked.transcript),
        ]
        path, sha = self.artifacts.write_transcript(
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

    def record_fault(self, trial: Trial, fault: Fault) -> None:
        """Append a fault event for `trial`."""
        from pytest_dataeval.ledger.events import fault_event

        event = fault_event(trial.key, fault.what, fault.where, fault.detail)
        try:
            event = self.masker(trial).event(event)
        except HarnessBroken:
            event = {**event, "detail": "withheld: the case's secrets are unknown"}
        self.emit(self._stamp(event, trial))

    # ----------------------------------------------------------------- finish

    def finish(
        self,
        trial: Trial,
        asked: Asked,
        check: Check | None = None,
        bindings: Bindings = UNBOUND,
    ) -> TrialOutcome:
        """Score what was asked, write the score or the fault, and sum it up."""
        if asked.fault is not None:
            return self._faulted(trial, asked.fault)
        assert asked.attempt is not None
        expected = (bindings.agent or self.agent(trial.key.agent)).name
        if asked.attempt.agent != expected:
            detail = f"{asked.attempt.agent!r} answered where {expected!r} was to"
            return self._faulted(trial, Fault("wrong_agent", trial.nodeid, detail))
        prior = self.prior(trial.key)
        if prior is not None and prior.score is not None:
            return self._outcome(trial, prior.score, asked.attempt, None)
        references: list[dict[str, Any]] = []
        try:
            scorer = self.scorer.within(bindings.warehouse)
            scored = scorer.score(trial, asked.attempt, references.append)
        except HarnessBroken as error:
            return self._faulted(trial, Fault.of(error))
        score = scored.score
        if check is not None and score.verdict == "pass":
            complaint = check(trial, asked.attempt, score)
            if complaint:
                score = replace(
                    score, verdict="fail", reason="user_check", detail=complaint
                )
        return self._record_score(trial, asked.attempt, scored, score, references)

    def _record_score(
        self,
        trial: Trial,
        attempt: Attempt,
        scored: Scored,
        score: Score,
        references: list[dict[str, Any]],
    ) -> TrialOutcome:
        from pytest_dataeval.ledger.events import score_event

        masker = self.masker(trial)
        reference = masker.result(scored.reference) if scored.reference else None
        answer = masker.result(scored.answer) if scored.answer else None
        write = self.artifacts.write_result
        score = replace(
            score,
            reference_result=write(reference) if reference is not None else None,
            answer_result=write(answer) if answer is not None else None,
        )
        for event in references:
            event["result"] = score.reference_result
            self.emit(self._stamp(masker.event(event), trial))
        score = Score.from_json(masker.event(score.to_json()))
        self.emit(self._stamp(score_event(trial.key, score), trial))
        return self._outcome(trial, score, attempt, scored, reference, answer)

    def _outcome(
        self,
        trial: Trial,
        score: Score,
        attempt: Attempt,
        scored: Scored | None,
        reference: ResultSet | None = None,
        answer: ResultSet | None = None,
    ) -> TrialOutcome:
        state, expected = state_of(score, trial.loaded.case, dt.date.today())
        sql = None
        if score.statement_index is not None:
            sql = attempt.statements[score.statement_index].sql
        masker = self.masker(trial)
        return TrialOutcome(
            key=trial.key,
            state=state,
            question=trial.question,
            score=score,
            attempt=replace(
                attempt,
                text=masker.text(attempt.text) if attempt.text is not None else None,
            ),
            reference=reference,
            answer=answer,
            sql=masker.text(sql) if sql is not None else None,
            expected=expected,
        )

    def _faulted(self, trial: Trial, fault: Fault) -> TrialOutcome:
        self.record_fault(trial, fault)
        return TrialOutcome(trial.key, "fault", trial.question, fault=fault)

    def wait(self, future: Future[Asked]) -> Asked:
        """The end of an ask; one that was cancelled is a fault."""
        try:
            return future.result()
        except CancelledError:
            return Asked(
                None, Fault("cancelled", "the run", "the run ended during this ask")
            )

    def facade(self, trial: Trial | None) -> ToolFacade:
        """The tools of the trial's arm as its persona, else of the first ones."""
        from pytest_dataeval.engine.facade import ToolFacade

        project = self.project
        config = project.settings.config
        if trial is not None:
            arm = project.arms[trial.key.arm]
            persona = project.persona_of(trial.loaded.case)
            warehouse = trial.suite_file.warehouse
        else:
            arm = next(iter(project.arms.values()))
            persona = next(iter(config.personas), None)
            warehouse = next(iter(config.warehouses), None)
        opening = self.provider.open(arm, persona, warehouse, project.token_for)
        return ToolFacade(self.loop, self.loop.run(opening))

    def close(self) -> None:
        """Cancel what is in flight, close sessions and warehouses."""
        if self._loop is not None:
            for agent in self._agents.values():
                self._loop.run(agent.aclose())
            if self._provider is not None:
                self._loop.run(self._provider.aclose())
            self._loop.stop()
            self._loop = None
        self.project.close()


def concurrency_of(agent: AdaptedAgent) -> int:
    """Asks in flight by default: agents that wait overlap, others do not."""
    return CONCURRENCY_WAITING if agent.waits else 1
