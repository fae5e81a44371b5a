"""Paired comparison of two sides that answered the same questions."""

from __future__ import annotations

from dataclasses import dataclass

ALPHA = 0.05
"""Two-sided level below which a difference is called detectable."""

MIN_DISCORDANT = 6
"""Fewest discordant pairs that can reach p < 0.05: 2 / 2**6 = 0.03125."""


@dataclass(frozen=True, slots=True)
class McNemar:
    """Result of the exact test; `p_value` is None when no question differed.

    `only_first` questions passed on the first side alone, `only_second` on the
    second alone. `sentence` says in plain words what may be claimed.
    """

    only_first: int
    only_second: int
    discordant: int
    p_value: float | None
    sentence: str

    @property
    def split(self) -> str:
        """The two counts as the first side's gains and losses: "+12/−0"."""
        return f"+{self.only_first}/−{self.only_second}"


def mcnemar(only_first: int, only_second: int) -> McNemar:
    """Exact two-sided binomial test on the discordant pairs.

    Under "no difference" each discordant pair falls to either side with
    probability 1/2, so p = min(1, 2 P(X <= min(b, c))), X ~ Binomial(b + c, 1/2).
    Exact, since the chi-squared form is unreliable under about 25 pairs; pairs
    that agree carry no information. One pair is one case: collapse repeats
    first (`repeats.paired_collapse`). Raises ValueError for a negative count.

    Source: Q. McNemar, Psychometrika 12 (1947); the exact form is the sign test.
    """
    if only_first < 0 or only_second < 0:
        raise ValueError(
            f"counts of discordant pairs cannot be negative: "
            f"{only_first} and {only_second}"
        )
    discordant = only_first + only_second
    if discordant == 0:
        return McNemar(0, 0, 0, None, "no question differed")
    p_value = _two_sided(min(only_first, only_second), discordant)
    return McNemar(
        only_first, only_second, discordant, p_value, _sentence(discordant, p_value)
    )


def _two_sided(fewer: int, n: int) -> float:
    # Whole numbers up to the one division, which Python rounds correctly at any
    # size: neither 2^n nor the binomial coefficients can overflow.
    term = tail = 1
    for i in range(fewer):
        term = term * (n - i) // (i + 1)
        tail += term
    # The middle term is in both tails when the split is even: cap at 1.
    return min(1.0, 2 * tail / (1 << n))


def _sentence(discordant: int, p_value: float) -> str:
    questions = f"{discordant} discordant question{'s' if discordant > 1 else ''}"
    if p_value < ALPHA:
        return (
            f"a detectable difference: chance alone seldom splits {questions} "
            f"this unevenly"
        )
    if discordant < MIN_DISCORDANT:
        return (
            f"no detectable difference: {questions} cannot show one, "
            f"it takes at least {MIN_DISCORDANT}"
        )
    return f"no detectable difference: chance alone can split {questions} this way"
