"""Repeated asks of a case: one verdict a case, pairs of sides, and pass^k."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

CaseT = TypeVar("CaseT", bound=Hashable)
AskT = TypeVar("AskT", bound=Hashable)


@dataclass(frozen=True, slots=True)
class PairedCounts:
    """How the cases of two sides fell, one verdict a case and side.

    `both` passed on both sides and `neither` on none; the two discordant counts
    feed `paired.mcnemar`. `ties_dropped` are cases tied on either side,
    `unpaired` those without one ask scored on both.
    """

    both: int
    neither: int
    only_first: int
    only_second: int
    ties_dropped: int
    unpaired: int

    @property
    def compared(self) -> int:
        """Cases that entered the comparison: not tied, not unpaired."""
        return self.both + self.neither + self.only_first + self.only_second


def collapse(verdicts: Collection[bool]) -> bool | None:
    """One verdict for the scored asks of a case: the majority, None for a tie.

    A tie says neither pass nor fail; callers drop and count it. Declined and
    unscored asks are left out beforehand; a case with none left is absent, not
    tied, so no verdict at all raises ValueError.
    """
    if not verdicts:
        raise ValueError("a case without a scored ask has no verdict to collapse")
    passed = sum(verdicts)
    failed = len(verdicts) - passed
    return None if passed == failed else passed > failed


def paired_collapse(
    first: Mapping[CaseT, Mapping[AskT, bool]],
    second: Mapping[CaseT, Mapping[AskT, bool]],
) -> PairedCounts:
    """Pair two sides by case, over the asks that were scored on both.

    Each side maps a case to its scored asks and their verdicts. The key of an
    ask is its repeat number, or a tuple (wording, repeat) where a case has
    several wordings: equal keys are the same ask. Every shared ask has one vote,
    so wordings are collapsed together with repeats and a case is one pair,
    however often and in however many ways it was asked. An ask scored on one side
    only (a decline, a fault, a shorter run) is left out of the other side too.
    """
    both = neither = only_first = only_second = ties_dropped = unpaired = 0
    for case in first.keys() | second.keys():
        asks_first, asks_second = first.get(case, {}), second.get(case, {})
        shared = asks_first.keys() & asks_second.keys()
        if not shared:
            unpaired += 1
            continue
        verdict_first = collapse([asks_first[ask] for ask in shared])
        verdict_second = collapse([asks_second[ask] for ask in shared])
        if verdict_first is None or verdict_second is None:
            ties_dropped += 1
        elif verdict_first and verdict_second:
            both += 1
        elif verdict_first:
            only_first += 1
        elif verdict_second:
            only_second += 1
        else:
            neither += 1
    return PairedCounts(both, neither, only_first, only_second, ties_dropped, unpaired)


def pass_hat_k(correct: int, n: int, k: int) -> float:
    """Chance that k asks of one wording are all right: C(correct, k) / C(n, k).

    Unbiased for "k independent asks are all right" from n asks of which `correct`
    were right; 1 <= k <= n. Raises ValueError where it is undefined (k > n) or
    the counts make no sense.

    Source: S. Yao, N. Shinn, P. Razavi, K. Narasimhan, "τ-bench: A Benchmark for
    Tool-Agent-User Interaction in Real-World Domains" (2024).
    """
    if not 0 <= correct <= n:
        raise ValueError(f"correct must lie in 0..n, not {correct} of {n}")
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    if k > n:
        raise ValueError(f"pass^{k} needs at least {k} scored asks, there are {n}")
    return math.comb(correct, k) / math.comb(n, k)
