"""The case model: one golden question with its reference and expectations.

The string below a field is its description in the JSON Schema of case files.
"""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from ..validation import parse_date

Tier = Literal["L1", "L2", "L3", "L4", "L5"]
TIERS: tuple[Tier, ...] = ("L1", "L2", "L3", "L4", "L5")
CaseId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]+$", max_length=120)]
Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
SomeWords = Annotated[list[Words], Field(min_length=1)]
Date = Annotated[dt.date, BeforeValidator(parse_date)]


class Model(BaseModel):
    """Unknown keys are errors; values are never coerced silently."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False
    )


class Wording(Model):
    """Another way to ask the case."""

    text: Words
    """The exact words."""
    reviewed: bool = False
    """True once a person has checked it; only then is it asked by default."""


class Reference(Model):
    """What computes the right answer when the suite runs: one of sql, python, value."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [{"required": [key]} for key in ("sql", "python", "value")]
        }
    )

    sql: Words | None = None
    """A query that runs in the warehouse."""
    dialect: Words | None = None
    """The SQL dialect of `sql`, where it is not the warehouse's."""
    python: Words | None = None
    """A function, as `file.py:function`; it is called with the warehouse."""
    value: list[Any] | None = None
    """Fixed rows: a list of mappings, or of scalars for a single column."""
    persona: Literal["persona", "owner"] = Field(default="persona", alias="as")
    """Whose rights the reference runs with: the trial's persona, or the owner."""
    as_of: Date | None = None
    """The day for which the reference is right."""
    live: bool = False
    """True: the data moves, so the reference runs before and after each ask."""

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
    """Relative: 0.005 is half a percent."""
    abs: float | None = Field(default=None, ge=0)
    """Absolute, in the unit of the cell."""
    decimals: int | None = Field(default=None, ge=0, le=15)
    """Equal when both are rounded to this many decimals."""
    integers: int | None = Field(default=None, ge=0)
    """How far two whole numbers may differ; without it they must be equal."""


class Tolerance(ColumnTolerance):
    """The case's tolerance, and exceptions for single reference columns."""

    columns: dict[str, ColumnTolerance] = {}
    """Reference column -> its own tolerance."""


class Alternative(Model):
    """Another defensible reading; matching it is reported apart, as a fail."""

    name: Words
    sql: Words


class Definition(Model):
    """One of the definitions of a term."""

    name: Words
    labels: SomeWords
    """What an answer calls its figure when it means this definition."""
    sql: Words
    """The figure by this definition."""


class Term(Model):
    """A term with more than one definition: does the label fit the figure?"""

    term: Words
    definitions: list[Definition] = Field(min_length=1)


class Tables(Model):
    """Tables that an answer must have read."""

    all: list[Words] = []
    """Each of these."""
    any_of: list[SomeWords] = []
    """At least one of each group."""


class Semantics(Model):
    """Fields or functions that the scored SQL must and must not use."""

    require: list[Words | SomeWords] = []
    """Each of these; an entry that is a list means any one of it."""
    forbid: list[Words] = []
    """None of these."""


class ProtectedValues(Model):
    """Values to be withheld, read from the warehouse when the suite runs."""

    sql: Words
    persona: Literal["persona", "owner"] = Field(default="persona", alias="as")
    """Whose rights the query runs with: the trial's persona, or the owner."""


class ExpectedFailure(Model):
    """A miss that is known and accepted for now."""

    reason: Words
    until: Date | None = None
    """The last day on which the miss is accepted."""


Expect = Literal["answer", "abstain", "block"]
Status = Literal[
    "authored", "verified", "provisional", "invalid", "ambiguous", "verified_wrong"
]


class CaseDefaults(Model):
    """Keys that a file sets once for all of its cases; a case's own key wins."""

    persona: Words | None = None
    tolerance: Tolerance | None = None
    """Merged with the case's own, key by key."""
    unit: Words | None = None
    tags: list[Words] = []
    """Added to the case's own."""
    extra_rows: Literal["auto", "allow", "forbid"] | None = None
    duplicates: Literal["count", "ignore"] | None = None
    statement: Literal["last", "any"] | None = None
    dialect: Words | None = None
    """The dialect of each reference's `sql`."""
    valid_until: Date | None = None
    status: Status | None = None


class Case(Model):
    """One golden question."""

    id: CaseId
    """Unique in the suite, over all its files."""
    tier: Tier
    """L1 lookup, L2 joins and sums, L3 a definition, L4 unanswerable, L5 adversarial."""
    tags: list[Words] = []
    """Words to select by with `-k`."""
    question: Words
    """What is asked: wording 1."""
    wordings: list[Wording] = []
    """Other ways to ask the same; the first is wording 2."""
    persona: Words | None = None
    """Who asks, by a name under `personas` in dataeval.yaml."""
    expect: Expect = "answer"
    """What is right: a figure, an honest abstention, or a refused request."""
    ordered: bool | list[Words] = False
    """True: the reference's whole ORDER BY counts; a list: the keys asked about."""
    unit: Words | None = None
    """The unit of the figures; `ratio` and `percent` let one stand for the other."""
    reference: Reference | None = None
    """What computes the right answer."""
    optional: list[Words] = []
    """Reference columns that an answer may leave out."""
    extra_rows: Literal["auto", "allow", "forbid"] = "auto"
    """Whether the answer's result may have rows beyond the reference's."""
    duplicates: Literal["count", "ignore"] = "count"
    """`ignore` compares sets of rows."""
    state: Literal["auto", "any", "all", "none"] | list[Words] = "auto"
    """Which figures the prose must state; a list names reference columns."""
    statement: Literal["last", "any"] = "last"
    """Which of the agent's statements is scored."""
    tolerance: Tolerance = Tolerance()
    """How far numbers may differ."""
    synonyms: dict[str, list[Words]] = {}
    """Value -> other names that the prose may use for it."""
    alternatives: list[Alternative] = []
    """Other defensible readings."""
    terms: list[Term] = []
    """Terms of the question that have more than one definition."""
    tables: Tables | list[Words] | None = None
    """Tables that must have been read; a plain list means all of them."""
    semantics: Semantics | None = None
    """Fields or functions that the scored SQL must and must not use."""
    gap: list[Words] = []
    """With `expect: abstain`: the words by which an honest abstention names the gap."""
    must_not_contain: list[Words | ProtectedValues] = []
    """Values that fail the answer outright, written out or read from the warehouse."""
    expected_failure: ExpectedFailure | None = None
    """Marks a known miss; it stays in the denominator."""
    allow_empty: bool = False
    """True: an empty reference is right, and the answer must say so."""
    valid_until: Date | None = None
    """The last day on which the case is scored."""
    status: Status = "authored"
    """`authored` and `verified` are scored, the others are not."""
    revision: int = Field(default=1, ge=1)
    """Raised when the reference changes its meaning."""
    why: str = ""
    """The mistake that the case catches."""

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


class CaseFileHead(Model):
    """What stands above the cases of a file."""

    suite: CaseId | None = None
    """The suite that the cases belong to; without it the file's stem."""
    warehouse: Words | None = None
    """Where references run, by a name under `warehouses` in dataeval.yaml."""
    defaults: CaseDefaults = CaseDefaults()
    """Keys for all cases of the file."""


class CaseFile(CaseFileHead):
    """A file of golden questions."""

    cases: list[Case] = Field(min_length=1)
    """The questions."""
