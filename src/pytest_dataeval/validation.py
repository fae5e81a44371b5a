"""From plain data to pydantic models, with errors that a person can act on."""

from __future__ import annotations

import datetime as dt
import difflib
import types
from collections.abc import Iterable, Iterator, Sequence
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

from .errors import FileError, FileErrors
from .yamlfile import Document, KeyPath

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

    M = TypeVar("M", bound=BaseModel)

_EXPECTED = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping of keys and values",
    "model_type": "a mapping of keys and values",
    "date_text": "a date such as 2026-12-31",
}
_MAX_LISTED = 40
_BOUNDS = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}


class KeyProblem(ValueError):
    """A broken rule of a model, raised by its validators, that names its key."""

    def __init__(self, key: str, message: str) -> None:
        self.key = key
        self.message = message
        super().__init__(message)


def parse_date(value: Any) -> Any:
    """For a BeforeValidator: an ISO 8601 date as text becomes a date."""
    from pydantic_core import PydanticCustomError

    if isinstance(value, str):
        try:
            return dt.date.fromisoformat(value)
        except ValueError:
            pass
    elif value is None or (
        isinstance(value, dt.date) and not isinstance(value, dt.datetime)
    ):
        return value
    raise PydanticCustomError("date_text", "expected a date")


def validate(document: Document, model: type[M], *, at: KeyPath = ()) -> M:
    """The value at `at` as a `model`. Raises FileErrors with every problem."""
    value, problems = check(document, model, at=at)
    if value is None:
        raise FileErrors(problems)
    return value


def check(
    document: Document, model: type[M], *, at: KeyPath = ()
) -> tuple[M | None, list[FileError]]:
    """Like `validate`, but gives the problems back: either is empty."""
    from pydantic import ValidationError

    data = document.data
    for step in at:
        data = data[step]
    try:
        return model.model_validate(data), []
    except ValidationError as error:
        details = error.errors(include_url=False)
    found = [_Detail(detail, data) for detail in details]
    problems = [
        document.error((*at, *path), message)
        for path, message in _messages(found, model, data)
    ]
    unique = {str(problem): problem for problem in problems}
    return None, sorted(
        unique.values(), key=lambda p: (p.position.line, p.position.column)
    )


def nearest(kind: str, name: str, known: Iterable[str]) -> str:
    """A sentence for a name that does not exist, with the names that do.

    `unknown arm 'catalg'; known: catalog, none; did you mean 'catalog'?`
    """
    names = sorted(set(known))
    listed = ", ".join(names[:_MAX_LISTED]) or "none"
    if len(names) > _MAX_LISTED:
        listed += f" and {len(names) - _MAX_LISTED} more"
    sentence = f"unknown {kind} {name!r}; known: {listed}"
    near = _near(name, names)
    return f"{sentence}; did you mean {near!r}?" if near else sentence


def _near(name: str, names: Sequence[str]) -> str | None:
    by_lower = {known.lower(): known for known in names}
    found = difflib.get_close_matches(name.lower(), list(by_lower), n=1)
    return by_lower[found[0]] if found else None


class _Detail:
    """One pydantic error: its place in the data, and the union branch it is of."""

    def __init__(self, detail: ErrorDetails, data: Any) -> None:
        self.kind = detail["type"]
        self.input = detail["input"]
        self.context = detail.get("ctx", {})
        self.text = detail["msg"]
        self.union: KeyPath | None = None
        self.branch = ""
        path: list[str | int] = []
        location = detail["loc"]
        for index, step in enumerate(location):
            last = index == len(location) - 1
            if _holds(data, step):
                data = data[step]
                path.append(step)
            elif last and self.kind == "missing":
                path.append(step)
            elif step != "[key]" and self.union is None:
                self.union = tuple(path)
                self.branch = str(step)
        self.path: KeyPath = tuple(path)

    @property
    def is_wrong_kind(self) -> bool:
        """True if the branch as a whole is not what was written."""
        return self.path == self.union and (
            self.kind in _EXPECTED or self.kind == "literal_error"
        )


def _holds(data: Any, step: str | int) -> bool:
    if isinstance(data, dict):
        return step in data
    return isinstance(data, list) and isinstance(step, int) and step < len(data)


def _messages(
    details: list[_Detail], model: type[BaseModel], data: Any
) -> Iterator[tuple[KeyPath, str]]:
    unions: dict[KeyPath, list[_Detail]] = {}
    for detail in details:
        if detail.union is None:
            yield from _message(detail, model)
        else:
            unions.setdefault(detail.union, []).append(detail)
    for path, members in unions.items():
        branches: dict[str, list[_Detail]] = {}
        for member in members:
            branches.setdefault(member.branch, []).append(member)
        meant = [b for b in branches.values() if not any(m.is_wrong_kind for m in b)]
        if meant:
            for member in min(meant, key=len):
                yield from _message(member, model)
        else:
            yield path, _no_branch(members)


