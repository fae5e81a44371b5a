"""What a text says about itself: it cannot answer, it was refused, nothing there."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_dataeval.instrument.prose import Prose

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
    r"|(?:no|not have|n't have|without) (?:\w+ ){0,2}?(?:access|permission|rights?)"
    r"|permission denied|lack(?:s|ing)? (?:\w+ )?(?:permission|access|rights?)"
    r"|against (?:\w+ )?policy|off limits)\b",
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
    r"\b(?:(?:the )?(?:answer|result|total|average|mean|estimate|figure|value|number"
    r"|count|it) (?:is|was|comes? to|would be|equals?)|i estimate|estimated|i get"
    r"|approximately)\b",
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
    return bool(prose.mentions([form for word in gap for form in _forms(word)]))


def offers_figure(prose: Prose, gap: Sequence[str]) -> bool:
    """Whether a figure is given as the answer, not as something beside it.

    It is where its clause denies nothing and speaks of the gap or of an answer.
    """
    forms = [form for word in gap for form in _forms(word)]
    mentions = prose.mentions(forms)
    figures = [f for f in prose.figures if not (f.is_weak or f.is_year or f.negated)]
    start = 0
    ends = [m.end() for m in _CLAUSE_END.finditer(prose.text)]
    for end in [*ends, len(prose.text)]:
        clause = prose.text[start:end]
        if any(start <= f.start < end for f in figures) and not _CANNOT.search(clause):
            is_about_it = any(start <= span[0] < end for span in mentions)
            if is_about_it or _OFFER.search(clause):
                return True
        start = end
    return False


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
