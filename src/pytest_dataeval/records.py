"""What crosses the borders between layers: plain, frozen, and JSON-ready.

Nothing here knows pytest, MCP or SQL engines, and nothing here holds a case:
a record can be written to the ledger and read back as the same value.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID

_LEAF = re.compile(
    r"^(?P<agent>[a-z0-9_-]+)\.w(?P<wording>[1-9]\d*)"
    r"\.(?P<arm>[a-z0-9_-]+)\.r(?P<repeat>[1-9]\d*)$"
)


@dataclass(frozen=True, slots=True, order=True)
class TrialKey:
    """Identity of one trial. `wording` and `repeat` are 1-based."""

    suite: str
    case: str
    wording: int
    agent: str
    arm: str
    repeat: int

    @property
    def leaf(self) -> str:
        """The last part of the node id, for example `gold.w1.catalog.r1`."""
        return f"{self.agent}.w{self.wording}.{self.arm}.r{self.repeat}"

    @classmethod
    def from_leaf(cls, suite: str, case: str, leaf: str) -> TrialKey:
        """Decode a leaf name. Raises ValueError if it is not one."""
        match = _LEAF.match(leaf)
        if match is None:
            raise ValueError(f"{leaf!r} is not of the form agent.wN.arm.rN")
        return cls(
            suite,
            case,
            int(match["wording"]),
            match["agent"],
            match["arm"],
            int(match["repeat"]),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "suite": self.suite,
            "case": self.case,
            "wording": self.wording,
            "agent": self.agent,
            "arm": self.arm,
            "repeat": self.repeat,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TrialKey:
        return cls(
            data["suite"],
            data["case"],
            data["wording"],
            data["agent"],
            data["arm"],
            data["repeat"],
        )


# --------------------------------------------------------------------- results


@dataclass(frozen=True, slots=True)
class Column:
    """One output column: its name as the engine gave it, and its SQL type."""

    name: str
    sql_type: str = ""


@dataclass(frozen=True, slots=True)
class ResultSet:
    """Rows of one statement, with Python values in the cells.

    Cells are None, bool, int, float, Decimal, str, bytes, date, time, datetime,
    timedelta, UUID, or a list, tuple or dict of these. `truncated` says that the
    row or byte limit cut the result: such a result is never compared as whole.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    truncated: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def to_json(self) -> dict[str, Any]:
        """A typed, lossless form: reading it back gives equal cells."""
        return {
            "columns": [[c.name, c.sql_type] for c in self.columns],
            "rows": [[encode_cell(cell) for cell in row] for row in self.rows],
            "truncated": self.truncated,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ResultSet:
        return cls(
            tuple(Column(name, sql_type) for name, sql_type in data["columns"]),
            tuple(tuple(decode_cell(cell) for cell in row) for row in data["rows"]),
            bool(data["truncated"]),
        )


def encode_cell(value: Any) -> Any:
    """JSON for one cell; types that JSON lacks become a one-key object."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else {"int": str(value)}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, dt.datetime):
        return {"timestamp": value.isoformat()}
    if isinstance(value, dt.date):
        return {"date": value.isoformat()}
    if isinstance(value, dt.time):
        return {"time": value.isoformat()}
    if isinstance(value, dt.timedelta):
        return {
            "interval": [value.days, value.seconds, value.microseconds],
        }
    if isinstance(value, bytes | bytearray | memoryview):
        return {"bytes": base64.b64encode(bytes(value)).decode("ascii")}
    if isinstance(value, UUID):
        return {"uuid": str(value)}
    if isinstance(value, list | tuple):
        return {"list": [encode_cell(item) for item in value]}
    if isinstance(value, Mapping):
        return {
            "struct": [[encode_cell(k), encode_cell(v)] for k, v in value.items()],
        }
    return {"text": str(value), "type": type(value).__name__}


def decode_cell(data: Any) -> Any:
    """The inverse of `encode_cell`; an unknown type comes back as its text."""
    if not isinstance(data, dict):
        return data
    (kind, value), *_ = data.items()
    match kind:
        case "int":
            return int(value)
        case "float":
            return float(value)
        case "decimal":
            return Decimal(value)
        case "timestamp":
            return dt.datetime.fromisoformat(value)
        case "date":
            return dt.date.fromisoformat(value)
        case "time":
            return dt.time.fromisoformat(value)
        case "interval":
            return dt.timedelta(value[0], value[1], value[2])
        case "bytes":
            return base64.b64decode(value)
        case "uuid":
            return UUID(value)
        case "list":
            return [decode_cell(item) for item in value]
        case "struct":
            return {decode_cell(k): decode_cell(v) for k, v in value}
        case _:
            return value


def sha256_text(text: str) -> str:
    """Hex SHA-256 of the UTF-8 form of `text`."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def canonical_json(data: Any) -> str:
    """One spelling per value: sorted keys, no spaces, no NaN."""
    return json.dumps(
        data,
        sort_keys=True,
        ensure_ascii=False,
        separators=(",", ":"),
        allow_nan=False,
    )


# --------------------------------------------------------------- tools, answers


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as offered to the agent: what its MCP server says about it."""

    server: str
    name: str
    description: str
    input_schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal by a guard or by grants, told apart from an error.

    `kind` is `guard` (the statement's form) or `access` (the caller's rights).
    """

    kind: str
    rule: str
    message: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool call gave back, after redaction: what the agent may see."""

    text: str
    is_error: bool = False
    structured: Mapping[str, Any] | None = None
    refusal: Refusal | None = None

    @property
    def payload(self) -> Mapping[str, Any]:
        """The structured content, else the text read as JSON, else empty."""
        if self.structured is not None:
            return self.structured
        try:
            data = json.loads(self.text)
        except (ValueError, RecursionError):
            return {}
        return data if isinstance(data, dict) else {}


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call as recorded on our side. `started` is Unix time, `ms` its length."""

    server: str
    name: str
    arguments: Mapping[str, Any]
    result: ToolResult
    started: float
    ms: float


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that the model's platform reported; None where it said nothing."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What an agent gives back for one question.

    Only `text` is needed. `sql` lists statements that the agent ran by means of
    its own; statements that went through our MCP servers are recorded by us and
    need not be named. `text=None` is an agent that gives only SQL.
    `stop_reason` is one of `end_turn`, `timeout`, `max_steps`, `max_tokens`,
    `refusal`, `error`, or a word of the agent's own.
    """

    text: str | None
    sql: Sequence[str] | None = None
    tables: Sequence[str] | None = None
    rewrite: str | None = None
    source: str | None = None
    stop_reason: str = "end_turn"
    usage: Usage | None = None
    cost: float | None = None
    hops: int | None = None
    served_revision: str | None = None
    transcript: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Statement:
    """One SQL statement of an attempt. `ok` is None where success is unknown."""

    sql: str
    ok: bool | None
    tables: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One ask, as the harness saw it: the answer and the host-side record."""

    text: str | None
    statements: tuple[Statement, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    stop_reason: str = "end_turn"
    error: str | None = None
    started: float = 0.0
    ms: float = 0.0
    hops: int | None = None
    usage: Usage | None = None
    cost: float | None = None
    rewrite: str | None = None
    source: str | None = None
    tables: tuple[str, ...] | None = None
    served_revision: str | None = None
    agent: str = ""
    catalog_had_definitions: bool = False

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        return tuple(
            call.result.refusal
            for call in self.tool_calls
            if call.result.refusal is not None
        )


@dataclass(frozen=True, slots=True)
class Score:
    """The instrument's judgement of one attempt. None means "does not apply"."""

    verdict: str
    outcome: str | None
    reason: str | None
    detail: str
    instrument: int
    reference_revision: int
    statement_index: int | None = None
    result_match: bool | None = None
    states_figure: bool | None = None
    execution: bool | None = None
    exact: bool | None = None
    headline: bool | None = None
    grounding: bool | None = None
    grounding_exact: bool | None = None
    semantics: bool | None = None
    behaviour: bool | None = None
    attribution: bool | None = None
    extra_rows: int | None = None
    stated_value: str | None = None
    stated_label: str | None = None
    no_value: bool | None = None
    no_data: bool | None = None
    matched_definition: str | None = None
    label_mismatch: bool | None = None
    reference_result: str | None = None
    answer_result: str | None = None
    pairing: tuple[tuple[str, str], ...] | None = None
    hits: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _SCORE_FIELDS}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Score:
        values = {k: v for k, v in data.items() if k in _SCORE_FIELDS}
        if values.get("pairing") is not None:
            values["pairing"] = tuple(tuple(pair) for pair in values["pairing"])
        values["hits"] = tuple(values.get("hits") or ())
        return cls(**values)


_SCORE_FIELDS = tuple(f.name for f in dataclasses.fields(Score))
