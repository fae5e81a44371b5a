"""400 trials of an agent that sleeps 200 ms, 32 in flight: pytest against asyncio.

Both are whole processes. The asyncio one holds a semaphore and nothing else.
"""

from __future__ import annotations

import argparse
import statistics
import sys

from _project import in_turn, project, pytest_command, spread, timed

TRIALS, IN_FLIGHT, SLEEP_S = 400, 32, 0.2
BARE = f"""
import asyncio

async def ask(slots):
    async with slots:
        await asyncio.sleep({SLEEP_S})

async def main():
    slots = asyncio.Semaphore({IN_FLIGHT})
    await asyncio.gather(*(ask(slots) for _ in range({TRIALS})))

asyncio.run(main())
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with project(TRIALS, SLEEP_S) as root:
        ours = pytest_command("--agents", "bench", "--concurrency", str(IN_FLIGHT))
        bare = [sys.executable, "-c", BARE]
        one, two = in_turn(lambda: timed(ours, root), lambda: timed(bare, root), rounds)
    ratio = statistics.median(a / b for a, b in zip(one, two, strict=True))
    print(f"pytest with the ledger on   {spread(one)}")
    print(f"bare asyncio, semaphore     {spread(two)}")
    print(f"ratio, median of pairs      {ratio:.2f}")


if __name__ == "__main__":
    main()
