"""Reference results, each computed once a run by whichever process comes first."""

from __future__ import annotations

import dataclasses
import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_dataeval.errors import HarnessBroken, StatementFailed
from pytest_dataeval.records import ResultSet, canonical_json, sha256_text
from pytest_dataeval.warehouse.results import result_sha256


@dataclass(frozen=True, slots=True)
class ReferenceKey:
    """What a reference result depends on.

    `snapshot` names the state of the data, `persona` whose rights it was read
    with (None: the owner's), `name` which of the case's statements it is.
    """

    suite: str
    case: str
    revision: int
    snapshot: str = ""
    persona: str | None = None
    name: str = "reference"


@dataclass(frozen=True, slots=True)
class Reference:
    """What a reference gave: a result with its hash, or the statement's failure.

    `fresh` is true once a run, for the caller that computed it; `ms` is how long
    that took.
    """

    result: ResultSet | None
    error: StatementFailed | None
    sha256: str | None
    fresh: bool
    ms: float


class ReferenceStore:
    """References of one run, shared by its threads.

    Processes share them in `folder`; None keeps them in this one process.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._memo: dict[ReferenceKey, Reference] = {}
        self._lock = threading.RLock()

    def get(self, key: ReferenceKey, compute: Callable[[], ResultSet]) -> Reference:
        """The reference `key`; `compute` is called if nobody has yet.

        A StatementFailed is kept like a result, but not one of kind `broken`:
        that is raised as HarnessBroken, like a folder that cannot be written.
        """
        known = self._memo.get(key)
        if known is not None:
            return known
        with self._lock:
            if key in self._memo:
                return self._memo[key]
            if self.folder is None:
                found = _computed(key, compute)
            else:
                found = self._shared(self.folder, key, compute)
            self._memo[key] = dataclasses.replace(found, fresh=False)
            return found

    def _shared(
        self, folder: Path, key: ReferenceKey, compute: Callable[[], ResultSet]
    ) -> Reference:
        import filelock

        name = sha256_text(canonical_json(dataclasses.asdict(key)))[:32]
        path = folder / f"{name}.json"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with filelock.FileLock(folder / f"{name}.lock"):
                if path.exists():
                    return _from_json(json.loads(path.read_bytes()))
                found = _computed(key, compute)
                _write(path, _to_json(found))
                return found
        except OSError as error:
            raise HarnessBroken(
                "references_unwritable",
                str(folder),
                f"reference results cannot be kept there: {error.strerror or error}.",
                "Make the folder writable or free space on its disk.",
            ) from error


def _computed(key: ReferenceKey, compute: Callable[[], ResultSet]) -> Reference:
    started = time.perf_counter()
    try:
        result = compute()
    except StatementFailed as error:
        if error.kind == "broken":
            raise HarnessBroken(
                "warehouse_unreachable",
                f"{key.name} of case {key.case} (suite {key.suite})",
                f"the warehouse cannot be reached: {error.message}.",
                "Check that it is up, then resume the run.",
            ) from error
        return Reference(None, error, None, True, _ms_since(started))
    ms = _ms_since(started)
    return Reference(result, None, result_sha256(result), True, ms)


def _ms_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)


def _write(path: Path, data: Mapping[str, Any]) -> None:
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_bytes(json.dumps(data).encode())
    temporary.replace(path)


def _to_json(reference: Reference) -> dict[str, Any]:
    error = reference.error
    return {
        "result": None if reference.result is None else reference.result.to_json(),
        "error": None if error is None else [error.kind, error.message],
        "sha256": reference.sha256,
        "ms": reference.ms,
    }


def _from_json(data: Mapping[str, Any]) -> Reference:
    return Reference(
        None if data["result"] is None else ResultSet.from_json(data["result"]),
        None if data["error"] is None else StatementFailed(*data["error"]),
        data["sha256"],
        False,
        data["ms"],
    )
