"""What `verify` prints: pure functions from what was seen to lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dataeval.report.text import visible

if TYPE_CHECKING:
    from pytest_dataeval.cli.checks import Checked
    from pytest_dataeval.cli.selection import Chosen
    from pytest_dataeval.errors import FileError

#: How many of the slowest statements are named.
SLOWEST = 3


def shown(path: Path, base: Path) -> str:
    """The path as a person in `base` would type it."""
    return str(path.relative_to(base) if path.is_relative_to(base) else path)


def file_line(chosen: Chosen, base: Path) -> str:
    """The heading of a file's cases."""
    file = chosen.file
    warehouse = f"warehouse {file.warehouse}" if file.warehouse else "no warehouse"
    place = shown(file.path, base)
    return visible(f"{place}: suite {file.suite}, {warehouse}")


def case_lines(one: Checked, place: str) -> list[str]:
    """One line for the case, and one for each thing that is to be looked at.

    `place` is the path of its file.
    """
    found = [f"  {one.state:<8} {one.case:<40} {_measures(one)}".rstrip()]
    for word, remarks in (("finding", one.findings), ("warning", one.warnings)):
        for remark in remarks:
            text = f"{place}:{one.line}: {word}: {remark.key}: {remark.message}"
            found.append("    " + visible(text))
    return found


def _measures(one: Checked) -> str:
    if not one.statements:
        return "" if one.findings else "it holds no statement"
    first, *others = one.statements
    size = f"{first.rows} x {first.columns}"
    if first.key.startswith("must_not_contain"):
        size = "withheld"
    more = f"  and {len(others)} more" if others else ""
    return f"{size:>10} {first.ms:>9,.1f} ms{more}"


def closing_lines(
    checked: Sequence[Checked], not_verified: int, problems: Sequence[FileError]
) -> list[str]:
    """What took longest, what is not verified by a person, and the counts."""
    timed = [(m.ms, f"{one.case} {m.key}") for one in checked for m in one.statements]
    timed.sort(key=lambda entry: (-entry[0], entry[1]))
    found = []
    if len(timed) > SLOWEST:
        named = [f"{name} {ms:,.1f} ms" for ms, name in timed[:SLOWEST]]
        found.append(f"slowest: {', '.join(named)}")
    unverified = Counter(one.status for one in checked if one.status != "verified")
    if unverified:
        found.append(f"status other than verified: {_counts(unverified.items())}")
    states = Counter(one.state for one in checked)
    unreadable = len({problem.position.path for problem in problems})
    counted = [
        ("ok", states["ok"]),
        ("with findings", states["finding"]),
        ("with warnings", states["warning"]),
        ("without a statement", states["nothing"]),
        ("not verified", not_verified),
    ]
    total = len(checked) + not_verified
    line = f"{total} {'case' if total == 1 else 'cases'}"
    if total:
        line += ": " + _counts((name, count) for name, count in counted if count)
    if unreadable:
        files = "file" if unreadable == 1 else "files"
        line += f"; {unreadable} {files} that cannot be read"
    elif not any(one.statements or one.findings for one in checked):
        line += "; nothing was verified"
    return [*found, line]


def _counts(pairs: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{count} {name}" for name, count in pairs)
