"""References that are not SQL: Python functions and fixed values."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from pytest_dataeval.errors import DataevalError, StatementFailed
from pytest_dataeval.records import Column, ResultSet


@dataclass(frozen=True, slots=True)
class Facade:
    """What a reference function is called with: the warehouse, for reading."""

    run: Callable[[str], ResultSet]


def run_python_reference(
    spec: str, *, base: Path, run: Callable[[str], ResultSet]
) -> ResultSet:
    """Call `file.py:function` (relative to `base`) with a `Facade` over `run`.

    The function returns a ResultSet, a list of mappings, a list of scalars or
    one scalar. Raises StatementFailed: `invalid` for trouble in the file, the
    statement's own kind where `run` failed.
    """
    file, colon, name = spec.rpartition(":")
    if not colon or not file.endswith(".py") or not name.isidentifier():
        raise StatementFailed(
            "invalid", f"reference.python: {spec!r} is not of the form file.py:function"
        )
    path = (base / file).resolve()
    try:
        function = getattr(_module(path), name, None)
    except Exception as error:
        raise StatementFailed("invalid", f"{path}: {_told(error)}") from error
    if not callable(function):
        raise StatementFailed("invalid", f"{path} has no function {name!r}")
    try:
        value = function(Facade(run))
    except DataevalError:
        raise
    except Exception as error:
        raise StatementFailed("invalid", f"{spec} raised {_told(error)}") from error
    if isinstance(value, ResultSet):
        return value
    try:
        return fixed_values(value if isinstance(value, list) else [value])
    except StatementFailed as error:
        raise StatementFailed("invalid", f"{spec} returned {error.message}") from error


def fixed_values(value: Sequence[Any]) -> ResultSet:
    """Rows written down: mappings with the same keys, or scalars.

    Scalars become rows of one column named `value`. Raises StatementFailed
    `invalid` where the items are of another shape.
    """
    if not value:
        return ResultSet((), ())
    first = value[0]
    if isinstance(first, Mapping):
        names = [str(key) for key in first]
        for number, item in enumerate(value, start=1):
            if not isinstance(item, Mapping) or set(map(str, item)) != set(names):
                raise StatementFailed(
                    "invalid",
                    f"rows of different shapes: row {number} does not have the keys "
                    + ", ".join(names),
                )
        rows = tuple(
            tuple({str(k): v for k, v in item.items()}[name] for name in names)
            for item in value
        )
        return ResultSet(tuple(Column(name) for name in names), rows)
    for number, item in enumerate(value, start=1):
        if item is None or isinstance(item, Mapping | list | tuple | set):
            raise StatementFailed(
                "invalid",
                f"{type(item).__name__} as row {number}: give mappings or scalars",
            )
    return ResultSet((Column("value"),), tuple((item,) for item in value))


@functools.cache
def _module(path: Path) -> ModuleType:
    """The file as a module, executed once a process."""
    digest = hashlib.sha256(str(path).encode()).hexdigest()[:12]
    name = f"_dataeval_reference_{path.stem}_{digest}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and pickles of the module's own classes look it up by name.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")
