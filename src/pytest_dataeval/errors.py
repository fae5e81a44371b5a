"""Faults and messages: every sentence names the place, the key and the remedy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


class DataevalError(Exception):
    """Base of all errors that this package raises on purpose."""


class UsageError(DataevalError):
    """The command line or a call asks for something that does not exist."""


@dataclass(frozen=True)
class Position:
    """A place in a text file; `line` and `column` are 1-based."""

    path: Path
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"


class FileError(DataevalError):
    """A configuration or case file that cannot be used.

    `key` is the dotted path of the offending key (empty for the file itself).
    """

    def __init__(self, position: Position, key: str, message: str) -> None:
        self.position = position
        self.key = key
        self.message = message
        where = f"{position}: {key}: " if key else f"{position}: "
        super().__init__(where + message)


class FileErrors(DataevalError):
    """All problems of one file, so that a person mends them in one pass."""

    def __init__(self, problems: list[FileError]) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))


class HarnessBroken(DataevalError):
    """Our side failed: nothing that follows could be measured.

    `what` is a short code, `where` names the server, secret or file, `detail`
    says what was seen and `remedy` what to do about it.
    """

    def __init__(self, what: str, where: str, detail: str, remedy: str = "") -> None:
        self.what = what
        self.where = where
        self.detail = detail
        self.remedy = remedy
        sentence = f"{where}: {detail}"
        super().__init__(f"{sentence} {remedy}".rstrip())


class StatementFailed(DataevalError):
    """A statement did not give a result; `kind` says whose doing it was.

    Kinds: `refused` (grants or the engine's guard), `not_found` (no such table
    or column), `invalid` (syntax, types, arithmetic), `timed_out`, `too_large`
    (a byte ceiling), and `broken` (the warehouse cannot be reached: a fault).
    """

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        self.message = message
        super().__init__(message)
