"""Writing the files of a run: whole or not at all, whatever the text holds."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytest_dataeval.errors import HarnessBroken


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn the system's refusal to write `path` into HarnessBroken."""
    try:
        yield
    except OSError as error:
        raise HarnessBroken(
            "ledger_unwritable",
            str(path),
            f"it cannot be written: {error.strerror or error}.",
            "Make the run folder writable or free space on its disk, then resume.",
        ) from error


def json_bytes(data: Any, *, indent: int | None = None) -> bytes:
    """JSON as UTF-8; half a surrogate pair, which UTF-8 lacks, as an escape.

    Raises HarnessBroken for values that JSON does not have.
    """
    try:
        text = json.dumps(data, ensure_ascii=False, indent=indent, allow_nan=False)
        try:
            return text.encode()
        except UnicodeEncodeError:
            return json.dumps(data, indent=indent, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise HarnessBroken(
            "ledger_unserialisable",
            "the ledger",
            f"a value has no form in JSON: {error}.",
            "This is a defect of the agent or of pytest-dataeval; please report it.",
        ) from error


def write_whole(path: Path, content: bytes) -> None:
    """Write by way of a temporary file, so that a reader never sees a part."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            temporary.write_bytes(content)
            temporary.replace(path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise


def write_new(folder: Path, relative: str, content: bytes) -> None:
    """Write a file that nobody reads before its name is told; twice is no harm."""
    path = f"{folder}/{relative}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    with writing(folder / relative):
        try:
            handle = os.open(path, flags, 0o644)
        except FileNotFoundError:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, flags, 0o644)
        try:
            written = 0
            while written < len(content):
                written += os.write(handle, content[written:])
        finally:
            os.close(handle)


def write_json(path: Path, data: Any) -> None:
    write_whole(path, json_bytes(data, indent=1) + b"\n")


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    """One JSON object a line."""
    write_whole(path, b"".join(json_bytes(row) + b"\n" for row in rows))
