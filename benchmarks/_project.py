"""Throw-away projects for the benchmarks, and whole processes timed in turn."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

#: plugins that would add their own cost to every measurement
QUIET = [
    *("-p", "no:randomly", "-p", "no:asyncio", "-p", "no:timeout", "-p", "no:xdist"),
    *("-p", "no:rerunfailures", "-p", "no:repeat", "-p", "no:hypothesispytest"),
]

AGENT = """
import asyncio
from pytest_dataeval import Answer

class Agent:
    paid = False
    needs_servers = False

    def __init__(self, sleep_s=0.0):
        self.sleep_s = sleep_s

    async def ask(self, question, context):
        if self.sleep_s:
            await asyncio.sleep(self.sleep_s)
        return Answer(text="It is 42.")
"""


@contextmanager
def project(cases: int, sleep_s: float = 0.0) -> Iterator[Path]:
    """A project of `cases` questions with fixed values and one Python agent."""
    with tempfile.TemporaryDirectory(prefix="dataeval-bench-") as name:
        root = Path(name)
        (root / "pytest.ini").write_text("[pytest]\ntestpaths = cases\n")
        (root / "bench_agent.py").write_text(AGENT)
        (root / "dataeval.yaml").write_text(
            "agents:\n"
            '  bench: {python: "bench_agent:Agent", paid: false, '
            f"options: {{sleep_s: {sleep_s}}}}}\n"
        )
        folder = root / "cases"
        folder.mkdir()
        lines = ["suite: bench", "cases:"]
        for number in range(cases):
            lines.append(
                f'  - {{id: L1-{number:05}, tier: L1, question: "Question {number}?", '
                "reference: {value: [42]}}"
            )
        (folder / "bench.yaml").write_text("\n".join(lines) + "\n")
        yield root


#: These make every process compile each module anew, or write unbuffered, which
#: is not how tests are run; both halves of a comparison go without them.
SLOWING = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONDEVMODE")


def timed(command: list[str], cwd: Path, expect: tuple[int, ...] = (0,)) -> float:
    """Seconds that one whole process takes. Raises RuntimeError if it fails."""
    env = {k: v for k, v in os.environ.items() if k not in SLOWING}
    clock = time.perf_counter()
    done = subprocess.run(
        command, cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - clock
    if done.returncode not in expect:
        raise RuntimeError(
            f"{command} ended with {done.returncode}:\n{done.stdout[-3000:]}\n"
            f"{done.stderr[-2000:]}"
        )
    return seconds


def pytest_command(*options: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", *QUIET, *options]


def in_turn(
    first: Callable[[], float], second: Callable[[], float], rounds: int
) -> tuple[list[float], list[float]]:
    """Time two things alternately, so that drift hits both alike."""
    one, two = [], []
    for _ in range(rounds):
        one.append(first())
        two.append(second())
    return one, two


def spread(values: list[float], unit: str = "s") -> str:
    """Median with minimum and maximum."""
    return (
        f"{statistics.median(values):.3f} {unit} "
        f"({min(values):.3f} to {max(values):.3f})"
    )
