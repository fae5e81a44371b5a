"""The case model: one golden question with its reference and expectations."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

Tier = Literal["L1", "L2", "L3", "L4", "L5"]
TIERS: tuple[Tier, ...] = ("L1", "L2", "L3", "L4", "L5")
CaseId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]+$", max_length=120)]
Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Model(BaseModel):
    """Unknown keys are errors; values are never coerced silently."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Wording(Model):
    """Another way to ask the case; only reviewed ones are asked by default."""

    text: Words
    reviewed: bool = False


class Reference(Model):
    """What computes the right answer when the suite runs: exactly one source.

    `sql` runs in the warehouse; `python` is `file.py:function`, called with the
    warehouse; `value` holds fixed rows (a list of mappings, or scalars).
    """

    sql: Words | None = None
    dialect: Words | None = None
    python: Words | None = None
    value: list[Any] | None = None
    persona: Words | None = Field(default=None, alias="as")
    as_of: dt.date | None = None
    live: bool = False

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = [k for k in ("sql", "python", "value") if getattr(self, k) is not None]
        if len(given) != 1:
            raise ValueError(
                "give exactly one of sql, python or value"
                + (f", not {' and '.join(given)}" if given else "")
            )
        return self


class ColumnTolerance(Model):
    """How far a numeric cell may lie from the reference."""

    rel: float | None = Field(default=None, ge=0, lt=1)
    abs: float | None = Field(default=None, ge=0)
    decimals: int | None = Field(default=None, ge=0, le=15)
    integers: int | None = Field(default=None, ge=0)


class Tolerance(ColumnTolerance):
    """The case's tolerance, and exceptions per reference column."""

    columns: dict[str, ColumnTolerance] = {}


class Alternative(Model):
    """Another defensible reading; matching it is reported apart, as a fail."""

    name: Words
    sql: Words


class Definition(Model):
    name: Words
    labels: list[Words]
    sql: Words


class Term(Model):
    """A term with more than one definition, for label mismatch."""

    term: Words
    definitions: list[Definition] = Field(min_length=1)


class Tables(Model):
    """Tables that an answer must have read: all of `all`, one of each `any_of`."""

    all: list[Words] = []
    any_of: list[list[Words]] = []


class Semantics(Model):
    """Fields or functions that the scored SQL must and must not use.

    An entry of `require` that is a list means: any one of them.
    """

    require: list[Words | list[Words]] = []
    forbid: list[Words] = []


class ProtectedValues(Model):
    """Values to be withheld, read from the warehouse when the suite runs."""

    sql: Words
    persona: Words | None = Field(default=None, alias="as")


class ExpectedFailure(Model):
    reason: Words
    until: dt.date | None = None


Expect = Literal["answer", "abstain", "block"]
Status = Literal[
    "authored", "verified", "provisional", "invalid", "ambiguous", "verified_wrong"
]


class CaseDefaults(Model):
    """Keys that a file may set once for all of its cases."""

    persona: Words | None = None
    tolerance: Tolerance | None = None
    unit: Words | None = None
    tags: list[Words] = []
    extra_rows: Literal["auto", "allow", "forbid"] | None = None
    duplicates: Literal["count", "ignore"] | None = None
    statement: Literal["last", "any"] | None = None
    dialect: Words | None = None
    valid_until: dt.date | None = None
    status: Status | None = None


class Case(Model):
    """One golden question. `question` is wording 1."""

    id: CaseId
    tier: Tier
    tags: list[Words] = []
    question: Words
    wordings: list[Wording] = []
    persona: Words | None = None
    expect: Expect = "answer"
    ordered: bool | list[Words] = False
    unit: Words | None = None
    reference: Reference | None = None
    optional: list[Words] = []
    extra_rows: Literal["auto", "allow", "forbid"] = "auto"
    duplicates: Literal["count", "ignore"] = "count"
    state: Literal["auto", "any", "all", "none"] | list[Words] = "auto"
    statement: Literal["last", "any"] = "last"
    tolerance: Tolerance = Tolerance()
    synonyms: dict[str, list[Words]] = {}
    alternatives: list[Alternative] = []
    terms: list[Term] = []
    tables: Tables | list[Words] | None = None
    semantics: Semantics | None = None
    gap: list[Words] = []
    must_not_contain: list[Words | ProtectedValues] = []
    expected_failure: ExpectedFailure | None = None
    allow_empty: bool = False
    valid_until: dt.date | None = None
    status: Status = "authored"
    revision: int = Field(default=1, ge=1)
    why: str = ""

    def wording(self, number: int) -> str:
        """The exact text of wording `number` (1-based). Raises IndexError."""
        if number == 1:
            return self.question
        return self.wordings[number - 2].text

    @property
    def expected_tables(self) -> Tables | None:
        """`tables` in its full form: a plain list means all."""
        if isinstance(self.tables, list):
            return Tables(all=self.tables)
        return self.tables


class CaseFile(Model):
    """The top level of a case file."""

    suite: CaseId | None = None
    warehouse: Words | None = None
    defaults: CaseDefaults = CaseDefaults()
    cases: list[Case] = Field(min_length=1)
