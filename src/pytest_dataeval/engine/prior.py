"""What an interrupted part of a run already knows of a trial."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pytest_dataeval.ledger.read import load
from pytest_dataeval.records import Attempt, Score, TrialKey


@dataclass(frozen=True)
class Prior:
    """An attempt that need not be made again, and its score if there is one."""

    attempt: Attempt
    score: Score | None


def priors_of(folder: Path) -> Callable[[TrialKey], Prior | None]:
    """What the run in `folder` knows of each trial now.

    A trial whose last event is a fault is new: it is asked again.
    """
    view = load(folder)

    def prior(key: TrialKey) -> Prior | None:
        record = view.trials.get(key)
        if record is None or record.fault is not None:
            return None
        attempt = view.attempt(key)
        return None if attempt is None else Prior(attempt, record.score)

    return prior
