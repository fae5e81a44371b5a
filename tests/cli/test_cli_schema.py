"""`pytest-dataeval schema`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PUBLISHED = Path(__file__).parents[2] / "docs" / "schemas"

Program = Callable[..., Any]


@pytest.mark.parametrize("name", ["cases", "dataeval"])
def test_one_schema_is_the_published_file(program: Program, name: str) -> None:
    ended = program("schema", name)
    assert ended.status == 0
    assert ended.out == (PUBLISHED / f"{name}.schema.json").read_text(encoding="utf-8")


def test_both_stand_under_their_names_in_one_document(program: Program) -> None:
    ended = program("schema")
    assert ended.status == 0
    both = json.loads(ended.out)
    assert list(both) == ["cases", "dataeval"]
    for name, schema in both.items():
        assert schema["$id"] == f"urn:pytest-dataeval:schema:{name}"


def test_files_in_a_folder(program: Program, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "schemas"
    ended = program("schema", "--output", str(folder))
    assert ended.status == 0
    names = ["cases.schema.json", "dataeval.schema.json"]
    assert ended.out.splitlines() == [str(folder / name) for name in names]
    for name in names:
        assert (folder / name).read_bytes() == (PUBLISHED / name).read_bytes()


def test_one_file_in_a_folder(program: Program, tmp_path: Path) -> None:
    assert program("schema", "cases", "--output", str(tmp_path)).status == 0
    assert [path.name for path in tmp_path.iterdir()] == ["cases.schema.json"]


def test_a_folder_that_cannot_be_made(program: Program, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ended = program("schema", "--output", str(tmp_path / "file" / "below"))
    assert ended.status == 4
    assert "cannot be written" in ended.err
