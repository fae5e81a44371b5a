"""Case files of a project, each read once a process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dataeval.errors import FileError, FileErrors

if TYPE_CHECKING:
    from pytest_dataeval.agents.replay import Answers
    from pytest_dataeval.cases.load import LoadedFile
    from pytest_dataeval.config import Settings

SUFFIXES = (".yaml", ".yml")


class Suites:
    """Finds and loads case files below the configured folders."""

    def __init__(self, settings: Settings) -> None:
        self.folders = [folder.resolve() for folder in settings.case_folders()]
        self._loaded: dict[Path, LoadedFile | None] = {}
        self._broken: dict[Path, FileError | FileErrors] = {}

    def is_candidate(self, path: Path) -> bool:
        """Whether `path` is a YAML file below a case folder."""
        return path.suffix in SUFFIXES and any(
            path.is_relative_to(folder) for folder in self.folders
        )

    def load(self, path: Path) -> LoadedFile | None:
        """The case file at `path`; None if it is another YAML file.

        Raises FileError or FileErrors, the same each time; also when an id of
        its suite stands in a file that was loaded before.
        """
        if path in self._broken:
            raise self._broken[path]
        if path not in self._loaded:
            from pytest_dataeval.cases.load import check_unique, load_case_file

            try:
                loaded = load_case_file(path)
                if loaded is not None:
                    earlier = [file for file in self._loaded.values() if file]
                    if twice := check_unique([*earlier, loaded]):
                        raise FileErrors(twice)
            except (FileError, FileErrors) as error:
                self._broken[path] = error
                raise
            self._loaded[path] = loaded
        return self._loaded[path]

    def _paths(self) -> Iterator[Path]:
        for folder in self.folders:
            found = (path for path in folder.rglob("*") if path.suffix in SUFFIXES)
            yield from sorted(found)

    def all(self) -> list[LoadedFile]:
        """Every case file that can be read; pytest reports the others."""
        return self._readable(list(self._paths()))

    def named_by(self, arguments: Sequence[str], base: Path) -> list[LoadedFile]:
        """The readable case files that the command line's paths take in."""
        return self._readable(self.paths_named_by(arguments, base))

    def paths_named_by(self, arguments: Sequence[str], base: Path) -> list[Path]:
        """Candidates that are, or lie below, one of `arguments`.

        These count from `base` and may be node ids, whose `::...` is left out.
        """
        named = [(base / argument.split("::")[0]).resolve() for argument in arguments]
        return [
            path
            for path in self._paths()
            if any(path == name or path.is_relative_to(name) for name in named)
        ]

    def _readable(self, paths: list[Path]) -> list[LoadedFile]:
        found = []
        for path in paths:
            try:
                loaded = self.load(path)
            except (FileError, FileErrors):
                continue
            if loaded is not None:
                found.append(loaded)
        return found

    def answers(self, path: Path | None) -> Answers | None:
        """The recorded answers at `path`, checked against all suites."""
        if path is None:
            return None
        from pytest_dataeval.agents.replay import Answers

        known: dict[str, set[str]] = {}
        for file in self.all():
            known.setdefault(file.suite, set()).update(
                loaded.case.id for loaded in file.cases
            )
        return Answers.load(path, known)
