"""What a text says about itself: it cannot answer, it was refused, nothing there."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from pytest_dataeval.instrument.figures import Figure
from pytest_dataeval.instrument.prose import Prose, Span

_NOUN = (
    r"(?:data|information|info|columns?|fields?|tables?|records?|measures?|metrics?"
    r"|attributes?|figures?|values?|way|source|details?|ratings?|definitions?)"
)
_CANNOT = re.compile(
    r"\b(?:can ?not|can't|could not|couldn't|unable to|not able to|not possible"
    r"|impossible|isn't possible|unanswerable|not answerable|no way to)\b"
    rf"|\bno (?:[\w'-]+ ){{0,4}}?{_NOUN}\b"
    r"|\b(?:not|never|n't) (?:(?:be|been|being|currently|actually|yet|even|directly) )?"
    r"(?:available|record(?:ed)?|track(?:ed)?|stor(?:ed?)|captur(?:ed?)|present|contain"
    r"(?:ed)?|include[d]?|collect(?:ed)?|measured?|held|hold|kept|keep|have|exist|cover"
    r"(?:ed)?|part of|in the (?:data|warehouse|schema|database)|answer(?:ed|able)?"
    r"|determin(?:ed?|able)|know[n]?)\b"
    r"|n't (?:have|contain|include|hold|record|track|store|capture|exist|cover|know"
    r"|answer|determine|measure|collect)\b"
    r"|\b(?:is|are) (?:missing|unavailable|absent)\b|\black(?:s|ing)?\b|\bno such\b"
    r"|\bdo(?:es)? not (?:have|contain|include|hold|record|track|store|exist|cover)\b",
    re.IGNORECASE,
)
_REFUSED = re.compile(
    r"\b(?:can ?not|can't|could not|couldn't|unable to|not able to|won't|will not"
    r"|may not|must not|refus\w+|den(?:y|ied|ies)|reject\w*|declin\w+|blocked|forbidden"
    r"|prohibited|restricted|withheld|protected|confidential|read-only|not (?:be )?"
    r"(?:allowed|permitted|authori[sz]ed|available|possible|accessible|able|supported)"
    r"|isn't (?:allowed|permitted|possible|available)|unauthori[sz]ed|no permission"
    r"|(?:no|not have|without) (?:\w+ ){0,2}?(?:access|permission|rights?)"
    r"|permission denied|lack(?:s|ing)? (?:\w+ )?(?:permission|access|rights?)"
    r"|against (?:\w+ )?policy|off limits)\b"
    r"|n't have (?:\w+ ){0,2}?(?:access|permission|rights?)\b",
    re.IGNORECASE,
)
_NO_DATA = re.compile(
    r"\bno (?:[\w'-]+ ){0,3}?(?:data|rows?|results?|records?|match(?:es)?|entries)\b"
    r"|\b(?:returned|found|contains?|is|was|result is|set is) (?:nothing|empty)\b"
    r"|\bnothing (?:was |is )?(?:found|returned|there)\b",
    re.IGNORECASE,
)
_NOTHING = re.compile(r"\b(?:none|nothing|no|zero|nobody|empty|0)\b", re.IGNORECASE)
_CLAUSE_END = re.compile(
    r"\n|[.!?](?=\s|$)|;|,? (?:but|however|although|though|yet|still)\b|\bhowever,",
    re.IGNORECASE,
)
_OFFER = re.compile(
    r"\b(?:the answer|my (?:best )?(?:guess|estimate)|i(?: would)? estimate|we estimate"
    r"|it)(?: (?:is|was|would be|comes to|at|that it is))?"
    r"(?: (?:about|around|roughly|approximately))? ?[$€£]?$",
    re.IGNORECASE,
)
#: Between a word of the gap and a figure that is said of it.
_SAID_OF = re.compile(
    r"\W{0,3}(?:[\w-]+ ){0,4}?(?:is|was|are|were|of|at|stands? at|averag(?:es?|ed|ing)"
    r"|scor(?:es?|ed)|equals?|comes? to|reach(?:es|ed)|about|around|approximately|[:=|]"
    r"|would be)[\s$€£|~]*(?:(?:about|around|roughly|approximately|an?|the) ?)*",
    re.IGNORECASE,
)
#: How far a figure may stand from what it is said of.
_NEAR_CHARS = 80
_BEFORE_GAP = re.compile(r"[\s%]*(?:[\w-]+ ){0,1}", re.IGNORECASE)
_DECLINES = re.compile(
    r"\b(?:can ?not|can't|could not|couldn't|unable to|not able to|won't|will not)"
    r" (?:\w+ )?(?:answer|determine|provide|tell|calculate|compute|find|help|say|give"
    r"|access|share|show|complete|assist|decide|do|reach|know|be (?:answered|determined"
    r"|calculated|computed|known))\b"
    r"|\b(?:not possible|impossible) to\b|\bunanswerable\b|\bnot answerable\b"
    rf"|\b(?:i|we) (?:do not|don't) (?:know|have (?:\w+ ){{0,3}}?{_NOUN})\b"
    rf"|\bthere (?:is|are) no (?:[\w'-]+ ){{0,4}}?{_NOUN}\b"
    r"|\b(?:is|are) not (?:available|recorded|tracked|stored|captured|in the data)\b"
    r"|\b(?:isn't|aren't) (?:available|recorded|tracked|stored|captured)\b",
    re.IGNORECASE,
)
#: Before this mark a claim of provenance is affirmed, not denied.
_PROVENANCE = re.compile(
    r"\b(?:per|according to|following|based on) the (?:[\w-]+ )?"
    r"(?:glossary|catalog(?:ue)?|metric|data dictionary|business definition)"
    r"|\bthe (?:[\w-]+ )?(?:glossary|catalog(?:ue)?|data dictionary) (?:term )?(?:defines?"
    r"|says?|states?|flags?|explicitly|records?|documents?|specif(?:y|ies)|notes?)"
    r"|\bas the (?:[\w-]+ )?(?:glossary|catalog(?:ue)?|metric) (?:defines?|says?|states?)"
    r"|\b(?:registered|governed|certified) metric\b|\bglossary (?:term|definition)\b",
    re.IGNORECASE,
)
_CLAIM_DENIED = re.compile(
    r"(?:\bno|\bnot|n't|\bwithout|\bcannot|\bcould not)\b[^.;\n]{0,40}$", re.IGNORECASE
)


def says_cannot_answer(prose: Prose) -> bool:
    """Whether the text says that the question cannot be answered from the data."""
    return _CANNOT.search(prose.text) is not None


def declines(prose: Prose) -> bool:
    """Whether the text declines to answer: stricter, for questions that have one."""
    return _DECLINES.search(prose.text) is not None


def reports_refusal(prose: Prose) -> bool:
    """Whether the text says that something was refused, or refuses it itself."""
    return _REFUSED.search(prose.text) is not None


def says_no_data(prose: Prose) -> bool:
    """Whether the text says that nothing was found."""
    return _NO_DATA.search(prose.text) is not None


def says_nothing_there(prose: Prose) -> bool:
    """Whether the text states an empty answer: none, no, nothing, zero."""
    return _NOTHING.search(prose.text) is not None or says_no_data(prose)


def claims_catalog(prose: Prose) -> bool:
    """Whether the text affirms that a definition came from the catalog."""
    return any(
        not _CLAIM_DENIED.search(prose.text[max(0, m.start() - 60) : m.start()])
        for m in _PROVENANCE.finditer(prose.text)
    )


def names_gap(prose: Prose, gap: Sequence[str]) -> bool:
    """Whether one of the gap's words is named, in singular or plural."""
    return bool(_gap_spans(prose, gap))