def _no_branch(members: list[_Detail]) -> str:
    """What to say where the value is of no kind that the key may have."""
    value = members[0].input
    expected: list[str] = []
    allowed: list[str] = []
    for member in members:
        if member.kind == "literal_error":
            words = _literals(member)
            allowed += words
            expected += words
        else:
            expected.append(_EXPECTED[member.kind])
    unique = list(dict.fromkeys(expected))
    sentence = f"expected {_either(unique)}, found {_shown(value)}"
    near = _near(value, allowed) if isinstance(value, str) else None
    return f"{sentence}; did you mean {near!r}?" if near else sentence


def _message(detail: _Detail, model: type[BaseModel]) -> Iterator[tuple[KeyPath, str]]:
    path, context, value = detail.path, detail.context, detail.input
    kind = detail.kind
    if kind == "missing":
        yield path, f"missing key {path[-1]!r}"
    elif kind == "extra_forbidden":
        yield path, _unknown_key(str(path[-1]), _known_keys(model, path[:-1]))
    elif kind == "literal_error":
        words = _literals(detail)
        sentence = f"{_shown(value)} is not allowed; use {_either(words)}"
        near = _near(value, words) if isinstance(value, str) else None
        yield path, f"{sentence}; did you mean {near!r}?" if near else sentence
    elif kind in _EXPECTED:
        hint = ""
        if kind == "string_type" and isinstance(value, bool | int | float):
            hint = "; put it in quotes"
        yield path, f"expected {_EXPECTED[kind]}, found {_shown(value)}{hint}"
    elif kind == "string_too_short":
        yield path, "must not be empty"
    elif kind == "string_too_long":
        yield path, f"is longer than {context['max_length']} characters"
    elif kind == "too_short":
        yield path, f"must have at least {_count(context['min_length'])}"
    elif kind == "string_pattern_mismatch":
        yield path, f"{value!r} does not fit {context['pattern']}"
    elif kind in _BOUNDS:
        key, words_ = _BOUNDS[kind]
        yield path, f"must be {words_} {context[key]:g}, found {_shown(value)}"
    elif kind == "value_error" and isinstance(context["error"], KeyProblem):
        problem = context["error"]
        yield (*path, problem.key), problem.message
    elif kind == "value_error":
        yield path, str(context["error"])
    else:
        yield path, detail.text[:1].lower() + detail.text[1:]


def _unknown_key(key: str, known: list[str]) -> str:
    near = _near(key, known)
    if near:
        return f"unknown key {key!r}; did you mean {near!r}?"
    return f"unknown key {key!r}; known keys: {', '.join(known)}"


def _literals(detail: _Detail) -> list[str]:
    """The allowed words out of pydantic's own listing: `'a', 'b' or 'c'`."""
    listed = str(detail.context["expected"]).replace(" or ", ", ")
    return [word.strip("'") for word in listed.split(", ")]


def _either(words: Sequence[str]) -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _count(number: int) -> str:
    return "one entry" if number == 1 else f"{number} entries"


def _shown(value: Any) -> str:
    """The value for a message: what it is, and the start of it."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"the text {value[:60]!r}" if value else "an empty text"
    if isinstance(value, int | float):
        return f"the number {value}"
    return "a list" if isinstance(value, list) else "a mapping"


def _known_keys(model: type[BaseModel], path: KeyPath) -> list[str]:
    """The keys that the model at `path` below `model` may have."""
    kinds: list[Any] = [model]
    for step in path:
        kinds = [inner for kind in kinds for inner in _inner(kind, step)]
    keys: list[str] = []
    for kind in kinds:
        if _is_model(kind):
            keys += [f.alias or name for name, f in kind.model_fields.items()]
    return list(dict.fromkeys(keys))


def _inner(kind: Any, step: str | int) -> Iterator[Any]:
    """The types that `kind` has one step further down."""
    if _is_model(kind):
        for name, info in kind.model_fields.items():
            if (info.alias or name) == step:
                yield from _alternatives(info.annotation)
        return
    arguments = get_args(kind)
    if get_origin(kind) in (list, dict) and arguments:
        yield from _alternatives(arguments[-1])


def _alternatives(annotation: Any) -> Iterator[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _alternatives(get_args(annotation)[0])
    elif origin in (Union, types.UnionType):
        for member in get_args(annotation):
            yield from _alternatives(member)
    else:
        yield annotation


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and hasattr(kind, "model_fields")
