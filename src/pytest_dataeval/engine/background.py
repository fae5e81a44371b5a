"""One event loop in a thread of its own, for asks and MCP sessions."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future, InvalidStateError
from typing import Any, TypeVar

T = TypeVar("T")

BEAT_S = 0.1
#: Lateness that a busy machine may cause by itself.
LATE_S = 0.2


class BackgroundLoop:
    """Runs coroutines away from the main thread; `stop` cancels what is left."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._stopping = False
        #: seconds in all for which a callback or task kept the loop from running
        self.blocked_s = 0.0
        self.last_beat = time.monotonic()
        self._thread = threading.Thread(
            target=self._run, name="dataeval-loop", daemon=True
        )
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.call_soon(self._beat, time.monotonic())
        while not self._stopping:
            # a task that exits or interrupts, or stops the loop, is the agent's
            # doing: its ask ends, the others go on
            with contextlib.suppress(SystemExit, KeyboardInterrupt):
                self._loop.run_forever()

    def _beat(self, expected: float) -> None:
        """Note how late the loop runs: by that much something has blocked it."""
        now = time.monotonic()
        late = now - expected
        if late > LATE_S:
            self.blocked_s += late
        self.last_beat = now
        if not self._stopping:
            self._loop.call_later(BEAT_S, self._beat, now + BEAT_S)

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Start `coroutine`; the future gives its result in any thread."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def submit_all(
        self, work: Sequence[tuple[Future[T], Coroutine[Any, Any, T]]]
    ) -> None:
        """Start coroutines with one wake-up; each future gives its result.

        A future that is cancelled cancels its coroutine.
        """

        def begin() -> None:
            for future, coroutine in work:
                _chain(self._loop.create_task(coroutine), future, self._loop)

        self._loop.call_soon_threadsafe(begin)

    def run(
        self, coroutine: Coroutine[Any, Any, T], timeout_s: float | None = None
    ) -> T:
        """Run `coroutine` and wait for its result."""
        return self.submit(coroutine).result(timeout_s)

    def stop(self, grace_s: float = 5.0) -> None:
        """Cancel every task, give each `grace_s` to end, and end the thread."""
        if not self._thread.is_alive():
            return

        async def cancel_all() -> None:
            current = asyncio.current_task()
            tasks = [task for task in asyncio.all_tasks() if task is not current]
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks, timeout=grace_s)

        # a task that ignores its cancellation dies with the daemon thread
        with contextlib.suppress(TimeoutError):
            self.run(cancel_all(), grace_s + 1)
        self._stopping = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(grace_s)
        if not self._thread.is_alive():
            self._loop.close()


def _chain(
    task: asyncio.Task[T], future: Future[T], loop: asyncio.AbstractEventLoop
) -> None:
    """Hand the end of `task` to `future`, and a cancellation the other way."""

    def ended(task: asyncio.Task[T]) -> None:
        # whoever cancelled the future meanwhile no longer wants its result
        with contextlib.suppress(InvalidStateError):
            if task.cancelled():
                future.cancel()
            elif (error := task.exception()) is not None:
                future.set_exception(error)
            else:
                future.set_result(task.result())

    def cancelled(future: Future[T]) -> None:
        if future.cancelled() and not task.done():
            loop.call_soon_threadsafe(task.cancel)

    task.add_done_callback(ended)
    future.add_done_callback(cancelled)
