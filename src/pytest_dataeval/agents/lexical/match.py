"""How well the phrases of a catalog or schema fit the words of a question."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from pytest_dataeval.agents.lexical import words
from pytest_dataeval.agents.lexical.knowledge import Knowledge
from pytest_dataeval.agents.lexical.question import Question

# Parts of identifiers that say how something is stored, not what it is.
_PLUMBING = frozenset({"id", "at", "is", "has", "no", "nr", "key", "code", "flag"})


@dataclass(frozen=True, slots=True)
class Match:
    """`coverage` is the share of the phrase found, by weight; `weight` how much of
    the question it accounts for; `positions` the words that it accounts for;
    `compactness` their share of the words from the first of them to the last."""

    coverage: float = 0.0
    weight: float = 0.0
    positions: frozenset[int] = frozenset()
    compactness: float = 1.0

    @property
    def rank(self) -> tuple[float, float]:
        near = (1 + self.compactness) / 2
        return (self.coverage * self.weight * near, self.coverage)


def phrase_stems(phrase: str) -> tuple[str, ...]:
    """The stems of a name or synonym that say something."""
    stems = (
        words.stem(token)
        for token in words.tokens(phrase)
        if token not in _PLUMBING
        and (token not in words.STOP or words.stem(token) in words.AGGREGATES)
    )
    return tuple(dict.fromkeys(stems))


class Weights:
    """Rare words weigh more: the inverse document frequency over all phrases.

    log(1 + N / n) for a stem in n of N phrases (Sparck Jones 1972, smoothed); a
    stem that is in none is taken as one in half a phrase.
    """

    def __init__(self, phrases: Iterable[str]) -> None:
        stems = [phrase_stems(phrase) for phrase in phrases]
        self._count = Counter(stem for phrase in stems for stem in phrase)
        self._phrases = max(1, len(stems))

    def __getitem__(self, stem: str) -> float:
        return math.log(1 + self._phrases / max(0.5, self._count[stem]))


def weights_of(knowledge: Knowledge) -> Weights:
    """Weights over every name and synonym that is known."""
    phrases: list[str] = []
    for metric in knowledge.metrics:
        phrases += [metric.name, *metric.synonyms]
    for term in knowledge.terms:
        phrases += [term.name, *term.synonyms]
    for table in knowledge.tables.values():
        phrases += [table.short, *table.synonyms]
        for column in table.columns:
            phrases += [column.name, *column.synonyms]
    return Weights(phrases)


def best_match(
    question: Question,
    phrases: Sequence[str],
    weights: Weights,
    *,
    free: Collection[int] | None = None,
) -> Match:
    """The best of the phrases. `free` are the positions that may be used."""
    places = range(len(question.tokens)) if free is None else free
    found = (_match(question, phrase, weights, places) for phrase in phrases)
    return max(found, key=lambda match: match.rank, default=Match())


def _match(
    question: Question, phrase: str, weights: Weights, places: Collection[int]
) -> Match:
    wanted = found = accounted = 0.0
    positions: set[int] = set()
    for stem in phrase_stems(phrase):
        place, likeness = _closest(question, stem, places)
        if place is not None:
            found += likeness * weights[stem]
            accounted += likeness * weights[stem]
            positions.add(place)
            wanted += weights[stem]
        elif stem == "time" and question.about_time:
            found += weights[stem]
            wanted += weights[stem]
        elif stem in words.AGGREGATES and question.aggregate is None:
            # An aggregate may go without saying: "resolution time by team".
            continue
        else:
            wanted += weights[stem]
    if not positions:
        return Match()
    spanned = [i for i in question.content if min(positions) <= i <= max(positions)]
    compactness = len(positions) / max(len(positions), len(spanned))
    return Match(found / wanted, accounted, frozenset(positions), compactness)


def _closest(
    question: Question, stem: str, places: Collection[int]
) -> tuple[int | None, float]:
    best: tuple[int | None, float] = (None, 0.0)
    for place in places:
        likeness = words.likeness(question.stems[place], stem)
        if likeness > best[1]:
            best = (place, likeness)
    return best


def all_places(question: Question, stems: Iterable[str]) -> frozenset[int]:
    """Every position whose word is one of the stems."""
    wanted = list(stems)
    return frozenset(
        i
        for i, stem in enumerate(question.stems)
        if any(words.likeness(stem, other) > 0 for other in wanted)
    )
