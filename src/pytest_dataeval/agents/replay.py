"""Answers given elsewhere: the `--answers` file and the agent that replays it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pytest_dataeval.agents.base import Context
from pytest_dataeval.errors import FileError, FileErrors, HarnessBroken, Position
from pytest_dataeval.records import Answer, TrialKey

_KEYS = (
    "suite",
    "case",
    "text",
    "sql",
    "tables",
    "wording",
    "arm",
    "repeat",
    "rewrite",
    "stop_reason",
)


@dataclass(frozen=True, slots=True)
class Recorded:
    """One line of the file. A `wording` or `arm` of None matches all."""

    suite: str
    case: str
    text: str | None
    sql: tuple[str, ...] | None
    tables: tuple[str, ...] | None
    wording: int | None
    arm: str | None
    repeat: int
    rewrite: str | None
    stop_reason: str
    line: int

    def answers(self, key: TrialKey) -> bool:
        """Whether this line is for the trial; its agent does not matter."""
        return (
            (self.suite, self.case, self.repeat) == (key.suite, key.case, key.repeat)
            and self.wording in (None, key.wording)
            and self.arm in (None, key.arm)
        )

    def overlaps(self, other: Recorded) -> bool:
        """Whether some trial of the same case and repeat would match both."""
        return (
            self.wording is None
            or other.wording is None
            or self.wording == other.wording
        ) and (self.arm is None or other.arm is None or self.arm == other.arm)

    def answer(self) -> Answer:
        return Answer(
            self.text,
            sql=self.sql,
            tables=self.tables,
            rewrite=self.rewrite,
            stop_reason=self.stop_reason,
        )


class Answers:
    """The recorded answers of one file, found by trial."""

    def __init__(self, path: Path, recorded: Sequence[Recorded]) -> None:
        self.path = path
        self._by_case: dict[tuple[str, str, int], list[Recorded]] = {}
        for item in recorded:
            group = (item.suite, item.case, item.repeat)
            self._by_case.setdefault(group, []).append(item)

    def __len__(self) -> int:
        return sum(len(group) for group in self._by_case.values())

    def __iter__(self) -> Iterator[Recorded]:
        for group in self._by_case.values():
            yield from group

    def find(self, key: TrialKey) -> Recorded | None:
        """The line that answers this trial, or None."""
        group = self._by_case.get((key.suite, key.case, key.repeat), ())
        return next((item for item in group if item.answers(key)), None)

    @classmethod
    def load(cls, path: Path, known: Mapping[str, Set[str]]) -> Answers:
        """Read a file of one JSON object a line.

        `known` are the ids of the cases of each suite of the project. Raises
        FileErrors with all problems: lines that are no such object, unknown keys,
        suites and cases, and two lines that answer the same trial.
        """
        problems: list[FileError] = []
        recorded: list[Recorded] = []
        seen: dict[tuple[str, str, int], list[Recorded]] = {}
        for number, line in _lines(path):
            try:
                item = _record(line, number, known)
                group = seen.setdefault((item.suite, item.case, item.repeat), [])
                for other in group:
                    if item.overlaps(other):
                        raise _Problem(
                            "",
                            f"line {other.line} already answers a trial of case "
                            f"{item.case!r} that this line answers; keep one, or "
                            "tell them apart by wording, arm or repeat.",
                        )
            except _Problem as problem:
                place = Position(path, number)
                problems.append(FileError(place, problem.key, problem.message))
            else:
                group.append(item)
                recorded.append(item)
        if problems:
            raise FileErrors(problems)
        return cls(path, recorded)


class ReplayAgent:
    """Gives back recorded answers; needs no server and asks nobody.

    `lookup` gives the trial of a conversation by its id.
    """

    name = "replay"
    paid = False
    needs_servers = False
    waits = False

    def __init__(self, answers: Answers, lookup: Callable[[str], TrialKey]) -> None:
        self._answers = answers
        self._lookup = lookup

    async def ask(self, question: str, context: Context) -> Answer:
        """The recorded answer. Raises HarnessBroken (`no_recorded_answer`)."""
        key = self._lookup(context.conversation)
        recorded = self._answers.find(key)
        if recorded is None:
            raise HarnessBroken(
                "no_recorded_answer",
                str(self._answers.path),
                f"no line answers suite {key.suite!r}, case {key.case!r}, wording "
                f"{key.wording}, arm {key.arm!r}, repeat {key.repeat}.",
                "Add the line, or select only the trials that were recorded.",
            )
        return recorded.answer()


# ---------------------------------------------------------------------- reading


class _Problem(Exception):
    def __init__(self, key: str, message: str) -> None:
        self.key = key
        self.message = message
        super().__init__(message)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise FileErrors(
            [
                FileError(
                    Position(path),
                    "",
                    f"cannot be read ({error.strerror}); name a readable file "
                    "with --answers.",
                )
            ]
        ) from error
    except UnicodeDecodeError as error:
        place = Position(path, error.object.count(b"\n", 0, error.start) + 1)
        raise FileErrors(
            [FileError(place, "", "is not UTF-8; save it as UTF-8.")]
        ) from error
    # Not splitlines(): JSON text may hold U+2028, which is no end of line here.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, line


def _record(line: str, number: int, known: Mapping[str, Set[str]]) -> Recorded:
    data = _object(line)
    for key in data:
        if key not in _KEYS:
            raise _Problem(key, f"unknown key{_nearest(key, _KEYS)}.")
    case = _text(data, "case")
    if case is None:
        raise _Problem("case", "is missing; name the case that this line answers.")
    suite = _text(data, "suite")
    if suite is None:
        suite = _only_suite(case, known)
    elif suite not in known:
        raise _Problem("suite", f"unknown suite {suite!r}{_nearest(suite, known)}.")
    elif case not in known[suite]:
        raise _Problem(
            "case",
            f"suite {suite!r} has no case {case!r}{_nearest(case, known[suite])}.",
        )
    return Recorded(
        suite=suite,
        case=case,
        text=_text(data, "text"),
        sql=_texts(data, "sql"),
        tables=_texts(data, "tables"),
        wording=_number(data, "wording"),
        arm=_text(data, "arm"),
        repeat=_number(data, "repeat") or 1,
        rewrite=_text(data, "rewrite"),
        stop_reason=_text(data, "stop_reason") or "end_turn",
        line=number,
    )


def _object(line: str) -> dict[str, Any]:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key, value in pairs:
            if key in data:
                raise _Problem(key, "stands twice in this line; keep one.")
            data[key] = value
        return data

    try:
        data = json.loads(line, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise _Problem("", f"is not one JSON object on one line ({error}).") from error
    if not isinstance(data, dict):
        raise _Problem("", 'is not a JSON object; write {"case": ..., "text": ...}.')
    return data


def _only_suite(case: str, known: Mapping[str, Set[str]]) -> str:
    suites = sorted(suite for suite, cases in known.items() if case in cases)
    if len(suites) == 1:
        return suites[0]
    if suites:
        raise _Problem(
            "suite",
            f"is missing, and case {case!r} is in the suites {', '.join(suites)}; "
            "say which is meant.",
        )
    every = {case_id for cases in known.values() for case_id in cases}
    raise _Problem("case", f"no suite has a case {case!r}{_nearest(case, every)}.")


def _text(data: Mapping[str, Any], key: str) -> str | None:
    value = data.get(key)
    if value is None or isinstance(value, str):
        return value
    raise _Problem(key, f"is {json.dumps(value)[:60]}; write text in quotes.")


def _texts(data: Mapping[str, Any], key: str) -> tuple[str, ...] | None:
    value = data.get(key)
    if value is None:
        return None
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise _Problem(key, f'is {json.dumps(value)[:60]}; write a list of texts: ["..."].')


def _number(data: Mapping[str, Any], key: str) -> int | None:
    value = data.get(key)
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    raise _Problem(key, f"is {json.dumps(value)[:60]}; write a whole number from 1 on.")


def _nearest(word: str, known: Mapping[str, Any] | Set[str] | Sequence[str]) -> str:
    close = get_close_matches(word, sorted(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
