"""Time limits for statements: one thread that interrupts what runs too long."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from types import TracebackType

#: An interrupt that arrives before the engine began is lost, so it is repeated.
REPEAT_S = 0.1


class Guard:
    """A context in which `interrupt` is called once the deadline has passed.

    After the context has ended, `interrupt` is never called again.
    """

    __slots__ = ("_done", "_interrupt", "_lock", "_watchdog", "deadline", "fired")

    def __init__(
        self, watchdog: Watchdog, deadline: float, interrupt: Callable[[], object]
    ) -> None:
        self.deadline = deadline
        self.fired = False
        self._watchdog = watchdog
        self._interrupt = interrupt
        self._lock = threading.Lock()
        self._done = False

    def __enter__(self) -> Guard:
        self._watchdog.add(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._watchdog.remove(self)
        with self._lock:
            self._done = True

    def fire(self) -> None:
        with self._lock:
            if not self._done:
                self.fired = True
                self._interrupt()


class Watchdog:
    """Watches any number of guards from one thread, started when first needed."""

    def __init__(self) -> None:
        self._condition = threading.Condition(threading.Lock())
        self._guards: set[Guard] = set()
        self._wakes_at = math.inf
        self._thread: threading.Thread | None = None

    def limit(self, timeout_s: float, interrupt: Callable[[], object]) -> Guard:
        return Guard(self, time.monotonic() + timeout_s, interrupt)

    def add(self, guard: Guard) -> None:
        with self._condition:
            self._guards.add(guard)
            if self._thread is None or not self._thread.is_alive():
                self._wakes_at = -math.inf
                self._thread = threading.Thread(
                    target=self._watch, name="dataeval-watchdog", daemon=True
                )
                self._thread.start()
            elif guard.deadline < self._wakes_at:
                self._wakes_at = guard.deadline
                self._condition.notify()

    def remove(self, guard: Guard) -> None:
        # The thread is not woken: it finds out at its next deadline.
        with self._condition:
            self._guards.discard(guard)

    def _watch(self) -> None:
        while True:
            with self._condition:
                now = time.monotonic()
                due = [guard for guard in self._guards if guard.deadline <= now]
                if not due:
                    self._wakes_at = min(
                        (guard.deadline for guard in self._guards), default=math.inf
                    )
                    pause = self._wakes_at - now
                    self._condition.wait(None if math.isinf(pause) else pause)
                    continue
                for guard in due:
                    guard.deadline = now + REPEAT_S
            for guard in due:
                guard.fire()


#: The process's one watchdog.
watchdog = Watchdog()
