"""The JSON Schema of case files."""

from __future__ import annotations

from typing import Any

from ..schemadoc import schema_of
from .model import CaseFile


def case_file_schema() -> dict[str, Any]:
    """JSON Schema 2020-12 of a case file, for editors and other programs."""
    return schema_of(CaseFile, "cases", "pytest-dataeval case file")
