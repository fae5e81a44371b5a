"""The engine: one trial from its question to its score, and the ledger's lines.

It knows nothing of pytest. In one process trials may be asked ahead on a
background event loop; each is finished (scored and written) by its own caller.
"""

from __future__ import annotations

import asyncio
import time
import uuid
import warnings
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from pytest_dataeval.engine.ask import (
    CANCEL_GRACE_S,
    Asked,
    Fault,
    Terms,
    ask_once,
)
from pytest_dataeval.engine.background import BackgroundLoop
from pytest_dataeval.engine.bindings import UNBOUND, Bindings
from pytest_dataeval.engine.ended import PATIENCE_S, EndedAsks
from pytest_dataeval.engine.outcome import TrialOutcome
from pytest_dataeval.engine.prior import Prior
from pytest_dataeval.engine.recorder import Recorder, Sink
from pytest_dataeval.engine.scoring import Scorer
from pytest_dataeval.errors import HarnessBroken
from pytest_dataeval.records import (
    Attempt,
    Score,
    TrialKey,
)

if TYPE_CHECKING:
    from pytest_dataeval.agents.adapt import AdaptedAgent
    from pytest_dataeval.agents.replay import Answers
    from pytest_dataeval.engine.facade import ToolFacade
    from pytest_dataeval.engine.plan import Trial
    from pytest_dataeval.engine.project import Project
    from pytest_dataeval.mcp.provide import Provider, TokenFor

#: A check of the user's own: a sentence turns a pass into a fail.
Check = Callable[["Trial", Attempt, Score], str | None]

#: The budget of an agent that the configuration does not name.
DEFAULT_TIMEOUT_S = 300.0
#: How often a waiting main thread looks whether the loop still runs.
WATCH_S = 5.0
#: How long an agent or a server may take to close.
CLOSE_S = 10.0

#: Asks in flight where nothing else is said.
CONCURRENCY_WAITING = 8


