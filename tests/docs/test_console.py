"""Commands that the pages show have options that exist; links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from pages import DOCS, PAGES, blocks, read

_LONG = re.compile(r"(?<![\w-])--[a-z][a-z-]+")

COMMANDS = [
    (block.id, line.removeprefix("$ ").partition("  #")[0])
    for block in blocks("console")
    for line in block.text.splitlines()
    if line.startswith("$ ") and not line.startswith("$ export")
]


@cache
def known_options(program: str) -> frozenset[str]:
    done = subprocess.run(
        [sys.executable, "-m", *program.split(), "--help"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=Path(__file__).parent,
    )
    return frozenset(_LONG.findall(done.stdout))


def program_of(command: str) -> str:
    words = command.split()
    if words[:2] == ["python", "-m"]:
        return words[2]
    assert words[0] in ("pytest", "pytest-dataeval"), command
    return "pytest" if words[0] == "pytest" else f"pytest_dataeval {words[1]}"


@pytest.mark.parametrize("command", [c for _, c in COMMANDS])
def test_a_commands_options_exist(command: str) -> None:
    given = set(_LONG.findall(command))
    assert given <= known_options(program_of(command))


def anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-")
        for head in heads
    }


@pytest.mark.parametrize("page", PAGES)
def test_the_links_of_a_page_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", read(page)):
        name, _, anchor = target.partition("#")
        path = DOCS / name if name else DOCS / f"{page}.md"
        assert path.is_file(), target
        assert not anchor or anchor in anchors(path), target
