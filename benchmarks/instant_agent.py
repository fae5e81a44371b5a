"""What a trial costs beyond start-up, for an agent that answers at once.

The difference between a run of N trials and one of a single trial, over N; beside
it the same for bare `pytest.Item`s, in turn, to tell a slow machine from a slow
trial; and with --large the same at a larger N, to show that the cost does not grow.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

from _project import in_turn, project, pytest_command, spread, timed


def per_trial_ms(root: Path, cases: int, repeats: int, rounds: int) -> list[float]:
    command = pytest_command("--agents", "bench")
    one = [*command, "cases/bench.yaml::L1-00000"]
    many = [*command, "--repeats", str(repeats)]
    count = cases * repeats
    return [
        (timed(many, root) - timed(one, root)) * 1000 / (count - 1)
        for _ in range(rounds)
    ]


BARE = """
import pytest

class Bare(pytest.Item):
    def runtest(self):
        pass

class File(pytest.File):
    def collect(self):
        for number in range({count}):
            yield Bare.from_parent(self, name=f"item{{number}}")

def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".bare":
        return File.from_parent(parent, path=file_path)
"""


def bare_project(root: Path, count: int) -> Path:
    """A folder of `count` items that do nothing, without the plugin."""
    folder = root / f"bare{count}"
    folder.mkdir()
    (folder / "items.bare").write_text("")
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "conftest.py").write_text(BARE.format(count=count))
    return folder


def bare_item_ms(one: Path, many: Path, count: int) -> float:
    command = pytest_command("-p", "no:dataeval", ".")
    return (timed(command, many) - timed(command, one)) * 1000 / (count - 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--large", action="store_true", help="also 40,000 trials")
    options = parser.parse_args()
    with project(400) as root:
        one, many = bare_project(root, 1), bare_project(root, 2_000)
        small, bare = in_turn(
            lambda: per_trial_ms(root, 400, 5, 1)[0],
            lambda: bare_item_ms(one, many, 2_000),
            options.rounds,
        )
        ratio = statistics.median(a / b for a, b in zip(small, bare, strict=True))
        print(f"2,000 trials   {spread(small, 'ms a trial')}")
        print(f"bare items     {spread(bare, 'ms an item')}")
        print(f"ratio          {ratio:.2f}")
        if options.large:
            large = per_trial_ms(root, 400, 100, 1)
            print(f"40,000 trials  {spread(large, 'ms a trial')}")
            ratio = large[0] / statistics.median(small)
            print(f"ratio          {ratio:.2f}")


if __name__ == "__main__":
    main()
