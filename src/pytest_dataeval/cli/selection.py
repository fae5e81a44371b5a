"""Which cases of a project a command is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dataeval.errors import FileError, FileErrors, UsageError

if TYPE_CHECKING:
    from pytest_dataeval.cases.load import LoadedCase, LoadedFile
    from pytest_dataeval.engine.suites import Suites


@dataclass(frozen=True, slots=True)
class Chosen:
    """A case file, and those of its cases that were asked for."""

    file: LoadedFile
    cases: tuple[LoadedCase, ...]


@dataclass(frozen=True, slots=True)
class Selection:
    """Files with at least one chosen case, and what is wrong with other files."""

    chosen: tuple[Chosen, ...]
    problems: tuple[FileError, ...]


def project_folder(given: Path | None, base: Path) -> Path:
    """`given`, or the nearest folder with a dataeval.yaml at or above `base`.

    Raises UsageError where `given` is no folder. Without a dataeval.yaml anywhere
    it is `base`.
    """
    from pytest_dataeval.config import CONFIG_FILE

    if given is None:
        above = [base, *base.parents]
        return next((f for f in above if (f / CONFIG_FILE).is_file()), base)
    folder = base / given
    if not folder.is_dir():
        raise UsageError(f"--project {given}: there is no such folder")
    return folder.resolve()


def select(
    suites: Suites, arguments: Sequence[str], word: str | None, base: Path
) -> Selection:
    """The cases that `arguments` name and that hold `word`.

    An argument is a file, a folder or a node id, counted from `base`; without any,
    all cases are meant. Raises UsageError for one that takes in nothing.
    """
    paths = _paths(suites, arguments, base)
    named = _named_cases(arguments, base)
    chosen: list[Chosen] = []
    problems: list[FileError] = []
    for path in paths:
        try:
            file = suites.load(path)
        except FileErrors as error:
            problems += error.problems
            continue
        except FileError as error:
            problems.append(error)
            continue
        if file is None:
            continue
        cases = tuple(
            loaded
            for loaded in _of_ids(file, named.get(path))
            if word is None or _holds(loaded, word.casefold())
        )
        if cases:
            chosen.append(Chosen(file, cases))
    return Selection(tuple(chosen), tuple(problems))


def _paths(suites: Suites, arguments: Sequence[str], base: Path) -> list[Path]:
    if not arguments:
        return suites.paths_named_by([str(folder) for folder in suites.folders], base)
    for argument in arguments:
        name = argument.split("::")[0]
        if not (base / name).exists():
            raise UsageError(f"{name}: there is no such file or folder")
        if not suites.paths_named_by([name], base):
            folders = ", ".join(str(folder) for folder in suites.folders)
            raise UsageError(
                f"{name} takes in no YAML file below the case folders ({folders}); "
                "name one that is, or add its folder to cases in dataeval.yaml"
            )
    return suites.paths_named_by(arguments, base)


def _named_cases(arguments: Sequence[str], base: Path) -> dict[Path, list[str] | None]:
    """File -> ids of the cases that node ids name; None where the whole is named.

    Folders stand in it too, and so does a file below one of them.
    """
    named: dict[Path, list[str] | None] = {}
    whole = [(base / a).resolve() for a in arguments if "::" not in a]
    for argument in arguments:
        name, colons, rest = argument.partition("::")
        path = (base / name).resolve()
        if not colons or any(path.is_relative_to(folder) for folder in whole):
            named[path] = None
            continue
        ids = named.setdefault(path, [])
        if ids is not None:
            ids.append(rest.split("::")[0])
    return named


def _of_ids(file: LoadedFile, ids: Sequence[str] | None) -> Sequence[LoadedCase]:
    from pytest_dataeval.validation import nearest

    if ids is None:
        return file.cases
    known = [loaded.case.id for loaded in file.cases]
    for case_id in ids:
        if case_id not in known:
            raise UsageError(f"{file.path}: " + nearest("case", case_id, known))
    return [loaded for loaded in file.cases if loaded.case.id in ids]


def _holds(loaded: LoadedCase, word: str) -> bool:
    case = loaded.case
    return any(word in text.casefold() for text in (case.id, *case.tags))
