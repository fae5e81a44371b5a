"""Labels: does what the answer calls its figure fit the definition it used?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_dataeval.instrument.evidence import Desk
from pytest_dataeval.instrument.prose import Prose
from pytest_dataeval.instrument.stated import Rule
from pytest_dataeval.records import ResultSet

if TYPE_CHECKING:
    from pytest_dataeval.cases.model import Case, Definition


@dataclass(frozen=True, slots=True)
class Labels:
    """`matched` is the definition whose value is stated, `label` the words used.

    `mismatch` is True where the words belong to another definition only.
    """

    label: str | None = None
    matched: str | None = None
    mismatch: bool | None = None


def judge_labels(case: Case, prose: Prose, desk: Desk) -> Labels:
    """Compare the headline figure's definition with the label beside it.

    Reported, never gating. Asks for each definition's value.
    """
    figure = prose.headline()
    if figure is None:
        return Labels()
    for number, term in enumerate(case.terms):
        matched: list[Definition] = []
        for index, definition in enumerate(term.definitions):
            key = f"definition:{number}:{index}"
            found = desk.run(key, definition.sql, "reference")
            if not isinstance(found, ResultSet) or not found.rows:
                continue
            if Rule(found, prose, case).states_any(figure):
                matched.append(definition)
        labels = {
            definition.name: label
            for definition in term.definitions
            for label in definition.labels
            if prose.mentions([label])
        }
        if not matched:
            continue
        label = next(iter(labels.values()), None)
        names = [definition.name for definition in matched]
        fitting = next((labels[name] for name in names if name in labels), None)
        return Labels(
            fitting or label,
            names[0],
            None if label is None else fitting is None,
        )
    return Labels()
