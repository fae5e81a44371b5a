"""The key tables of the pages have the keys and defaults that the files have."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pages import codes, tables
from pydantic import BaseModel

from pytest_dataeval import config
from pytest_dataeval.cases import model as cases
from pytest_dataeval.catalog import model as catalog

NEEDED, NONE = "needed", "–"

#: Models that no key of a file is read as: bases, and parts written in short form.
UNDOCUMENTED = {"Model", "CaseFileHead", "ColumnTolerance"}


def models(module: Any) -> dict[str, type[BaseModel]]:
    return {
        name: found
        for name, found in vars(module).items()
        if isinstance(found, type)
        and issubclass(found, BaseModel)
        and found.__module__ == module.__name__
        and name not in UNDOCUMENTED
    }


PAGES_MODELS = [
    (page, name, found)
    for page, module in (
        ("cases", cases),
        ("configuration", config),
        ("catalog", catalog),
    )
    for name, found in models(module).items()
]


def defaults(model: type[BaseModel]) -> dict[str, str]:
    """Key -> its default as a page shows it."""
    found = {}
    for name, field in model.model_fields.items():
        default = field.get_default(call_default_factory=True)
        if field.is_required():
            shown = NEEDED
        elif isinstance(default, BaseModel) or default in (None, [], {}, ""):
            shown = NONE
        elif isinstance(default, list):
            shown = f"`[{', '.join(default)}]`"
        elif isinstance(default, float) and default.is_integer():
            shown = f"`{int(default)}`"
        else:
            text = default if isinstance(default, str) else json.dumps(default)
            shown = f"`{text}`"
        found[field.alias or name] = shown
    return found


@pytest.mark.parametrize(
    ("page", "name", "model"), PAGES_MODELS, ids=[name for _, name, _ in PAGES_MODELS]
)
def test_a_table_has_every_key_with_its_default(
    page: str, name: str, model: type[BaseModel]
) -> None:
    shown: dict[str, str] = {}
    for table in tables("keys", (page,)):
        if table.mark == f"keys: {name}":
            for row in table.rows:
                for key in codes(row[0]):
                    assert key not in shown, f"{key} stands twice"
                    shown[key] = row[1]
    assert shown == defaults(model)


def test_no_table_is_of_a_model_that_is_gone() -> None:
    known = {f"keys: {name}" for _, name, _ in PAGES_MODELS}
    assert {table.mark for table in tables("keys")} <= known
