"""English words as the lexical agent knows them: tokens, stems, word classes."""

from __future__ import annotations

import re
import unicodedata

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TOKEN = re.compile(r"[^\W_]+")
_APOSTROPHE = re.compile(r"['’](s|re|ve|ll|d|t|m)\b", re.IGNORECASE)

# Words of one meaning in questions about figures, under one head.
_CANONICAL = {
    **dict.fromkeys(("mean", "avg", "typical", "typically"), "average"),
    **dict.fromkeys(("sum", "overall", "altogether"), "total"),
    **dict.fromkeys(("max", "maximal"), "maximum"),
    **dict.fromkeys(("min", "minimal"), "minimum"),
    **dict.fromkeys(("number", "many", "volume"), "count"),
    **dict.fromkeys(
        (
            "percentage",
            "percent",
            "proportion",
            "fraction",
            "portion",
            "rate",
            "ratio",
            "often",
        ),
        "share",
    ),
    **dict.fromkeys(
        ("minute", "hour", "second", "duration", "long", "mins", "hrs"), "time"
    ),
}

AGGREGATES = frozenset(
    {"average", "total", "maximum", "minimum", "median", "count", "share"}
)

DESCENDING = frozenset(
    {"highest", "most", "largest", "biggest", "longest", "greatest", "slowest", "top"}
)
ASCENDING = frozenset(
    {"lowest", "fewest", "least", "smallest", "shortest", "fastest", "quickest"}
)
SPEED = frozenset(
    {"fastest", "quickest", "slowest", "longest", "shortest", "quickly", "fast", "slow"}
)
GROUPING = frozenset({"by", "per", "each", "every", "across"})
DETERMINERS = frozenset({"the", "a", "an", "its", "their", "our", "each", "every"})
PERIODS = ("day", "week", "month", "quarter", "year")
MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
ORDINALS = ("first", "second", "third", "fourth")
NUMBERS = {
    word: number
    for number, word in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
        start=1,
    )
}
WRITING = frozenset(
    {
        *("delete", "drop", "remove", "truncate", "erase", "purge", "wipe"),
        *("update", "insert", "alter", "create", "grant", "revoke", "overwrite"),
        *("set", "change", "close", "reopen", "reassign", "rename", "add", "mark"),
    }
)

# Words that name nothing.
_STOP_TEXT = """
    a about after all also am among an and any anyone are as at be been before
    being between both but by can could did do does doing done during each either
    every everyone few for from get gets getting give given gives giving got had has
    have having he her here hers him his how i if in into is it its just let like
    made make makes making me more much my no not of off on once one only or other
    our ours out over own per please same say see she should show shows so some
    still such take taken takes taking tell than that the their theirs them then
    there these they this those through to too under until up us very was we well
    were what when where whether which while who whom whose why will with within
    without would you your yours across actually now today ever far kind sort list name find report compute calculate many much least most
    """
STOP = frozenset(_STOP_TEXT.split())
# Words that could name something, and in most questions do not.
_FILLER_TEXT = """
    belong bring brought hold holds keep keeps spend spends spent receive received
    big large high low great small current currently present presently moment
    data database table record row value figure figures need needs want wants
    know answer question company business rank ranked ranking order ordered
    compare comparison break broken split down run come came go went happen happens
    happened look looks handle handles handled exist exists use uses used using stand
    stands there
    """
_FILLER = frozenset(_FILLER_TEXT.split())


def tokens(text: str) -> list[str]:
    """Words and numbers in lower case; identifiers are split into their words."""
    plain = _APOSTROPHE.sub("", unicodedata.normalize("NFKC", text))
    return [word.casefold() for word in _TOKEN.findall(_CAMEL.sub(" ", plain))]


def stem(word: str) -> str:
    """The canonical head of a word, else the word without common endings."""
    singular = _singular(word)
    for form in (word, singular, singular.removesuffix("ing")):
        if form in AGGREGATES:
            return form
        if form in _CANONICAL:
            return _CANONICAL[form]
    if len(singular) >= 7 and singular.endswith("ion"):
        return singular[:-3]
    for ending in ("ing", "ed"):
        short = singular.removesuffix(ending)
        if short != singular and len(short) >= 4:
            if short[-1] == short[-2] and short[-1] not in "ls":
                short = short[:-1]
            return short.removesuffix("e")
    return singular.removesuffix("e") if len(singular) > 4 else singular


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "ches", "shes", "xes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and word[-2] not in "su":
        return word[:-1]
    return word


def likeness(one: str, other: str) -> float:
    """How far two stems are one word: 1 equal, 0.8 of one root, else 0."""
    if one == other:
        return 1.0
    shared = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        shared += 1
    # resolv(e) and resolut(ion), respons(e) and respond: no list has them all.
    return 0.8 if shared >= 5 and shared >= 0.65 * max(len(one), len(other)) else 0.0


def is_filler(word: str) -> bool:
    """Whether a word adds nothing to a question, unless data is called so."""
    return word in _FILLER or _singular(word) in _FILLER
