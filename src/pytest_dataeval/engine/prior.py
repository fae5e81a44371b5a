"""What an interrupted part of a run already knows of a trial."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_dataeval.records import Attempt, Score


@dataclass(frozen=True)
class Prior:
    """An attempt that need not be made again, and its score if there is one."""

    attempt: Attempt
    score: Score | None
