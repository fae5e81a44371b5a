"""The leaves: one pytest item is one trial."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from pytest_dataeval.engine.bindings import Bindings
from pytest_dataeval.keys import OUTCOME, SESSION, TRIAL
from pytest_dataeval.records import TrialKey

if TYPE_CHECKING:
    from _pytest._code.code import ExceptionInfo, TerminalRepr

    from pytest_dataeval.collection import CaseFileNode, CaseNode
    from pytest_dataeval.engine.outcome import TrialOutcome
    from pytest_dataeval.engine.plan import Trial

#: Fixtures that bind a trial to its own set-up: it is never asked ahead of it.
BINDING_FIXTURES = frozenset(
    {
        "dataeval_agent",
        "dataeval_persona_token",
        "dataeval_mcp",
        "dataeval_warehouse",
    }
)


class TrialFailed(Exception):
    """Raised by a trial that did not pass; carries what a person wants to see."""

    def __init__(self, outcome: TrialOutcome) -> None:
        self.outcome = outcome
        super().__init__(outcome.reason)


def _function(names: Iterable[str]) -> Callable[..., None]:
    """A function that stands for a trial and asks pytest for these fixtures."""

    def trial(**fixtures: object) -> None: ...

    parameters = [Parameter(n, Parameter.KEYWORD_ONLY) for n in sorted(names)]
    trial.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return trial


def bindings_of(item: pytest.Function) -> Bindings:
    """The fixture values that `item` was set up with."""
    from pytest_dataeval.agents.adapt import adapt

    values: dict[str, Any] = item.funcargs
    has_agent = "dataeval_agent" in values
    return Bindings(
        agent=adapt(values["dataeval_agent"]) if has_agent else None,
        token_for=values.get("dataeval_persona_token"),
        warehouse=values.get("dataeval_warehouse"),
    )


def trial_of(item: pytest.Item) -> Trial | None:
    """The trial that `item` is; None for any other test."""
    if isinstance(item, TrialItem):
        return item.trial
    return item.stash.get(TRIAL, None)


class TrialItem(pytest.Function):
    """One trial: asked in a fresh conversation, scored, and reported."""

    parent: CaseNode
    bound: bool

    def __init__(self, *, bound: bool, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.bound = bound
        self._trial: Trial | None = None

    @property
    def trial(self) -> Trial:
        if self._trial is None:
            self._trial = self._planned()
        return self._trial

    def _planned(self) -> Trial:
        from pytest_dataeval.engine.plan import Trial

        file = cast("CaseFileNode", self.parent.parent)
        return Trial(
            key=TrialKey.from_leaf(file.loaded.suite, self.parent.name, self.name),
            nodeid=self.nodeid,
            loaded=self.parent.loaded,
            suite_file=file.loaded,
        )

    def runtest(self) -> None:
        outcome = self.config.stash[SESSION].run_item(self)
        self.stash[OUTCOME] = outcome
        if outcome.state == "unscored":
            raise pytest.skip.Exception(outcome.reason, _use_item_location=True)
        if outcome.state in ("fail", "xfail", "fault"):
            raise TrialFailed(outcome)

    def repr_failure(
        self, excinfo: ExceptionInfo[BaseException], style: str | None = None
    ) -> str | TerminalRepr:
        if isinstance(excinfo.value, TrialFailed):
            return self.config.stash[SESSION].failure_text(excinfo.value.outcome)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        # a blank and no "::": what repeats the end of the node id, pytest rewrites
        name = f"{self.parent.name} {self.name}"
        return self.path, self.parent.loaded.line - 1, name

    def __repr__(self) -> str:
        return f"<Trial {self.name}>"


def fixture_plan(parent: CaseNode, leaf: str) -> dict[str, Any]:
    """How the leaves of a file are built: their function and their fixtures.

    The one place that reads pytest's private fixture closure. It is read once a
    file, which makes 40,000 leaves affordable, and it tells whether a conftest
    overrides or requests a fixture of ours. Without it each leaf finds its own
    fixtures and none is asked ahead: slower, never wrong.
    """

    def plan(names: Iterable[str], bound: bool) -> dict[str, Any]:
        keywords = {"callobj": _function(names), "bound": bound}
        built = TrialItem.from_parent(parent, name=leaf, **keywords)
        keywords["fixtureinfo"] = getattr(built, "_fixtureinfo", None)
        return keywords

    probed = plan(BINDING_FIXTURES, bound=True)
    definitions = getattr(probed["fixtureinfo"], "name2fixturedefs", None)
    if definitions is None:
        return probed
    overridden = [name for name in BINDING_FIXTURES if _is_foreign(definitions, name)]
    bare = plan(overridden, bound=bool(overridden))
    requested = BINDING_FIXTURES.intersection(bare["fixtureinfo"].names_closure)
    return {**bare, "bound": bool(requested)}


def _is_foreign(definitions: dict[str, Any], name: str) -> bool:
    """Whether the fixture that wins for these leaves is not the plugin's own."""
    module = getattr(definitions[name][-1].func, "__module__", None)
    return module != "pytest_dataeval.fixtures"
