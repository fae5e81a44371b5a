"""The plan: which trials a run consists of, in a fixed order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from pytest_dataeval.records import TrialKey

if TYPE_CHECKING:
    from pytest_dataeval.cases.load import LoadedCase, LoadedFile


@dataclass(frozen=True, slots=True)
class Trial:
    """One planned ask: its key, and the case that it asks.

    `nodeid` is the pytest item's; `suite_file` is the file that holds the case.
    """

    key: TrialKey
    nodeid: str
    loaded: LoadedCase
    suite_file: LoadedFile

    @property
    def question(self) -> str:
        """The exact text that the agent is asked."""
        return self.loaded.case.wording(self.key.wording)

    @property
    def tier(self) -> str:
        return self.loaded.case.tier


@dataclass(frozen=True)
class Axes:
    """What multiplies each case: names and counts after all defaults."""

    agents: tuple[str, ...]
    arms: tuple[str, ...]
    repeats: int
    wordings: int | None
    unreviewed: bool

    def wordings_of(self, loaded: LoadedCase) -> list[int]:
        """Numbers of the wordings to ask; 1 is the question itself."""
        eligible = [1] + [
            number
            for number, wording in enumerate(loaded.case.wordings, start=2)
            if wording.reviewed or self.unreviewed
        ]
        return eligible if self.wordings is None else eligible[: self.wordings]

    def leaves(self, loaded: LoadedCase) -> Iterator[str]:
        """Leaf names of a case, repeat 1 of everything before repeat 2."""
        wordings = self.wordings_of(loaded)
        for repeat, agent, wording, arm in product(
            range(1, self.repeats + 1), self.agents, wordings, self.arms
        ):
            yield f"{agent}.w{wording}.{arm}.r{repeat}"

    def missing_for(self, leaf: TrialKey, loaded: LoadedCase) -> list[str]:
        """The options to add so that this run makes `leaf`; empty if it does."""
        options = []
        if leaf.agent not in self.agents:
            options.append(f"--agents {','.join((*self.agents, leaf.agent))}")
        if leaf.arm not in self.arms:
            options.append(f"--arms {','.join((*self.arms, leaf.arm))}")
        if leaf.repeat > self.repeats:
            options.append(f"--repeats {leaf.repeat}")
        if leaf.wording not in self.wordings_of(loaded):
            everything = Axes((), (), 1, None, False).wordings_of(loaded)
            options.append("--wordings all")
            if leaf.wording not in everything:
                options.append("--unreviewed")
        return options


def repeat_of(nodeid: str) -> int:
    """The repeat number at the end of a trial's node id."""
    return int(nodeid.rpartition(".r")[2])


def plan_sha256(nodeids: Iterable[str]) -> str:
    """One hash for a selected plan, equal whatever the order of its trials."""
    digest = hashlib.sha256()
    for nodeid in sorted(nodeids):
        digest.update(nodeid.encode())
        digest.update(b"\n")
    return digest.hexdigest()


def counts(trials: Sequence[TrialKey]) -> dict[tuple[str, str], int]:
    """Trials per (agent, arm), in the order in which they first appear."""
    found: dict[tuple[str, str], int] = {}
    for key in trials:
        pair = (key.agent, key.arm)
        found[pair] = found.get(pair, 0) + 1
    return found