class Engine:
    """Asks, scores and records trials for one process.

    `references` is the folder that processes share references through (None: there
    is one process), `folder`
    the run's. `sink` takes each ledger event once, masked. `answers` are those that the
    replay agent gives. `prior` is set where a run goes on: it tells what
    the earlier part already knows of a trial.
    """

    def __init__(
        self,
        project: Project,
        references: Path | None,
        folder: Path,
        sink: Sink,
        answers: Answers | None = None,
    ) -> None:
        from pytest_dataeval.warehouse.references import ReferenceStore

        self.project = project
        self.scorer = Scorer(project, ReferenceStore(references))
        self.recorder = Recorder(project.settings, self.scorer, folder, sink)
        self._ended = EndedAsks(self.recorder.attempt)
        self._woken: SimpleQueue[None] = SimpleQueue()
        self.answers = answers
        self.prior: Callable[[TrialKey], Prior | None] = lambda key: None
        self._loop: BackgroundLoop | None = None
        self._agents: dict[str, AdaptedAgent] = {}
        self._asking: dict[str, Trial] = {}
        self._slots: dict[str, asyncio.Semaphore] = {}
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
            if prior is not None and (prior.score or not is_live(trial)):
                future.set_result(Asked(prior.attempt, None))
                continue
            try:
                self.recorder.masker(trial)
                agent = bindings.agent or self.agent(trial.key.agent)
            except HarnessBroken as error:
                future.set_result(Asked(None, Fault.of(error)))
                continue
            future.add_done_callback(lambda _: self._woken.put(None))
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
            self._ended.add(trial, asked)
            loop = asyncio.get_running_loop()
            loop.call_later(PATIENCE_S, self._ended.write_late)
        return asked

    async def _converse(
        self, trial: Trial, agent: AdaptedAgent, bindings: Bindings
    ) -> Asked:
        """One fresh conversation, known by its id while it lasts."""
        conversation = uuid.uuid4().hex
        self._asking[conversation] = trial
        provider = self._own_provider(bindings)
        scorer = self.scorer.within(bindings.warehouse)
        try:
            before = await _in_thread(scorer, trial)
            asked = await self._ask_in(
                conversation, trial, agent, provider, bindings.token_for
            )
            if before is None:
                return asked
            return replace(asked, live=(before, await _in_thread(scorer, trial)))
        except HarnessBroken as error:
            return Asked(None, Fault.of(error))
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
            if not agent.needs_servers or not self.has_servers(warehouse):
                return None
            return await (provider or self.provider).open(
                arm, persona, warehouse, token_for or project.token_for
            )

        terms = Terms(
            timeout_s=config.timeout_s if config else DEFAULT_TIMEOUT_S,
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
            blocked_s=lambda: self.loop.blocked_s,
            conversation=conversation,
            catalog_had_definitions=arm.has_definitions,
        )

    def has_servers(self, warehouse: str | None) -> bool:
        """Whether a suite of `warehouse` gives its agents any server."""
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
        if (unwritten := self._ended.failed.pop(trial.key, None)) is not None:
            return self._faulted(trial, Fault("not_recorded", trial.nodeid, unwritten))
        expected = (bindings.agent or self.agent(trial.key.agent)).name
        if asked.attempt.agent != expected:
            detail = f"{asked.attempt.agent!r} answered where {expected!r} was to"
            return self._faulted(trial, Fault("wrong_agent", trial.nodeid, detail))
        prior = self.prior(trial.key)
        if prior is not None and prior.score is not None:
            return self.recorder.outcome(trial, prior.score, asked.attempt)
        references: list[dict[str, Any]] = []
        try:
            scorer = self.scorer.within(bindings.warehouse)
            scored = scorer.score(trial, asked.attempt, references.append, asked.live)
        except HarnessBroken as error:
            return self._faulted(trial, Fault.of(error))
        score = scored.score
        if check is not None and score.verdict == "pass":
            complaint = check(trial, asked.attempt, score)
            if complaint:
                score = replace(
                    score, verdict="fail", reason="user_check", detail=complaint
                )
        return self.recorder.score(trial, asked.attempt, scored, score, references)

    def _faulted(self, trial: Trial, fault: Fault) -> TrialOutcome:
        fault = self.recorder.fault(trial, fault)
        return TrialOutcome(trial.key, "fault", trial.question, fault=fault)

    def wait(self, future: Future[Asked]) -> Asked:
        """The end of an ask; one that was cancelled is a fault.

        Meanwhile all asks that end are written to the ledger.
        """
        while not future.done():
            try:
                self._woken.get(timeout=WATCH_S)
            except Empty:
                self._watch_loop()
            self._ended.write()
        self._ended.write()
        try:
            return future.result()
        except CancelledError:
            return Asked(
                None, Fault("cancelled", "the run", "the run ended during this ask")
            )

    def _watch_loop(self) -> None:
        """Raise HarnessBroken if the loop has stood still beyond every budget."""
        agents = self.project.settings.config.agents.values()
        budgets_s = [agent.timeout_s for agent in agents] or [DEFAULT_TIMEOUT_S]
        still_s = time.monotonic() - self.loop.last_beat
        if still_s > max(budgets_s) + CANCEL_GRACE_S:
            raise HarnessBroken(
                "loop_blocked",
                "the event loop of the asks",
                f"an agent has blocked it for {still_s:.0f} s, beyond every budget.",
                "Use a plain `def ask`, which gets a thread of its own, or await "
                "what waits.",
            )

    def most_in_flight(self) -> int:
        """The largest number of asks that may be under way at once."""
        limit = self.project.options.concurrency
        if limit is not None:
            return limit
        agents = [self.agent(name) for name in self.project.axes.agents]
        return max(concurrency_of(agent) for agent in agents)

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
        self._ended.write()
        if self._loop is not None:
            closing = {name: a.aclose() for name, a in self._agents.items()}
            if self._provider is not None:
                closing["the servers"] = self._provider.aclose()
            for name, coroutine in closing.items():
                self._close_one(name, coroutine)
            self._loop.stop()
            self._loop = None
        self.project.close()

    def _close_one(self, name: str, coroutine: Coroutine[Any, Any, None]) -> None:
        """Close one part; what it raises changes no figure, so it is a warning."""
        assert self._loop is not None
        try:
            self._loop.run(coroutine, CLOSE_S)
        except Exception as error:
            said = f"{type(error).__name__}: {error}".rstrip(": ")
            warnings.warn(f"dataeval: closing {name} failed: {said}", stacklevel=1)


def concurrency_of(agent: AdaptedAgent) -> int:
    """Asks in flight by default: agents that wait overlap, others do not."""
    return CONCURRENCY_WAITING if agent.waits else 1


def is_live(trial: Trial) -> bool:
    """Whether the case's reference may move while the agent is asked."""
    reference = trial.loaded.case.reference
    return reference is not None and reference.live


async def _in_thread(scorer: Scorer, trial: Trial) -> Any:
    """What a live reference gives now; None at once where the data stand still."""
    if not is_live(trial):
        return None
    return await asyncio.to_thread(scorer.live_reference, trial)
