"""Who a tool call is made as: roles, and columns that stay withheld."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_dataeval.config import PersonaConfig


PERSONA_VARIABLE = "DATAEVAL_PERSONA"
"""Where a server over stdio finds who asks."""


@dataclass(frozen=True, slots=True)
class Persona:
    """A caller. `withheld` holds lower-cased `schema.table.column` names.

    A persona without roles may log in nowhere: every tool refuses it.
    """

    name: str
    roles: tuple[str, ...] = ()
    withheld: frozenset[str] = frozenset()

    @classmethod
    def from_config(cls, name: str, config: PersonaConfig) -> Persona:
        """The persona `name` as dataeval.yaml describes it."""
        withheld = frozenset(column.lower() for column in config.withheld)
        return cls(name, tuple(config.roles), withheld)

    def withheld_of(self, table: str) -> frozenset[str]:
        """Names of the columns of `schema.table` that this caller may not see."""
        prefix = table.lower() + "."
        return frozenset(
            column[len(prefix) :]
            for column in self.withheld
            if column.startswith(prefix) and "." not in column[len(prefix) :]
        )


OWNER = Persona("owner", ("owner",))
"""Who asks where a project configures no personas: nothing is withheld."""


def persona_of(name: str | None, personas: Mapping[str, PersonaConfig]) -> Persona:
    """The caller for a case's persona.

    In a project with personas an unknown name gets no role, never all rights.
    """
    if name is not None and name in personas:
        return Persona.from_config(name, personas[name])
    if personas:
        return Persona(name or "nobody")
    return OWNER if name is None else Persona(name, OWNER.roles)
