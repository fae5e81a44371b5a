"""Repeats of a case: the majority, the pairing of two sides, and pass^k."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dataeval.stats.paired import mcnemar
from pytest_dataeval.stats.repeats import (
    PairedCounts,
    collapse,
    paired_collapse,
    pass_hat_k,
)

T, F = True, False


def by_repeat(*verdicts: bool) -> dict[int, bool]:
    return dict(enumerate(verdicts, start=1))


# -------------------------------------------------------------------- collapse


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([T, T, F], True),
        ([T, F, F], False),
        ([T], True),
        ([F], False),
        # A tie is not a fail: it says nothing either way.
        ([T, F], None),
        ([T, F, F, T], None),
    ],
)
def test_the_majority_speaks_for_a_case(
    verdicts: list[bool], expected: bool | None
) -> None:
    assert collapse(verdicts) is expected


def test_a_case_without_a_scored_ask_is_absent_not_tied() -> None:
    with pytest.raises(ValueError, match="without a scored ask"):
        collapse([])


@settings(deadline=None)
@given(st.lists(st.booleans(), min_size=1))
def test_a_majority_and_its_opposite_never_agree(verdicts: list[bool]) -> None:
    verdict = collapse(verdicts)
    opposite = collapse([not verdict for verdict in verdicts])
    assert opposite == (None if verdict is None else not verdict)


# ------------------------------------------------------------ paired_collapse


@pytest.mark.parametrize(("cases", "observations"), [(9, 27), (16, 48)])
def test_three_repeats_of_a_case_are_one_pair(cases: int, observations: int) -> None:
    # Published run: 9 x 3 and 16 x 3 observations are 9 and 16 pairs.
    side = {f"case-{i}": by_repeat(T, T, F) for i in range(cases)}
    assert sum(map(len, side.values())) == observations
    counts = paired_collapse(side, side)
    assert counts == PairedCounts(cases, 0, 0, 0, 0, 0)
    assert counts.compared == cases


def test_each_case_falls_into_one_cell() -> None:
    first = {
        "both": by_repeat(T, T, F),
        "neither": by_repeat(F, F, T),
        "only-first": by_repeat(T, T, T),
        "only-second": by_repeat(F, T, F),
        "tied": by_repeat(T, F),
        "missing-in-second": by_repeat(T),
        "unscored-in-second": by_repeat(T),
    }
    second = {
        "both": by_repeat(T, T, T),
        "neither": by_repeat(F, F, F),
        "only-first": by_repeat(F, F, T),
        "only-second": by_repeat(T, T, T),
        "tied": by_repeat(F, F),
        "missing-in-first": by_repeat(T),
        "unscored-in-second": {},
    }
    counts = paired_collapse(first, second)
    assert counts == PairedCounts(
        both=1, neither=1, only_first=1, only_second=1, ties_dropped=1, unpaired=3
    )
    assert counts.compared == 4


def test_only_repeats_scored_on_both_sides_are_counted() -> None:
    """Alone the first side fails 2 to 1, over the shared repeat 1 it passes."""
    first = {"c": {1: T, 2: F, 3: F}}
    second = {"c": {1: F, 4: T, 5: T}}
    assert paired_collapse(first, second) == PairedCounts(0, 0, 1, 0, 0, 0)


def test_a_repeat_declined_on_one_side_can_leave_a_tie() -> None:
    first = {"c": by_repeat(T, F, F)}
    second = {"c": {1: T, 2: T}}
    assert paired_collapse(first, second) == PairedCounts(0, 0, 0, 0, 1, 0)


def test_disjoint_repeats_are_unpaired() -> None:
    first, second = {"c": {1: T}}, {"c": {2: T}}
    assert paired_collapse(first, second) == PairedCounts(0, 0, 0, 0, 0, 1)


def test_wordings_of_a_case_make_one_pair_too() -> None:
    """Asks are keyed (wording, repeat); cases may be keyed (suite, case)."""
    first = {("support", "L3-fastest"): {(1, 1): T, (1, 2): T, (2, 1): F}}
    second = {("support", "L3-fastest"): {(1, 1): F, (1, 2): F, (2, 1): F, (2, 2): T}}
    assert paired_collapse(first, second) == PairedCounts(0, 0, 1, 0, 0, 0)


def test_a_published_arm_comparison_from_its_cases() -> None:
    # 16 questions, 3 repeats: +12/−0 on pass gave p = 0.0005.
    first = {i: by_repeat(T, T, T) if i < 12 else by_repeat(F, F, F) for i in range(16)}
    second = {i: by_repeat(F, F, F) for i in range(16)}
    counts = paired_collapse(first, second)
    assert counts == PairedCounts(0, 4, 12, 0, 0, 0)
    result = mcnemar(counts.only_first, counts.only_second)
    assert result.split == "+12/−0"
    assert round(result.p_value or 0, 4) == 0.0005


sides = st.dictionaries(
    st.integers(0, 8), st.dictionaries(st.integers(1, 5), st.booleans())
)


@settings(deadline=None)
@given(sides, sides, st.randoms(use_true_random=False))
def test_order_never_matters_and_every_case_is_counted_once(
    first: dict[int, dict[int, bool]],
    second: dict[int, dict[int, bool]],
    shuffler: random.Random,
) -> None:
    def shuffled(side: dict[int, dict[int, bool]]) -> dict[int, dict[int, bool]]:
        items = [(case, list(asks.items())) for case, asks in side.items()]
        shuffler.shuffle(items)
        for _, asks in items:
            shuffler.shuffle(asks)
        return {case: dict(asks) for case, asks in items}

    counts = paired_collapse(first, second)
    assert counts == paired_collapse(shuffled(first), shuffled(second))
    assert counts.compared + counts.ties_dropped + counts.unpaired == len(
        first.keys() | second.keys()
    )
    swapped = paired_collapse(second, first)
    assert (swapped.only_first, swapped.only_second) == (
        counts.only_second,
        counts.only_first,
    )


# ------------------------------------------------------------------ pass_hat_k


@pytest.mark.parametrize(
    ("correct", "n", "expected"),
    [
        # Worked values of C(c, k) / C(n, k) for k = 1, 2, ...
        (2, 3, [2 / 3, 1 / 3, 0]),
        (3, 4, [0.75, 0.5, 0.25, 0]),
        (4, 5, [0.8, 0.6, 0.4, 0.2, 0]),
        (6, 8, [0.75, 0.5357, 0.3571, 0.2143]),
        (9, 10, [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0]),
        (4, 4, [1, 1, 1, 1]),
        (2, 6, [1 / 3, 1 / 15, 0, 0, 0, 0]),
        (0, 3, [0, 0, 0]),
    ],
)
def test_worked_values(correct: int, n: int, expected: list[float]) -> None:
    values = [pass_hat_k(correct, n, k) for k in range(1, len(expected) + 1)]
    assert values == pytest.approx(expected, abs=5e-5)


@settings(deadline=None)
@given(st.integers(1, 7).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_it_is_the_share_of_choices_that_are_all_right(counts: tuple[int, int]) -> None:
    correct, n = counts
    asks = [i < correct for i in range(n)]
    for k in range(1, n + 1):
        choices = list(combinations(asks, k))
        share = Fraction(sum(map(all, choices)), len(choices))
        assert pass_hat_k(correct, n, k) == pytest.approx(float(share))


@settings(deadline=None)
@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_it_falls_as_k_grows(counts: tuple[int, int]) -> None:
    correct, n = counts
    values = [pass_hat_k(correct, n, k) for k in range(1, n + 1)]
    assert values[0] == correct / n
    assert values == sorted(values, reverse=True)
    if 0 < correct < n:
        assert values[0] > values[1]


def test_more_asks_than_were_scored_are_undefined() -> None:
    with pytest.raises(ValueError, match=r"pass\^4 needs at least 4 scored asks"):
        pass_hat_k(3, 3, 4)


@pytest.mark.parametrize(
    ("correct", "n", "k", "message"),
    [
        (4, 3, 1, "correct must lie"),
        (-1, 3, 1, "correct must lie"),
        (2, 3, 0, "k must be at least 1"),
    ],
)
def test_senseless_counts_are_refused(
    correct: int, n: int, k: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        pass_hat_k(correct, n, k)
