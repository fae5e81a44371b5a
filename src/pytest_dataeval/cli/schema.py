"""`pytest-dataeval schema`: the JSON Schemas of the files that people write."""

from __future__ import annotations

import sys
from pathlib import Path

from pytest_dataeval.cases.schema import case_file_schema
from pytest_dataeval.cli.status import FINE
from pytest_dataeval.config import config_schema
from pytest_dataeval.errors import UsageError
from pytest_dataeval.schemadoc import schema_text

SCHEMAS = {"cases": case_file_schema, "dataeval": config_schema}


def schema(name: str | None, folder: Path | None) -> int:
    """Print the schema `name`, or both as one object; or write them to `folder`.

    Files are called `<name>.schema.json`. Raises UsageError if one cannot be
    written.
    """
    wanted = {key: make() for key, make in SCHEMAS.items() if name in (None, key)}
    if folder is None:
        sys.stdout.write(schema_text(wanted if name is None else wanted[name]))
        return FINE
    for key, document in wanted.items():
        path = folder / f"{key}.schema.json"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(schema_text(document), encoding="utf-8")
        except OSError as error:
            raise UsageError(
                f"{path} cannot be written: {error.strerror or error}; "
                "give --output a folder that can"
            ) from error
        print(path)
    return FINE
