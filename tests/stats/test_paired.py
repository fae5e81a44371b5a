"""The exact McNemar test and the sentence it allows."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

from pytest_dataeval.stats.paired import ALPHA, MIN_DISCORDANT, mcnemar


@pytest.mark.parametrize(
    ("only_first", "only_second", "p_value"),
    [
        # Published comparisons of arms, to four decimals.
        (1, 0, 1.0),
        (2, 0, 0.5),
        (3, 0, 0.25),
        (4, 0, 0.125),
        (5, 0, 0.0625),
        (6, 0, 0.0312),
        (9, 0, 0.0039),
        (11, 0, 0.001),
        (12, 0, 0.0005),
        (13, 0, 0.0002),
        (14, 0, 0.0001),
        (15, 0, 0.0001),
        (0, 1, 1.0),
        (0, 2, 0.5),
        (2, 2, 1.0),
        (2, 1, 1.0),
        # From the formula.
        (3, 9, 0.146),
        (9, 3, 0.146),
        (12, 1, 0.0034),
        (40, 0, 0.0),
    ],
)
def test_published_p_values(only_first: int, only_second: int, p_value: float) -> None:
    result = mcnemar(only_first, only_second)
    assert result.p_value is not None
    assert round(result.p_value, 4) == p_value
    assert result.discordant == only_first + only_second


def test_no_discordant_pair_gives_no_p() -> None:
    result = mcnemar(0, 0)
    assert result.p_value is None
    assert result.sentence == "no question differed"
    assert result.discordant == 0


def test_six_in_one_direction_is_the_first_that_can_be_detected() -> None:
    # 2 / 2**5 = 0.0625 and 2 / 2**6 = 0.03125.
    five, six = mcnemar(5, 0), mcnemar(6, 0)
    assert (five.p_value, six.p_value) == (0.0625, 0.03125)
    assert five.p_value > ALPHA > six.p_value
    assert six.discordant == MIN_DISCORDANT


@pytest.mark.parametrize(
    ("only_first", "only_second", "sentence"),
    [
        (
            0,
            1,
            "no detectable difference: 1 discordant question cannot show one, "
            "it takes at least 6",
        ),
        (
            5,
            0,
            "no detectable difference: 5 discordant questions cannot show one, "
            "it takes at least 6",
        ),
        (
            5,
            1,
            "no detectable difference: chance alone can split 6 discordant "
            "questions this way",
        ),
        (
            9,
            3,
            "no detectable difference: chance alone can split 12 discordant "
            "questions this way",
        ),
        (
            12,
            0,
            "a detectable difference: chance alone seldom splits 12 discordant "
            "questions this unevenly",
        ),
    ],
)
def test_the_sentence_claims_no_more_than_the_test(
    only_first: int, only_second: int, sentence: str
) -> None:
    assert mcnemar(only_first, only_second).sentence == sentence


@settings(deadline=None)
@given(st.integers(0, 400), st.integers(0, 400))
def test_a_null_is_never_called_identical(only_first: int, only_second: int) -> None:
    result = mcnemar(only_first, only_second)
    if result.p_value is not None and result.p_value >= 0.05:
        assert result.sentence.startswith("no detectable difference")
    assert "identical" not in result.sentence


def test_the_split_reads_as_gains_and_losses_of_the_first_side() -> None:
    assert mcnemar(12, 0).split == "+12/−0"
    assert mcnemar(0, 2).split == "+0/−2"


@settings(deadline=None)
@given(st.tuples(st.integers(0, 300), st.integers(0, 300)).filter(lambda c: sum(c) > 0))
def test_p_agrees_with_scipy_and_has_no_side(counts: tuple[int, int]) -> None:
    result = mcnemar(*counts)
    oracle = binomtest(counts[0], sum(counts)).pvalue
    assert result.p_value == pytest.approx(oracle, rel=1e-9)
    assert result.p_value == mcnemar(counts[1], counts[0]).p_value


def test_pairs_that_agree_carry_no_information() -> None:
    # The whole table, as statsmodels takes it: 900 agree, 18 against 32 do not.
    oracle = statsmodels_mcnemar([[500, 18], [32, 400]], exact=True)
    assert mcnemar(18, 32).p_value == pytest.approx(oracle.pvalue, rel=1e-12)
    assert oracle.pvalue == pytest.approx(0.0649086, abs=5e-8)


def test_counts_beyond_a_float_do_not_overflow() -> None:
    # 2**4000 is no float; the smallest p that a float can hold is about 5e-324.
    assert mcnemar(4000, 0).p_value == 0.0
    assert mcnemar(2000, 2000).p_value == 1.0
    assert mcnemar(2100, 1900).p_value == pytest.approx(
        binomtest(1900, 4000).pvalue, rel=1e-9
    )


def test_a_negative_count_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be negative"):
        mcnemar(3, -1)
