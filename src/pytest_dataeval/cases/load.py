"""Reading case files: defaults applied, rules checked, everything with its place."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from ..errors import FileError, FileErrors, Position
from ..records import canonical_json, encode_cell, sha256_text
from ..validation import check
from ..yamlfile import Document, KeyPath, parse_yaml, read_bytes
from .model import Case, CaseDefaults, CaseFileHead, Reference, Tolerance

_MENTIONS_CASES = re.compile(r"\bcases?\b", re.IGNORECASE)
_CASES_LINE = re.compile(r"""^\s*[{?]?\s*["']?cases["']?\s*:""", re.MULTILINE)
_SUITE = re.compile(r"[A-Za-z0-9._-]{1,120}\Z")
_PYTHON_REFERENCE = re.compile(r"[^:]+\.py:[A-Za-z_][A-Za-z0-9_]*\Z")


@dataclass(frozen=True, slots=True)
class LoadedCase:
    """A case with the defaults of its file.

    `line` is 1-based. `question_sha` is the SHA-256 of wording 1; `sha` that of
    all that the case says, however it is spelled, but for `why`.
    """

    case: Case
    line: int
    question_sha: str
    sha: str


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """One case file; `sha256` is that of its bytes."""

    path: Path
    suite: str
    warehouse: str | None
    cases: tuple[LoadedCase, ...]
    sha256: str


def load_case_file(path: Path) -> LoadedFile | None:
    """Read a case file; None for a YAML file without the top-level key `cases`.

    Raises FileErrors with every problem of the file.
    """
    raw = read_bytes(path)
    rough = _rough_text(raw)
    if not _MENTIONS_CASES.search(rough):
        return None
    try:
        document = parse_yaml(path, raw)
    except FileErrors:
        if _CASES_LINE.search(rough):
            raise
        return None  # another program's file, and no YAML that we read
    if not isinstance(document.data, dict):
        return None
    if "cases" not in document.data:
        for key in document.data:
            if key.lower() in ("case", "cases"):
                raise FileErrors(
                    [document.error((key,), f"unknown key {key!r}; write 'cases'")]
                )
        return None
    return _load(document, hashlib.sha256(raw).hexdigest())


def check_unique(files: Iterable[LoadedFile]) -> list[FileError]:
    """One error for each case whose id another file of its suite has used.

    The first place is the one that comes first by path.
    """
    seen: dict[tuple[str, str], tuple[Path, int]] = {}
    problems = []
    for file in sorted(files, key=lambda f: f.path):
        for index, loaded in enumerate(file.cases):
            key = file.suite, loaded.case.id
            first = seen.setdefault(key, (file.path, loaded.line))
            if first == (file.path, loaded.line):
                continue
            problems.append(
                FileError(
                    Position(file.path, loaded.line),
                    f"cases[{index}] ({loaded.case.id}).id",
                    f"the suite {file.suite!r} already has a case {loaded.case.id!r},"
                    f" at {first[0]}:{first[1]}; rename one",
                )
            )
    return problems


def question_set_sha(files: Iterable[LoadedFile]) -> tuple[str, int]:
    """SHA-256 and count of the cases of all files, whatever their order.

    It covers what is asked and what scores: suite, warehouse and each case.
    """
    entries = sorted(
        [file.suite, loaded.case.id, file.warehouse or "", loaded.sha]
        for file in files
        for loaded in file.cases
    )
    return sha256_text(canonical_json(entries)), len(entries)


def _rough_text(raw: bytes) -> str:
    """Enough of the text to look for a key, whatever its encoding."""
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return raw.decode("utf-16", "replace")
    return raw.decode("utf-8", "replace").removeprefix("\ufeff")


class _Shell(CaseFileHead):
    """A case file whose cases are not looked into."""

    cases: list[Any] = Field(min_length=1)


def _load(document: Document, sha256: str) -> LoadedFile:
    shell, problems = check(document, _Shell)
    entries = document.data["cases"]
    if not isinstance(entries, list):
        raise FileErrors(problems)
    defaults = shell.defaults if shell else CaseDefaults()
    suite = (shell and shell.suite) or document.path.stem
    if not _SUITE.match(suite):
        problems.append(
            document.error(
                ("suite",),
                f"the file's name would make the suite {suite!r}; add a key suite that"
                " has only letters, digits, '.', '_' and '-'",
            )
        )
    cases: list[LoadedCase] = []
    first_index: dict[str, int] = {}
    for index in range(len(entries)):
        at: KeyPath = ("cases", index)
        case, found = check(document, Case, at=at)
        problems += found
        if case is None:
            continue
        problems += [
            document.error((*at, *path), message) for path, message in _broken(case)
        ]
        first = first_index.setdefault(case.id, index)
        if first != index:
            line = document.position(("cases", first, "id")).line
            problems.append(
                document.error(
                    (*at, "id"),
                    f"the id {case.id!r} is used a second time; the first is on line"
                    f" {line}",
                )
            )
        cases.append(_loaded(_with_defaults(case, defaults), document, index))
    if problems:
        problems.sort(key=lambda p: (p.position.line, p.position.column))
        raise FileErrors(problems)
    return LoadedFile(
        document.path,
        suite,
        shell.warehouse if shell else None,
        tuple(cases),
        sha256,
    )


def _loaded(case: Case, document: Document, index: int) -> LoadedCase:
    said = case.model_dump(by_alias=True, exclude_defaults=True, exclude={"why"})
    return LoadedCase(
        case,
        document.position(("cases", index)).line,
        sha256_text(case.question),
        sha256_text(canonical_json(encode_cell(said))),
    )


def _with_defaults(case: Case, defaults: CaseDefaults) -> Case:
    """The file's defaults under what the case says itself.

    Tags are added to; a tolerance is merged key by key, its columns too.
    """
    update: dict[str, Any] = {}
    for key in defaults.model_fields_set - {"tags", "tolerance", "dialect"}:
        value = getattr(defaults, key)
        if key not in case.model_fields_set and value is not None:
            update[key] = value
    if defaults.tags:
        update["tags"] = list(dict.fromkeys([*defaults.tags, *case.tags]))
    if defaults.tolerance is not None:
        update["tolerance"] = _merged(defaults.tolerance, case.tolerance)
    reference = case.reference
    if (
        defaults.dialect is not None
        and reference is not None
        and reference.sql is not None
        and reference.dialect is None
    ):
        update["reference"] = reference.model_copy(update={"dialect": defaults.dialect})
    return case.model_copy(update=update) if update else case


def _merged(under: Tolerance, over: Tolerance) -> Tolerance:
    lower = under.model_dump(exclude_unset=True)
    upper = over.model_dump(exclude_unset=True)
    columns = dict(lower.pop("columns", {}))
    for name, exception in upper.pop("columns", {}).items():
        columns[name] = {**columns.get(name, {}), **exception}
    return Tolerance.model_validate({**lower, **upper, "columns": columns})


def _broken(case: Case) -> Iterator[tuple[KeyPath, str]]:
    """The rules between keys that this case breaks."""
    if case.expect == "answer" and case.reference is None:
        yield (
            ("reference",),
            "a case that expects an answer needs a reference; add reference: {sql:"
            " ...}, or say expect: abstain or expect: block",
        )
    if case.expect == "abstain" and not case.gap:
        yield (
            ("gap",),
            "a case that expects abstention names what is missing; add gap: [...]"
            " with the words that an honest abstention uses",
        )
    if case.gap and case.expect != "abstain":
        yield (
            ("gap",),
            f"gap belongs to expect: abstain, and this case expects {case.expect};"
            " delete gap or change expect",
        )
    yield from _broken_reference(case.reference)
    wordings = [case.question, *(wording.text for wording in case.wordings)]
    first_number: dict[str, int] = {}
    for number, text in enumerate(wordings, start=1):
        first = first_number.setdefault(" ".join(text.split()).casefold(), number)
        if first != number:
            yield (
                ("wordings", number - 2, "text"),
                f"wording {number} says the same as wording {first}"
                f"{' (the question)' if first == 1 else ''}; delete one",
            )


def _broken_reference(reference: Reference | None) -> Iterator[tuple[KeyPath, str]]:
    if reference is None:
        return
    if reference.python is not None and not _PYTHON_REFERENCE.match(reference.python):
        yield (
            ("reference", "python"),
            f"expected file.py:function, found {reference.python!r}",
        )
    if reference.sql is None and reference.dialect is not None:
        yield ("reference", "dialect"), "dialect belongs to sql; delete it"
