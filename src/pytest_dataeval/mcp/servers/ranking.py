"""Lexical ranking of catalog entries: BM25 over weighted fields, and trigrams.

BM25 after Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and
Beyond" (2009), with the usual k1 = 1.2 and b = 0.75. Deterministic: equal scores
keep the order of the identifiers.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_K1 = 1.2
_B = 0.75
_WORD = re.compile(r"[a-z]+|\d+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SUFFIXES = ("ations", "ation", "ings", "ing", "ied", "ies", "ed", "es", "s")
_STOP_WORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "by",
        "do",
        "does",
        "did",
        "for",
        "from",
        "has",
        "have",
        "how",
        "i",
        "in",
        "is",
        "it",
        "me",
        "much",
        "many",
        "of",
        "on",
        "or",
        "our",
        "per",
        "show",
        "that",
        "the",
        "their",
        "this",
        "to",
        "was",
        "we",
        "were",
        "what",
        "which",
        "who",
        "with",
    ]
)


@dataclass(frozen=True, slots=True)
class Document:
    """What is searched of one entry. `fields` maps a text to its weight."""

    key: str
    fields: Sequence[tuple[str, float]]


def words(text: str) -> list[str]:
    """Stemmed words of `text`, split at case changes, digits and signs."""
    found = _WORD.findall(_CAMEL.sub(" ", text).lower())
    return [_stem(word) for word in found if word not in _STOP_WORDS]


def _stem(word: str) -> str:
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            stem = word[: -len(suffix)]
            if suffix in ("ied", "ies"):
                return stem + "i"
            break
    else:
        stem = word
    if len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "lsz":
        stem = stem[:-1]
    stem = stem[:-1] if stem.endswith("e") and len(stem) > 3 else stem
    return stem[:-1] + "i" if stem.endswith("y") and len(stem) > 3 else stem


class Index:
    """Ranks documents for a query. Scores fall; documents without a hit are left out."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._counts: dict[str, dict[str, float]] = {}
        self._grams: dict[str, frozenset[str]] = {}
        for document in documents:
            counts: dict[str, float] = defaultdict(float)
            for text, weight in document.fields:
                for word in words(text):
                    counts[word] += weight
            self._counts[document.key] = counts
            named = " ".join(text for text, weight in document.fields if weight > 1)
            self._grams[document.key] = _trigrams(named)
        self._lengths = {key: sum(c.values()) for key, c in self._counts.items()}
        self._mean = sum(self._lengths.values()) / max(1, len(self._lengths))
        self._frequency = Counter(word for c in self._counts.values() for word in c)

    def lexical(self, query: str) -> list[tuple[str, float]]:
        """Documents that share a word with the query, by BM25."""
        asked = words(query)
        return _ranked({key: self._bm25(asked, key) for key in self._counts})

    def fuzzy(self, query: str) -> list[tuple[str, float]]:
        """BM25, plus the share of the query's trigrams in names and synonyms.

        It finds near spellings and compounds that share no whole word.
        """
        asked = words(query)
        grams = _trigrams(query)
        scores = {
            key: self._bm25(asked, key)
            + (2 * share if (share := _share(grams, self._grams[key])) >= 0.3 else 0)
            for key in self._counts
        }
        return _ranked(scores)

    def _bm25(self, asked: Sequence[str], key: str) -> float:
        counts, total = self._counts[key], len(self._counts)
        norm = _K1 * (1 - _B + _B * self._lengths[key] / (self._mean or 1))
        score = 0.0
        for word in asked:
            count = counts.get(word, 0)
            if count:
                seen = self._frequency[word]
                rarity = math.log(1 + (total - seen + 0.5) / (seen + 0.5))
                score += rarity * count * (_K1 + 1) / (count + norm)
        return score


def _ranked(scores: Mapping[str, float]) -> list[tuple[str, float]]:
    found = [(key, score) for key, score in scores.items() if score > 0]
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))


def _trigrams(text: str) -> frozenset[str]:
    found: set[str] = set()
    for word in words(text):
        padded = f" {word} "
        found.update(padded[i : i + 3] for i in range(len(padded) - 2))
    return frozenset(found)


def _share(asked: frozenset[str], offered: frozenset[str]) -> float:
    return len(asked & offered) / len(asked) if asked else 0.0
