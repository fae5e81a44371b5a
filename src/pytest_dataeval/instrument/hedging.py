"""Hedging: another reading's figure is offered, and none of the two is chosen."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_dataeval.instrument.figures import Figure
from pytest_dataeval.instrument.prose import Prose
from pytest_dataeval.instrument.stated import Rule

_OPEN = re.compile(
    r"\b(?:either|depend(?:s|ing) on|which (?:one|of|do|would|you|definition|reading)"
    r"|let me know|tell me|please (?:clarify|confirm|specify|say)|clarify|up to you"
    r"|could be|might be|not sure|unsure|unclear|ambiguous)\b|\?",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"\b(?:compared (?:with|to)|whereas|while|versus|vs\.?|instead of|rather than|unlike"
    r"|by contrast|in contrast|for comparison|for reference|for context|although|even"
    r" though|not to be confused|would (?:be|give|have been)|not)\b|\(",
    re.IGNORECASE,
)
_OR = re.compile(r"\bor\b", re.IGNORECASE)


def is_hedged(prose: Prose, reference: Rule, alternatives: Sequence[Rule]) -> bool:
    """Whether the text offers an alternative's figure beside the reference's.

    It chooses if the alternative's figure stands aside: in brackets, after a
    contrast ("whereas"), or plain where the reference's is in bold.
    """
    own = [f for f in prose.figures if reference.states_any(f)]
    others = [
        figure
        for figure in prose.figures
        if not reference.states_any(figure)
        and any(alternative.states_any(figure) for alternative in alternatives)
    ]
    if not own or not others:
        return False
    if _OPEN.search(prose.text):
        return True
    if any(f.is_bold for f in own) and not any(f.is_bold for f in others):
        return False
    return not all(_stands_aside(prose, figure) for figure in others)


def _stands_aside(prose: Prose, figure: Figure) -> bool:
    start = max(
        (start for start, _ in prose.sentences if start <= figure.start), default=0
    )
    before = prose.text[start : figure.start]
    aside = [m.end() for m in _ASIDE.finditer(before)]
    joined = [m.end() for m in _OR.finditer(before)]
    return bool(aside) and (not joined or aside[-1] > joined[-1])
