"""Is what an agent gave back an answer that can be scored and written down?"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_dataeval.records import Answer, Usage


def complaint_of(answer: Answer) -> str | None:
    """What is wrong with the fields of `answer`, or None.

    A wrong type would be scored as something that the agent did not say, or would
    break the record of a whole run, so it is found here.
    """
    for name in ("text", "rewrite", "source", "served_revision"):
        if not isinstance(getattr(answer, name), str | None):
            return _wrong(answer, name, "a text or None")
    if not isinstance(answer.stop_reason, str) or not answer.stop_reason:
        return _wrong(answer, "stop_reason", "a word such as 'end_turn'")
    for name in ("sql", "tables"):
        if not _are_texts(getattr(answer, name)):
            return _wrong(answer, name, "a list of texts or None")
    if not _is_amount(answer.hops, int):
        return _wrong(answer, "hops", "a whole number from 0 on or None")
    if not _is_amount(answer.cost, int, float):
        return _wrong(answer, "cost", "a finite number from 0 on or None")
    if not isinstance(answer.usage, Usage | None):
        return _wrong(answer, "usage", "a Usage or None")
    return _usage_complaint(answer.usage) or _transcript_complaint(answer.transcript)


def _are_texts(value: Any) -> bool:
    if value is None:
        return True
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        return False
    return all(isinstance(item, str) for item in value)


def _is_amount(value: Any, *kinds: type) -> bool:
    """None, or a finite number of one of `kinds` that is not negative."""
    if value is None:
        return True
    if isinstance(value, bool) or not isinstance(value, kinds):
        return False
    number: Any = value
    return math.isfinite(number) and bool(number >= 0)


def _usage_complaint(usage: Usage | None) -> str | None:
    if usage is None:
        return None
    for name in Usage.__slots__:
        value = getattr(usage, name)
        if not _is_amount(value, int):
            return f"Answer.usage.{name} is {value!r:.60}; it must be a whole number"
    return None


def _transcript_complaint(transcript: Any) -> str | None:
    is_list = isinstance(transcript, Sequence) and not isinstance(transcript, str)
    if not is_list or not all(isinstance(step, Mapping) for step in transcript):
        return "Answer.transcript must be a list of mappings"
    if not transcript:
        return None
    try:
        json.dumps(list(map(dict, transcript)), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        return f"Answer.transcript has no form in JSON: {error}"
    return None


def _wrong(answer: Answer, name: str, wanted: str) -> str:
    return f"Answer.{name} is {getattr(answer, name)!r:.60}; it must be {wanted}"
