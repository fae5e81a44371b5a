"""Collecting 40,000 trials of 400 cases, against as many bare `pytest.Item`s."""

from __future__ import annotations

import argparse
import statistics
from functools import partial

from _project import in_turn, project, pytest_command, spread, timed

BARE = """
import pytest

class Bare(pytest.Item):
    def runtest(self):
        pass

class File(pytest.File):
    def collect(self):
        for case in range(400):
            for number in range({repeats}):
                yield Bare.from_parent(self, name=f"case{{case}}.r{{number}}")

def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".bare":
        return File.from_parent(parent, path=file_path)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    with project(400) as root:
        bare = root / "bare"
        bare.mkdir()
        (bare / "items.bare").write_text("")
        (bare / "pytest.ini").write_text("[pytest]\n")
        for trials in (1_000, 40_000):
            repeats = trials // 400 if trials >= 400 else 1
            (bare / "conftest.py").write_text(BARE.format(repeats=repeats))
            quiet = ["--collect-only", "-qq"]
            ours = pytest_command(
                *quiet, "--agents", "bench", "--repeats", str(repeats)
            )
            theirs = pytest_command(*quiet, "-p", "no:dataeval", ".")
            one, two = in_turn(
                partial(timed, ours, root), partial(timed, theirs, bare), rounds
            )
            ratio = statistics.median(a / b for a, b in zip(one, two, strict=True))
            print(f"{repeats * 400:>6} trials        {spread(one)}")
            print(f"{repeats * 400:>6} bare items    {spread(two)}")
            print(f"{'':>6} ratio         {ratio:.2f}")


if __name__ == "__main__":
    main()
