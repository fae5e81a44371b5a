"""What a trial costs beyond start-up, for an agent that answers at once.

The difference between a run of N trials and one of a single trial, over N; and
the same at a larger N, to show that the cost does not grow.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

from _project import project, pytest_command, spread, timed


def per_trial_ms(root: Path, cases: int, repeats: int, rounds: int) -> list[float]:
    command = pytest_command("--agents", "bench")
    one = [*command, "cases/bench.yaml::L1-00000"]
    many = [*command, "--repeats", str(repeats)]
    count = cases * repeats
    return [
        (timed(many, root) - timed(one, root)) * 1000 / (count - 1)
        for _ in range(rounds)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--large", action="store_true", help="also 40,000 trials")
    options = parser.parse_args()
    with project(400) as root:
        small = per_trial_ms(root, 400, 5, options.rounds)
        print(f"2,000 trials   {spread(small, 'ms a trial')}")
        if options.large:
            large = per_trial_ms(root, 400, 100, 1)
            print(f"40,000 trials  {spread(large, 'ms a trial')}")
            ratio = large[0] / statistics.median(small)
            print(f"ratio          {ratio:.2f}")


if __name__ == "__main__":
    main()
