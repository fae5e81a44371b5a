"""Asking ahead: while one trial is scored, the next are already under way."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_dataeval.engine.ask import Asked
    from pytest_dataeval.engine.engine import Engine
    from pytest_dataeval.engine.plan import Trial

#: How far asks may run ahead of the trial being finished, in multiples of what
#: is in flight: one slow answer must not idle the others, and a run that stops
#: early must not have asked everything.
AHEAD = 4


#: How few may be left before more are started, in multiples of the same.
REFILL = 2


class Schedule:
    """Starts asks in the order of the plan, a bounded way ahead.

    `trials` are those that may be asked ahead; `take` gives the future of one of
    them and moves the window on. A trial that is taken out of order is started
    then and there.
    """

    def __init__(self, engine: Engine, trials: Sequence[Trial], in_flight: int) -> None:
        self._engine = engine
        self._trials = trials
        self._index = {trial.nodeid: i for i, trial in enumerate(trials)}
        self._futures: dict[int, Future[Asked]] = {}
        self._started = 0
        self._ahead = in_flight * AHEAD
        self._refill = in_flight * REFILL if in_flight > 1 else 0

    def take(self, nodeid: str) -> Future[Asked] | None:
        """The ask of `nodeid`, begun now at the latest; None if it is not ours."""
        index = self._index.get(nodeid)
        if index is None:
            return None
        if self._started - index <= self._refill:
            self._start_until(index + self._ahead)
        return self._futures.pop(index)

    def _start_until(self, end: int) -> None:
        """Start asks in one go: each wake-up of the loop's thread costs."""
        trials = self._trials[self._started : end]
        for future in self._engine.start_all(trials):
            self._futures[self._started] = future
            self._started += 1

    def cancel(self) -> None:
        """Cancel the asks that no one will take; those that ended are recorded."""
        for future in self._futures.values():
            future.cancel()
        self._futures.clear()
        self._started = len(self._trials)
