"""Asks that have ended and are not yet in the ledger.

Writing from the event loop's thread while the main thread computes makes each
system call wait for Python's lock, up to 5 ms each. So the main thread writes,
as soon as it waits for anything; where it is busy elsewhere (a slow test, a
debugger) the loop writes after a moment, and a kill loses no more than that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from pytest_dataeval.engine.ask import Asked
from pytest_dataeval.errors import HarnessBroken

if TYPE_CHECKING:
    from pytest_dataeval.engine.plan import Trial
    from pytest_dataeval.records import TrialKey

#: How long an ended ask may wait for the main thread.
PATIENCE_S = 0.25


class EndedAsks:
    """Hands each ended ask to `record` once, in the order in which they ended."""

    def __init__(self, record: Callable[[Trial, Asked], None]) -> None:
        self._record = record
        self._waiting: list[tuple[Trial, Asked]] = []
        self._lock = threading.RLock()
        #: why an ask could not be recorded, for the one who finishes its trial
        self.failed: dict[TrialKey, str] = {}

    def add(self, trial: Trial, asked: Asked) -> None:
        """Keep an ended ask until someone writes."""
        self._waiting.append((trial, asked))

    def write(self) -> None:
        """Record all that wait.

        An ask that cannot be recorded for a reason of its own goes to `failed`.
        Raises HarnessBroken, and keeps what is left, if the ledger cannot be
        written.
        """
        with self._lock:
            while self._waiting:
                trial, asked = self._waiting[0]
                try:
                    self._record(trial, asked)
                except HarnessBroken as error:
                    if error.what != "ledger_unserialisable":
                        raise
                    self.failed[trial.key] = str(error)
                except Exception as error:
                    self.failed[trial.key] = f"{type(error).__name__}: {error}"
                del self._waiting[0]

    def write_late(self) -> None:
        """The same from the loop's thread, where nobody could catch an error."""
        try:
            self.write()
        except HarnessBroken:
            return  # it is kept: the main thread meets the same error and stops
