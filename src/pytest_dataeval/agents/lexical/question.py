"""A question taken apart: what is aggregated, grouped, ordered and left to match."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from pytest_dataeval.agents.lexical import words


@dataclass(frozen=True, slots=True)
class Order:
    """An order that the question asks for; `limit` None means all rows."""

    ascending: bool
    limit: int | None


@dataclass(frozen=True, slots=True)
class Question:
    """`content` and `groups` are positions in `tokens`.

    `content` are the words that may name something. `groups` are words
    that may name a dimension: those after "by", "per", "each", "which".
    """

    tokens: tuple[str, ...]
    stems: tuple[str, ...]
    aggregate: str | None
    order: Order | None
    about_time: bool
    groups: tuple[int, ...]
    year: int | None
    quarter: int | None
    month: int | None
    asks_to_write: bool
    content: tuple[int, ...]


def parse(text: str) -> Question:
    """Take a question apart. Any text is a question."""
    found = tuple(words.tokens(text))
    stems = tuple(words.stem(token) for token in found)
    used: set[int] = set()
    order = _order(found, used)
    year = _taken(found, used, _year)
    quarter = _taken(found, used, _quarter) or _ordinal_quarter(found, used)
    month = _taken(found, used, _month)
    content = tuple(
        i
        for i, token in enumerate(found)
        if i not in used
        and token not in words.STOP
        and not _is_superlative(token)
        and token not in words.SPEED
    )
    return Question(
        tokens=found,
        stems=stems,
        aggregate=_aggregate(stems),
        order=order,
        about_time=any(token in words.SPEED for token in found)
        or ("how", "long") in pairwise(found)
        or any(pair == ("count", "time") for pair in pairwise(stems)),
        groups=_groups(found),
        year=year,
        quarter=quarter,
        month=month,
        asks_to_write=_asks_to_write(found),
        content=content,
    )


def _aggregate(stems: tuple[str, ...]) -> str | None:
    """The first aggregate that is named. "How many minutes" asks for no count."""
    for i, head in enumerate(stems):
        counts_time = head == "count" and stems[i + 1 : i + 2] == ("time",)
        if head in words.AGGREGATES and not counts_time:
            return head
    return None


def _is_superlative(token: str) -> bool:
    return token in words.ASCENDING or token in words.DESCENDING


def _order(found: tuple[str, ...], used: set[int]) -> Order | None:
    for i, token in enumerate(found):
        if not _is_superlative(token) or found[i - 1 : i] == ("at",):
            continue
        for j in (i - 1, i + 1):
            if 0 <= j < len(found) and (number := _small_number(found[j])):
                used.add(j)
                return Order(token in words.ASCENDING, number)
        ranked = any(word in ("rank", "ranked", "order", "sorted") for word in found)
        return Order(token in words.ASCENDING, None if ranked else 1)
    return None


def _small_number(token: str) -> int | None:
    if token.isascii() and token.isdigit() and 0 < int(token[:6]) <= 100:
        return int(token)
    return words.NUMBERS.get(token)


def _taken(
    found: tuple[str, ...], used: set[int], read: Callable[[str], int | None]
) -> int | None:
    for i, token in enumerate(found):
        value = read(token)
        if value is not None and i not in used:
            used.add(i)
            return value
    return None


def _year(token: str) -> int | None:
    if len(token) == 4 and token.isascii() and token.isdigit():
        return int(token) if 1900 <= int(token) <= 2100 else None
    return None


def _quarter(token: str) -> int | None:
    return int(token[1]) if token in ("q1", "q2", "q3", "q4") else None


def _ordinal_quarter(found: tuple[str, ...], used: set[int]) -> int | None:
    for i, (ordinal, noun) in enumerate(pairwise(found)):
        if noun == "quarter" and ordinal in words.ORDINALS:
            used.update((i, i + 1))
            return words.ORDINALS.index(ordinal) + 1
    return None


def _month(token: str) -> int | None:
    # "may" is far more often the verb.
    if token in words.MONTHS and token != "may":
        return words.MONTHS.index(token) + 1
    return None


def _groups(found: tuple[str, ...]) -> tuple[int, ...]:
    places: list[int] = []
    for i, token in enumerate(found):
        # "of every status" takes them all; "in every channel" takes each apart.
        alone = token == "every" and found[i - 1 : i] not in (("for",), ("in",))
        if token in words.GROUPING and not alone:
            places += _named_after(found, i, reach=3)
        elif token in ("which", "what", "compare"):
            places += _named_after(found, i, reach=2)
    return tuple(dict.fromkeys(places))


def _named_after(found: tuple[str, ...], i: int, *, reach: int) -> list[int]:
    """The next words up to one that names nothing; "and" goes on with the list."""
    places: list[int] = []
    for j in range(i + 1, len(found)):
        if found[j] == "and" and places:
            reach += 2
            continue
        if not places and found[j] in words.DETERMINERS:
            continue
        if len(places) >= reach or found[j] in words.STOP:
            break
        places.append(j)
    return places


def _asks_to_write(found: tuple[str, ...]) -> bool:
    polite = {"please", "can", "could", "would", "you", "now", "go", "ahead", "and"}
    first = next((token for token in found if token not in polite), "")
    return first in words.WRITING