def offers_figure(prose: Prose, gap: Sequence[str]) -> bool:
    """Whether a figure is given as the answer, not as something beside it.

    It is where a clause that denies nothing says it of a word of the gap, or
    calls it the answer.
    """
    spans = _gap_spans(prose, gap)
    figures = [f for f in prose.figures if not (f.is_weak or f.is_year or f.negated)]
    starts = [figure.start for figure in figures]
    start = 0
    ends = [m.end() for m in _CLAUSE_END.finditer(prose.text)]
    for end in [*ends, len(prose.text)]:
        clause = prose.text[start:end]
        first_figure = bisect_left(starts, start)
        here = figures[first_figure : bisect_left(starts, end)]
        if here and not _CANNOT.search(clause):
            for figure in here:
                near = max(start, figure.start - _NEAR_CHARS)
                if _OFFER.search(prose.text[near : figure.start]):
                    return True
                first = bisect_left(spans, (near, 0))
                last = bisect_left(spans, (min(end, figure.end + _NEAR_CHARS), 0))
                if any(_is_said_of(prose, figure, s) for s in spans[first:last]):
                    return True
        start = end
    return False


def _is_said_of(prose: Prose, figure: Figure, gap: Span) -> bool:
    if gap[1] <= figure.start:
        return _SAID_OF.fullmatch(prose.text[gap[1] : figure.start]) is not None
    return _BEFORE_GAP.fullmatch(prose.text[figure.end : gap[0]]) is not None


def _gap_spans(prose: Prose, gap: Sequence[str]) -> list[Span]:
    forms = [form for word in gap for form in _forms(word)]
    return prose.mentions(forms, negated_too=True)


def _forms(word: str) -> list[str]:
    """The word in singular and plural, by the plainest rules of English."""
    forms = [word, f"{word}s", f"{word}es"]
    if word.endswith("y"):
        forms.append(f"{word[:-1]}ies")
    if word.endswith("ies"):
        forms.append(f"{word[:-3]}y")
    if word.endswith("es"):
        forms.append(word[:-2])
    if word.endswith("s"):
        forms.append(word[:-1])
    return forms
