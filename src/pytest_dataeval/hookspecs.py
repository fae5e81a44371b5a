"""Hooks that a project or another plugin may implement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_dataeval.config import AgentConfig
    from pytest_dataeval.engine.plan import Trial
    from pytest_dataeval.records import Attempt, Score


@pytest.hookspec(firstresult=True)
def pytest_dataeval_agent(name: str, config: AgentConfig | None) -> object | None:
    """Make the agent `name`, or return None if it is not yours.

    Called once a process, after `agents:` of dataeval.yaml, the built-in agents
    and installed packages were searched. `config` is what dataeval.yaml says of
    the agent, None if it is not named there. Under pytest-xdist it is called in
    each worker and on the controller, which imports only the conftest of the
    root folder.
    """


@pytest.hookspec
def pytest_dataeval_check(trial: Trial, answer: Attempt, score: Score) -> str | None:
    """Look at a passed trial once more; a sentence turns it into a fail.

    Called after scoring, in the process that scored, for trials whose verdict is
    `pass`. The agent is not asked again. The first sentence counts; its reason
    in the report is `user_check`.
    """
