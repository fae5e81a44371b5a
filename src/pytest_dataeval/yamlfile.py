"""YAML files with positions: what was written, and where it stands.

The dialect is small on purpose, so that a file means the same to every reader:

- only `true`/`false` (also `True`, `TRUE`, ...) are booleans; `yes`, `no`, `on`
  and `off` are text;
- `null`, `~` and nothing at all are null;
- numbers are those of YAML 1.2 (decimal, `0x`, `0o`, exponents, `.inf`, `.nan`);
  a number with a leading zero (`007`) is text, and so is a date;
- keys are always text;
- anchors, aliases, merge keys, tags and several documents are refused.

Both of PyYAML's parsers give the same result: the C parser, where it was built,
reads what both accept, and the pure one judges the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import FileError, FileErrors, Position

KeyPath = tuple[str | int, ...]
# PyYAML's two parsers make the same event classes, with attributes that its stubs
# do not know.
Event = Any

MAX_BYTES = 5_000_000
MAX_DEPTH = 50

_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
_BASED = re.compile(r"0(?:x[0-9a-fA-F]+|o[0-7]+)\Z")
_FLOAT = re.compile(
    r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z"
)
_CONSTANTS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
# Python refuses to read an integer of more than 4300 digits.
_MAX_DIGITS = 1000
# A tab, and a comment right behind the sign of a block text.
_DISPUTED = re.compile(r"\t|[|>][-+0-9]*#")
# Control characters, and the breaks that no editor counts as a line.
_UNREADABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
)


@dataclass(frozen=True)
class Document:
    """One YAML document as plain data, and the place of every key in it."""

    path: Path
    data: Any
    places: dict[KeyPath, tuple[int, int]] = field(repr=False)

    def position(self, key_path: KeyPath) -> Position:
        """The place of that key, or else of its nearest parent that is there."""
        for length in range(len(key_path), -1, -1):
            place = self.places.get(key_path[:length])
            if place is not None:
                return Position(self.path, *place)
        return Position(self.path)

    def key_text(self, key_path: KeyPath) -> str:
        """A path to read: `cases[2] (L3-x).reference.sql`.

        A list entry that has an `id` or a `name` shows it.
        """
        parts: list[str] = []
        value = self.data
        for step in key_path:
            if isinstance(step, int):
                inside = isinstance(value, list) and step < len(value)
                value = value[step] if inside else None
                label = None
                if isinstance(value, dict):
                    label = value.get("id", value.get("name"))
                shown = f" ({label})" if isinstance(label, str) and label else ""
                parts.append(f"[{step}]{shown}")
            else:
                value = value.get(step) if isinstance(value, dict) else None
                parts.append(f".{step}" if parts else step)
        return "".join(parts)

    def error(self, key_path: KeyPath, message: str) -> FileError:
        """An error at that key."""
        return FileError(self.position(key_path), self.key_text(key_path), message)


def read_yaml(path: Path) -> Document:
    """Read one file. Raises FileErrors for whatever is wrong with it."""
    return parse_yaml(path, read_bytes(path))


def read_bytes(path: Path) -> bytes:
    """The file's bytes. Raises FileErrors if it cannot be read or is too big."""
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise _refusal(path, 1, 1, f"the file cannot be read: {reason}") from error
    if len(raw) > MAX_BYTES:
        raise _refusal(
            path, 1, 1, f"the file is larger than {MAX_BYTES // 10**6} MB; split it"
        )
    return raw


def parse_yaml(path: Path, raw: bytes) -> Document:
    """Read the bytes of the file at `path`. Raises FileErrors."""
    import yaml

    text = _decode(path, raw)
    builder = _read_fast(path, text)
    if builder is None:
        builder = _Builder(path)
        try:
            builder.build(yaml.parse(text, yaml.SafeLoader))
        except yaml.YAMLError as error:
            from .yamlsyntax import explain, key_near

            line, column, message = explain(error, text, builder.last_scalar)
            key_path = key_near(line, text, builder.places, builder.current)
            key = Document(path, builder.data, {}).key_text(key_path)
            place = Position(path, line, column)
            raise FileErrors([FileError(place, key, message)]) from None
    if builder.problems:
        raise FileErrors(builder.problems)
    if builder.data is None:
        raise _refusal(path, 1, 1, "the file is empty")
    return Document(path, builder.data, builder.places)


def _read_fast(path: Path, text: str) -> _Builder | None:
    """What the C parser reads; None where the pure one is to judge.

    That is so where there is no C parser, where it finds a fault (its sentences
    say less), and in the few forms that it accepts and the pure one does not.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", None)
    if loader is None or _DISPUTED.search(text):
        return None
    builder = _Builder(path)
    try:
        builder.build(yaml.parse(text, loader))
    except yaml.YAMLError:
        return None
    return None if builder.problems or builder.is_disputed else builder


def _refusal(path: Path, line: int, column: int, message: str) -> FileErrors:
    return FileErrors([FileError(Position(path, line, column), "", message)])


def _decode(path: Path, raw: bytes) -> str:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        before = raw[: error.start].removeprefix(b"\xef\xbb\xbf")
        line_start = before.rfind(b"\n") + 1
        column = len(before[line_start:].decode("utf-8")) + 1
        raise _refusal(
            path,
            before.count(b"\n") + 1,
            column,
            f"byte 0x{raw[error.start]:02x} is not UTF-8; save the file as UTF-8",
        ) from None
    text = text.removeprefix("\ufeff")
    bad = _UNREADABLE.search(text)
    if bad is not None:
        line_start = text.rfind("\n", 0, bad.start()) + 1
        raise _refusal(
            path,
            text.count("\n", 0, bad.start()) + 1,
            bad.start() - line_start + 1,
            f"the invisible character U+{ord(bad[0]):04X} may not stand in the file;"
            " delete it",
        )
    return text


def _scalar(text: str) -> Any:
    """The value of a plain scalar."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] not in "+-.0123456789" or len(text) > _MAX_DIGITS:
        return text
    if _INT.match(text):
        return int(text)
    if _FLOAT.match(text):
        return float(text)
    if _BASED.match(text):
        return int(text, 0)
    return text


