"""How one trial ended, in the words that pytest and the ledger share."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_dataeval.engine.ask import Fault
from pytest_dataeval.records import Attempt, ResultSet, Score, TrialKey

if TYPE_CHECKING:
    from pytest_dataeval.cases.model import Case

#: pass, fail, xfail (a fail that the case expects), declined, unscored (and
#: expected to be), fault (ours, or unscored for a reason that someone must mend).
State = Literal["pass", "fail", "xfail", "declined", "unscored", "fault"]

LETTERS: dict[State, str] = {
    "pass": ".",
    "fail": "F",
    "xfail": "x",
    "declined": "d",
    "unscored": "u",
    "fault": "H",
}


@dataclass(frozen=True)
class TrialOutcome:
    """The end of a trial: a score or a fault, and what a person wants to see.

    `reference` and `answer` are the two results that were compared, masked.
    """

    key: TrialKey
    state: State
    question: str
    score: Score | None = None
    fault: Fault | None = None
    attempt: Attempt | None = None
    reference: ResultSet | None = None
    answer: ResultSet | None = None
    sql: str | None = None
    expected: str | None = None

    @property
    def reason(self) -> str:
        """One short sentence for a skip, an xfail or a fault."""
        if self.expected is not None:
            return self.expected
        if self.fault is not None:
            return f"{self.fault.what}: {self.fault.where}: {self.fault.detail}"
        assert self.score is not None
        words = self.score.reason or self.score.verdict
        return f"{words}: {self.score.detail}" if self.score.detail else words


def state_of(score: Score, case: Case, today: dt.date) -> tuple[State, str | None]:
    """The state of a scored trial, with the reason of an expected failure."""
    if score.verdict == "pass":
        return "pass", None
    if score.verdict == "declined":
        return "declined", None
    if score.verdict == "unscored":
        expected = is_expected_unscored(score.reason or "")
        return ("unscored" if expected else "fault"), None
    planned = case.expected_failure
    if planned is not None and (planned.until is None or today <= planned.until):
        return "xfail", planned.reason
    return "fail", None


def is_expected_unscored(reason: str) -> bool:
    """Whether a case says of itself that it is not to be scored now."""
    return reason in ("valid_until", "contaminated") or reason.startswith("status_")
