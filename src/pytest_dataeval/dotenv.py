"""A small reader of .env files; it runs nothing and expands nothing."""

from __future__ import annotations

import re
from pathlib import Path

from .errors import FileError, FileErrors, Position
from .yamlfile import read_bytes

_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=[ \t]*(.*)\Z")
_DOUBLE = re.compile(r'"((?:[^"\\]|\\.)*)"\s*(?:#.*)?\Z')
_SINGLE = re.compile(r"'([^']*)'\s*(?:#.*)?\Z")
_COMMENT = re.compile(r"(?:^|\s+)#.*\Z")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def read_dotenv(path: Path) -> dict[str, str]:
    """Names and values of lines `NAME=value`, with or without `export`.

    Single quotes keep a value as it is; double quotes know the escapes of JSON's
    kind (`\\n`, `\\"`, `\\\\`); elsewhere ` #` begins a comment. A later line wins.
    Raises FileErrors with every bad line, never with its content.
    """
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        message = "the file is not UTF-8; save it as UTF-8"
        raise FileErrors([FileError(Position(path), "", message)]) from None
    values: dict[str, str] = {}
    problems: list[FileError] = []
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.rstrip()
        if not line or line.lstrip().startswith("#"):
            continue
        match = _LINE.match(line)
        if match is None:
            message = "expected NAME=value, or a comment that begins with #"
            problems.append(FileError(Position(path, number), "", message))
            continue
        name, written = match.groups()
        value = _value(written)
        if value is None:
            place = Position(path, number, match.start(2) + 1)
            message = "the value must end with the quote that it begins with"
            problems.append(FileError(place, name, message))
        else:
            values[name] = value
    if problems:
        raise FileErrors(problems)
    return values


def _value(written: str) -> str | None:
    if written.startswith('"'):
        match = _DOUBLE.match(written)
        if match is None:
            return None
        return _ESCAPE.sub(lambda m: _ESCAPES.get(m[1], m[1]), match[1])
    if written.startswith("'"):
        match = _SINGLE.match(written)
        return None if match is None else match[1]
    return _COMMENT.sub("", written)
