"""What the installed plugin costs a project without golden questions."""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from _project import in_turn, pytest_command, spread, timed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="dataeval-bench-") as name:
        root = Path(name)
        (root / "test_one.py").write_text("def test_one():\n    assert True\n")
        with_us = pytest_command()
        without = pytest_command("-p", "no:dataeval")
        one, two = in_turn(
            lambda: timed(with_us, root), lambda: timed(without, root), rounds
        )
    cost = statistics.median(a - b for a, b in zip(one, two, strict=True)) * 1000
    print(f"with the plugin     {spread(one)}")
    print(f"without             {spread(two)}")
    print(f"difference, median  {cost:.1f} ms")


if __name__ == "__main__":
    main()
