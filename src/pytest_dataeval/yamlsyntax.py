"""What is wrong with a file that is no YAML, in plain words and with a remedy."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from yaml import MarkedYAMLError, YAMLError

    from .yamlfile import KeyPath, ScalarSpan

_KEY_LINE = re.compile(r"( *((?:- +)*))([A-Za-z0-9_.-]+) *:(?: |$)")
_FLOW = {"sequence": ("[", "]"), "mapping": ("{", "}")}
# What the parser was about to read -> the sign that it took for the start of it.
_MARKS = {
    "while scanning an alias": "*",
    "while scanning an anchor": "&",
    "while scanning a tag": "!",
    "while parsing a tag": "!",
    "while scanning a directive": "%",
}


def explain(
    error: YAMLError, text: str, last_scalar: ScalarSpan | None
) -> tuple[int, int, str]:
    """Line and column (1-based) to look at, and the sentence.

    `error` is the pure parser's; `last_scalar` is the last scalar read before it.
    """
    from yaml import MarkedYAMLError

    if not isinstance(error, MarkedYAMLError) or error.problem_mark is None:
        return 1, 1, f"not valid YAML: {error}"
    mark = error.problem_mark
    context = error.context or ""
    opened = _opened(error, context)
    if opened is not None:
        return opened
    if _is_after_stray_quote(error, last_scalar):
        assert last_scalar is not None
        return (
            last_scalar.line + 1,
            last_scalar.column + 1,
            f"the quote that opens here is closed only on line {mark.line + 1}, where"
            f" more text follows; add the missing {last_scalar.quote} before that",
        )
    return mark.line + 1, mark.column + 1, _sentence(error, text)


def key_near(
    line: int,
    text: str,
    places: dict[KeyPath, tuple[int, int]],
    current: KeyPath,
) -> KeyPath:
    """The key on the line of an error, which the parser may not have reached yet.

    `places` are those of the keys read so far and `current` the last of them. A
    line without a key belongs to the parent of `current`, unless it holds it.
    """
    lines = text.splitlines()
    match = _KEY_LINE.match(lines[line - 1]) if line <= len(lines) else None
    if match is not None:
        column = len(match[1]) + 1
        for path, place in reversed(places.items()):
            if path and isinstance(path[-1], str) and place[1] == column:
                parent = path[:-1]
                last = parent[-1] if parent else None
                if match[2] and place[0] < line and isinstance(last, int):
                    parent = (*parent[:-1], last + 1)
                return (*parent, match[3])
        if column == 1:
            return (match[3],)
    return current if places.get(current, (0, 0))[0] == line else current[:-1]


def _opened(error: MarkedYAMLError, context: str) -> tuple[int, int, str] | None:
    """The errors whose cause is where something was opened, not where it shows."""
    start = error.context_mark
    problem = error.problem or ""
    if start is None:
        return None
    at = start.line + 1, start.column + 1
    if context in _MARKS:
        return (*at, f"a text that begins with {_MARKS[context]} must stand in quotes")
    if context == "while scanning a quoted scalar":
        return (*at, "the quote that opens here is never closed; add the closing quote")
    for kind, (opening, closing) in _FLOW.items():
        if context == f"while parsing a flow {kind}" and (
            problem.endswith(("'<stream end>'", "but got ':'"))
        ):
            return (
                *at,
                f"the {opening} that opens here is never closed; add the closing"
                f" {closing}, or put a text that begins with {opening} in quotes",
            )
    return None


def _is_after_stray_quote(
    error: MarkedYAMLError, last_scalar: ScalarSpan | None
) -> bool:
    """True where a quoted text ran over lines up to the line of the error."""
    return (
        last_scalar is not None
        and last_scalar.quote != ""
        and error.problem_mark is not None
        and last_scalar.line < last_scalar.end_line == error.problem_mark.line
    )


def _sentence(error: MarkedYAMLError, text: str) -> str:
    problem = error.problem or ""
    context = error.context or ""
    mark = error.problem_mark
    assert mark is not None
    lines = text.splitlines()
    line = lines[mark.line] if mark.line < len(lines) else ""
    if problem.startswith("found character '\\t'"):
        return "a tab stands here; indent and separate with spaces"
    if problem.startswith("found character"):
        character = line[mark.column : mark.column + 1]
        return f"a value may not begin with {character}; put it in quotes"
    if problem == "mapping values are not allowed here":
        if ": " in line[: mark.column]:
            return 'a text that holds ": " must stand in quotes'
        return "this key is indented too far, or the line above it lacks its quotes"
    if problem == "sequence entries are not allowed here":
        return "a list may not begin on the line of its key; put it on the next line"
    if problem.startswith("expected the node content"):
        return (
            "a value is missing here, or a text that begins with a bracket or a comma"
            " lacks its quotes"
        )
    if problem.endswith("but got '?'"):
        return "inside [ ] and { } a text that holds ? must stand in quotes"
    if problem == "could not find expected ':'":
        return 'this line, or the one above, is a key without ":"'
    if problem.startswith("found unknown escape character"):
        return (
            "in double quotes a backslash begins an escape, and this one does not"
            " exist; use single quotes, or write the backslash twice"
        )
    if problem.startswith("expected <block end>"):
        if problem.endswith("'<scalar>'"):
            return (
                "this text follows a value that has already ended; put the whole value"
                " in one pair of quotes"
            )
        return "this line's indentation fits nothing above it"
    if context == "while scanning a block scalar":
        return "after | or > the line must end; the text begins on the next line"
    return f"not valid YAML: {problem}"
