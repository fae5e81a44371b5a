"""Case files as pytest nodes: file -> case -> one leaf for each trial."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dataeval.items import TrialItem, fixture_plan
from pytest_dataeval.keys import SESSION

if TYPE_CHECKING:
    from pytest_dataeval.cases.load import LoadedCase, LoadedFile


class CaseFileNode(pytest.Module):
    """A YAML file of golden questions.

    A Module, so that module-scoped fixtures find their node; it holds no code.
    """

    loaded: LoadedFile

    def __init__(self, *, loaded: LoadedFile, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.obj = types.ModuleType("dataeval_cases")
        self.loaded = loaded

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        shared: dict[str, Any] = {}
        for loaded in self.loaded.cases:
            yield CaseNode.from_parent(
                self, name=loaded.case.id, loaded=loaded, shared=shared
            )

    def __repr__(self) -> str:
        return f"<CaseFile {self.name}>"


class BrokenCaseFile(pytest.File):
    """A case file that cannot be read: one error with all of its problems."""

    problem: str

    def __init__(self, *, problem: str, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.problem = problem

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        raise self.CollectError(self.problem)

    def __repr__(self) -> str:
        return f"<CaseFile {self.name}>"


class CaseNode(pytest.Collector):
    """One golden question; its tier and tags stand here for `-m` and `-k`."""

    loaded: LoadedCase

    def __init__(
        self, *, loaded: LoadedCase, shared: dict[str, Any], **keywords: Any
    ) -> None:
        super().__init__(**keywords)
        self.loaded = loaded
        self._shared = shared
        case = loaded.case
        file = self.getparent(CaseFileNode)
        assert file is not None
        self.add_marker(case.tier)
        self.add_marker(
            pytest.mark.dataeval(suite=file.loaded.suite, tags=tuple(case.tags))
        )
        self.extra_keyword_matches.update(case.tags)

    def collect(self) -> Iterator[TrialItem]:
        axes = self.config.stash[SESSION].project.axes
        shared = self._shared
        for leaf in axes.leaves(self.loaded):
            if not shared:
                # the first leaf of a file learns the fixtures for all of them
                shared.update(fixture_plan(self, leaf))
            yield TrialItem.from_parent(self, name=leaf, **shared)

    def __repr__(self) -> str:
        return f"<Case {self.name}>"
