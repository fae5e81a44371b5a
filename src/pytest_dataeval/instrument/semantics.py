"""semantics: does the scored statement use what the definition asks for?"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_dataeval.cases.model import Semantics


@dataclass(frozen=True, slots=True)
class Judgement:
    """`hits` are the forbidden fields that occur, whether or not they veto."""

    holds: bool | None
    reason: str | None = None
    detail: str = ""
    hits: tuple[str, ...] = ()


def judge_semantics(
    wanted: Semantics, sql: str, dialect: str, paired: Set[int] | None
) -> Judgement:
    """Look for required and forbidden fields in the parsed statement.

    `paired` are the indexes of the output columns that carry the answer, None
    where that is not known: a forbidden field that reaches only the other ones
    is a hit, but no veto.
    """
    from pytest_dataeval.sql.fields import field_hits

    require = [[e] if isinstance(e, str) else list(e) for e in wanted.require]
    entries = list(dict.fromkeys([e for group in require for e in group]))
    found = field_hits(sql, dialect, entries)
    present = {*found.hits, *found.leaf_hits}
    unchecked = set(found.unchecked)
    hits = field_hits(sql, dialect, wanted.forbid)
    vetoes = [e for e in hits.hits if not _is_aside(e, sql, dialect, paired)]
    if vetoes:
        detail = f"It uses {', '.join(vetoes)}."
        return Judgement(False, "field_forbidden", detail, hits.hits)
    open_groups = [g for g in require if not present & set(g)]
    missing = [g for g in open_groups if not set(g) <= unchecked]
    if missing:
        detail = f"It lacks {', '.join(' or '.join(group) for group in missing)}."
        return Judgement(False, "field_missing", detail, hits.hits)
    is_checked = len(open_groups) < len(require) or len(hits.unchecked) < len(
        wanted.forbid
    )
    return Judgement(True if is_checked else None, hits=hits.hits)


def _is_aside(entry: str, sql: str, dialect: str, paired: Set[int] | None) -> bool:
    """Whether a field reaches nothing but columns that carry no answer."""
    from pytest_dataeval.sql.outputs import occurs, outputs

    if paired is None:
        return False
    found = outputs(sql, dialect)
    if found is None or any(column.name == "*" for column in found.columns):
        return False
    if occurs(entry, found.non_output):
        return False
    reaches = {i for i, c in enumerate(found.columns) if occurs(entry, c.fields)}
    return bool(reaches) and not reaches & paired
