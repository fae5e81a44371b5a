"""Fixtures for users' own tests, and for overriding in a conftest.

A conftest that overrides one of them binds the trials of its folder: they are
asked after their own set-up, with what the fixture gives, and never ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from pytest_dataeval.items import trial_of
from pytest_dataeval.keys import SESSION

if TYPE_CHECKING:
    from pytest_dataeval.agents.base import Agent
    from pytest_dataeval.engine.facade import ToolFacade
    from pytest_dataeval.own_tests import TrialHandle
    from pytest_dataeval.records import Answer
    from pytest_dataeval.warehouse.base import Warehouse


@pytest.fixture
def dataeval_agent(request: pytest.FixtureRequest) -> Agent:
    """The agent that this trial asks; override it to ask another one.

    In a test that is no trial: the first of `--agents`.
    """
    session = request.config.stash[SESSION]
    trial = trial_of(request.node)
    name = trial.key.agent if trial is not None else session.project.axes.agents[0]
    return session.ready_engine().agent(name)


@pytest.fixture(scope="session")
def dataeval_persona_token(
    request: pytest.FixtureRequest,
) -> Callable[[str], str | None]:
    """A function from a persona's name to its bearer token (None without one)."""
    return request.config.stash[SESSION].project.token_for


@pytest.fixture
def dataeval_mcp(request: pytest.FixtureRequest) -> Iterator[ToolFacade]:
    """The tools of the arm, for calls from a test: `call(tool, **arguments)`."""
    session = request.config.stash[SESSION]
    facade = session.ready_engine().facade(trial_of(request.node))
    yield facade
    facade.close()


@pytest.fixture
def dataeval_warehouse(request: pytest.FixtureRequest) -> Warehouse:
    """The warehouse of the trial's suite: `run(sql) -> ResultSet`, read-only.

    In a test that is no trial: the only warehouse, or the first in dataeval.yaml.
    """
    session = request.config.stash[SESSION]
    trial = trial_of(request.node)
    name = trial.suite_file.warehouse if trial is not None else None
    name = name or next(iter(session.project.settings.config.warehouses), None)
    if name is None:
        raise pytest.UsageError(
            "dataeval_warehouse: dataeval.yaml names no warehouse; add one under "
            "warehouses:"
        )
    session.ready_engine()
    return session.project.warehouse(name)


@pytest.fixture
def dataeval_trial(request: pytest.FixtureRequest) -> TrialHandle:
    """The planned trial of this test; its agent is asked when first needed."""
    from pytest_dataeval.own_tests import handle_of

    return handle_of(request)


@pytest.fixture
def dataeval_answer(dataeval_trial: TrialHandle) -> Answer:
    """The agent's answer to the trial's question."""
    return dataeval_trial.answer
