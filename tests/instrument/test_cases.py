"""Each rule of scoring as a small case: the file beside this one, run in DuckDB."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from .conftest import Session, ask, case

GROUPS: dict[str, dict[str, dict[str, Any]]] = yaml.safe_load(
    Path(__file__).with_name("cases.yaml").read_text(encoding="utf-8")
)
ENTRIES = [
    pytest.param(entry, id=f"{group}-{name}")
    for group, entries in GROUPS.items()
    for name, entry in entries.items()
]


@pytest.mark.parametrize("entry", ENTRIES)
def test_case(session: Session, entry: dict[str, Any]) -> None:
    golden = case(reference={"sql": entry["reference"]}, **entry.get("case", {}))
    # Where nothing says that a statement succeeded, running it again decides.
    attempt = ask(entry.get("says"), *entry["ran"], ok=None)
    found = session.score(golden, attempt)
    got = {key: getattr(found, key) for key in entry["want"]}
    assert got == entry["want"], found.detail
