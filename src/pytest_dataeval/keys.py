"""Where the pytest side keeps its state: stash keys, never attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_dataeval.engine.outcome import TrialOutcome
    from pytest_dataeval.engine.plan import Trial
    from pytest_dataeval.own_tests import TrialHandle
    from pytest_dataeval.session import RunSession

SESSION: pytest.StashKey[RunSession] = pytest.StashKey()
OUTCOME: pytest.StashKey[TrialOutcome] = pytest.StashKey()
#: the trial of a user's own test, and what its fixtures gave out
TRIAL: pytest.StashKey[Trial] = pytest.StashKey()
HANDLE: pytest.StashKey[TrialHandle] = pytest.StashKey()