@dataclass(frozen=True)
class ScalarSpan:
    """A scalar that was read: its quote ('' for none) and 0-based place."""

    quote: str
    line: int
    column: int
    end_line: int


class _TooDeep(Exception):
    """Stops the reading of a file that nests without end."""


class _Builder:
    """Builds data and places from parser events; keeps going after a refusal."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data: Any = None
        self.places: dict[KeyPath, tuple[int, int]] = {}
        self.problems: list[FileError] = []
        self.current: KeyPath = ()
        self.last_scalar: ScalarSpan | None = None
        self.is_disputed = False
        self._documents = 0
        self._flow_depth = 0

    def build(self, events: Iterator[Event]) -> None:
        from yaml import events as kinds

        try:
            for event in events:
                if not isinstance(event, kinds.DocumentStartEvent):
                    continue
                self._documents += 1
                if self._documents > 1:
                    self._refuse(
                        (),
                        event,
                        "a second document starts here; one file holds one document",
                    )
                    return
                self.data = self._value(next(events), events, ())
                self.current = ()
        except _TooDeep:
            return

    def _refuse(self, path: KeyPath, event: Event, message: str) -> None:
        place = Position(self.path, *_place(event))
        key = Document(self.path, self.data, {}).key_text(path)
        self.problems.append(FileError(place, key, message))

    def _value(self, event: Event, events: Iterator[Event], path: KeyPath) -> Any:
        from yaml import events as kinds

        self.current = path
        self.places.setdefault(path, _place(event))
        if isinstance(event, kinds.AliasEvent):
            self._refuse(
                path,
                event,
                f"the alias *{event.anchor} is not allowed; write the value out, or"
                " quote a text that begins with *",
            )
            return None
        if event.anchor is not None:
            self._refuse(
                path,
                event,
                f"the anchor &{event.anchor} is not allowed; write the value out, or"
                " quote a text that begins with &",
            )
        if event.tag is not None:
            self._refuse(
                path,
                event,
                f"the tag {_tag_text(event.tag)} is not allowed; leave it out, or quote"
                " a text that begins with !",
            )
        if isinstance(event, kinds.ScalarEvent):
            self._saw(event)
            return event.value if event.style else _scalar(event.value)
        if len(path) >= MAX_DEPTH:
            self._refuse(path[:3], event, f"nested deeper than {MAX_DEPTH} levels")
            raise _TooDeep
        is_flow = bool(event.flow_style)
        self._flow_depth += is_flow
        value: Any
        if isinstance(event, kinds.SequenceStartEvent):
            value = self._sequence(events, path)
        else:
            value = self._mapping(events, path)
        self._flow_depth -= is_flow
        return value

    def _saw(self, event: Event) -> None:
        if self._flow_depth and not event.style and "?" in event.value:
            self.is_disputed = True
        mark = event.start_mark
        style = event.style if event.style in ("'", '"') else ""
        self.last_scalar = ScalarSpan(
            style, mark.line, mark.column, event.end_mark.line
        )

    def _sequence(self, events: Iterator[Event], path: KeyPath) -> list[Any]:
        from yaml.events import SequenceEndEvent

        items: list[Any] = []
        for event in events:
            if isinstance(event, SequenceEndEvent):
                break
            items.append(self._value(event, events, (*path, len(items))))
        self.current = path
        return items

    def _mapping(self, events: Iterator[Event], path: KeyPath) -> dict[str, Any]:
        from yaml.events import MappingEndEvent, ScalarEvent

        mapping: dict[str, Any] = {}
        for event in events:
            if isinstance(event, MappingEndEvent):
                break
            if not isinstance(event, ScalarEvent):
                self._refuse(path, event, "a key must be one word or text")
                self._value(event, events, path)
                self._value(next(events), events, path)
                continue
            self._saw(event)
            key = event.value
            inner = (*path, key)
            if event.anchor is not None or event.tag is not None:
                self._refuse(inner, event, "a key may have no anchor and no tag")
            if key == "<<" and not event.style:
                self._refuse(
                    path, event, "the merge key << is not allowed; write the keys out"
                )
            elif key in mapping:
                first = self.places[inner][0]
                self._refuse(
                    inner,
                    event,
                    f"the key {key!r} stands here a second time; the first is on line"
                    f" {first}",
                )
            self.places.setdefault(inner, _place(event))
            mapping[key] = self._value(next(events), events, inner)
        self.current = path
        return mapping


def _place(event: Event) -> tuple[int, int]:
    return event.start_mark.line + 1, event.start_mark.column + 1


def _tag_text(tag: str) -> str:
    core = "tag:yaml.org,2002:"
    return f"!!{tag.removeprefix(core)}" if tag.startswith(core) else tag
