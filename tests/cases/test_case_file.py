"""Case files: defaults, rules between keys, places, and what identifies a case."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dataeval.cases.load import (
    LoadedFile,
    check_unique,
    load_case_file,
    question_set_sha,
)
from pytest_dataeval.cases.model import Case, ProtectedValues, Reference, Tolerance
from pytest_dataeval.cases.schema import case_file_schema
from pytest_dataeval.errors import FileErrors
from pytest_dataeval.schemadoc import schema_text

ROOT = Path(__file__).parents[2]
WHOLE = """\
suite: support
warehouse: support
cases:
  - id: L3-fastest-team
    tier: L3
    tags: [resolution-time]
    question: "Which support team resolves tickets fastest?"
    wordings: [{text: "Who closes tickets quickest?", reviewed: true}]
    persona: analyst
    expect: answer
    ordered: [n]
    unit: minutes
    reference: {sql: "select 1", dialect: duckdb, as: owner, as_of: 2026-01-31}
    optional: [avg_minutes]
    extra_rows: allow
    duplicates: ignore
    state: [avg_minutes]
    statement: any
    tolerance: {rel: 0.005, columns: {n: {integers: 1}}}
    synonyms: {MI: [Michigan]}
    alternatives: [{name: wall clock, sql: "select 2"}]
    terms:
      - term: resolution time
        definitions: [{name: resolution, labels: [resolution time], sql: "select 3"}]
    tables: {all: [support.tickets], any_of: [[support.agents, support.summary]]}
    semantics: {require: [resolution_minutes, [a, b]], forbid: [elapsed_minutes]}
    must_not_contain: ["jane@example.com", {sql: "select email", as: owner}]
    expected_failure: {reason: "known", until: 2027-01-31}
    allow_empty: false
    valid_until: 2026-12-31
    status: verified
    revision: 3
    why: "Averaging elapsed minutes ranks Billing last."
"""

Load = Callable[..., LoadedFile]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Loads a text as the file `support.yaml`."""

    def load(text: str, name: str = "support.yaml") -> LoadedFile:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        loaded = load_case_file(path)
        assert loaded is not None
        return loaded

    return load


def case_text(*lines: str, case_id: str = "L1-a") -> str:
    """One answer case with a reference, and more keys."""
    head = [f"- id: {case_id}", "tier: L1", "question: How many?"]
    keys = {line.split(":")[0] for line in lines}
    if "reference" not in keys and "expect" not in keys:
        head.append("reference: {sql: select 1}")
    return "\n    ".join(["  " + head[0], *head[1:], *lines]) + "\n"


def problems(load: Load, text: str) -> list[str]:
    with pytest.raises(FileErrors) as caught:
        load(text)
    return [
        f"{p.position.line}:{p.position.column}: {p.key}: {p.message}"
        for p in caught.value.problems
    ]


def test_every_key_is_read(load: Load) -> None:
    file = load(WHOLE)
    assert (file.suite, file.warehouse, len(file.cases)) == ("support", "support", 1)
    loaded = file.cases[0]
    case = loaded.case
    assert loaded.line == 4
    assert case.wording(1) == "Which support team resolves tickets fastest?"
    assert case.wording(2) == "Who closes tickets quickest?"
    assert case.reference == Reference.model_validate(
        {
            "sql": "select 1",
            "dialect": "duckdb",
            "as": "owner",
            "as_of": dt.date(2026, 1, 31),
        }
    )
    assert case.expected_tables is not None
    assert case.expected_tables.any_of == [["support.agents", "support.summary"]]
    assert case.semantics is not None
    assert case.semantics.require == ["resolution_minutes", ["a", "b"]]
    assert case.must_not_contain == [
        "jane@example.com",
        ProtectedValues.model_validate({"sql": "select email", "as": "owner"}),
    ]
    assert case.valid_until == dt.date(2026, 12, 31)


def test_hashes_are_those_of_the_bytes_and_of_the_question(load: Load) -> None:
    file = load("cases:\n" + case_text())
    # sha256sum of "How many?", and of the whole file.
    assert file.cases[0].question_sha == (
        "ba352e24c64c7137d1e4e1386b99b0eda7332e4e2d47863bbb213763d7ac6d27"
    )
    assert file.sha256 == (
        "adde23473977bf3d02f63e3cf069cbd62fbbbe2a2b5644fa098ed1b305ec717e"
    )


def test_the_suite_is_the_stem_of_the_file_unless_it_says_otherwise(
    load: Load,
) -> None:
    assert load("cases:\n" + case_text(), "desk.golden.yaml").suite == "desk.golden"
    assert load("suite: x\ncases:\n" + case_text(), "y.yaml").suite == "x"


def test_a_stem_that_makes_no_suite(load: Load) -> None:
    with pytest.raises(FileErrors) as caught:
        load("cases:\n" + case_text(), "my cases.yaml")
    assert caught.value.problems[0].message == (
        "the file's name would make the suite 'my cases'; add a key suite that has"
        " only letters, digits, '.', '_' and '-'"
    )


@pytest.mark.parametrize(
    "text", ["a: 1\n", "other: {cases: []}\n", "not: [yaml\n", "", "\t"]
)
def test_other_yaml_files_are_not_ours(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.yaml"
    path.write_text(text)
    assert load_case_file(path) is None


@pytest.mark.parametrize(
    "raw",
    [
        b"x: [1\ncases:\n  - id: a\n",
        b"\xef\xbb\xbfcases: []\n",
        "cases: []\n".encode("utf-16"),
        b'"cases": []\n',
        b"cases: \xff\n",
        b"cases:\n---\nb: 1\n",
    ],
)
def test_a_broken_case_file_is_an_error_not_another_file(
    tmp_path: Path, raw: bytes
) -> None:
    path = tmp_path / "broken.yaml"
    path.write_bytes(raw)
    with pytest.raises(FileErrors):
        load_case_file(path)


def test_defaults_stand_under_what_a_case_says(load: Load) -> None:
    first, second = (
        loaded.case
        for loaded in load(
            "defaults: {persona: alice, unit: minutes, tags: [desk], dialect: duckdb,"
            " status: verified, statement: any, valid_until: 2026-12-31}\ncases:\n"
            + case_text("tags: [own, desk]")
            + case_text(
                "persona: bob",
                "statement: last",
                "reference: {sql: select 1, dialect: postgres}",
                case_id="L1-b",
            )
        ).cases
    )
    assert (first.persona, first.unit, first.status) == ("alice", "minutes", "verified")
    assert first.tags == ["desk", "own"]
    assert first.statement == "any"
    assert first.valid_until == dt.date(2026, 12, 31)
    assert first.reference == Reference(sql="select 1", dialect="duckdb")
    assert (second.persona, second.statement) == ("bob", "last")
    assert second.tags == ["desk"]
    assert second.reference == Reference(sql="select 1", dialect="postgres")


def test_a_tolerance_is_merged_key_by_key(load: Load) -> None:
    file = load(
        "defaults: {tolerance: {rel: 0.01, abs: 2, columns: {n: {abs: 1, rel: 0.1}}}}\n"
        "cases:\n" + case_text("tolerance: {rel: 0.5, columns: {n: {rel: 0.2}, m: {}}}")
    )
    assert file.cases[0].case.tolerance == Tolerance.model_validate(
        {"rel": 0.5, "abs": 2, "columns": {"n": {"abs": 1, "rel": 0.2}, "m": {}}}
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            case_text("refrence: {sql: select 1}"),
            "6:5: cases[0] (L1-a).refrence: unknown key 'refrence'; did you mean"
            " 'reference'?",
        ),
        (
            "  - id: L1-a\n    tier: L1\n    question: ''\n"
            "    reference: {sql: select 1}\n",
            "4:5: cases[0] (L1-a).question: must not be empty",
        ),
        (
            "  - id: L1-a\n    tier: L1\n    question: ' '\n"
            "    reference: {sql: select 1}\n",
            "4:5: cases[0] (L1-a).question: must not be empty",
        ),
        (
            "  - id: L1 a\n    tier: L1\n    question: q\n"
            "    reference: {sql: select 1}\n",
            "2:5: cases[0] (L1 a).id: 'L1 a' does not fit ^[A-Za-z0-9._-]+$",
        ),
        (
            case_text("revision: two"),
            "6:5: cases[0] (L1-a).revision: expected a whole number, found the text"
            " 'two'",
        ),
        (
            case_text("status: verifed"),
            "6:5: cases[0] (L1-a).status: the text 'verifed' is not allowed; use"
            " authored, verified, provisional, invalid, ambiguous or verified_wrong;"
            " did you mean 'verified'?",
        ),
        (
            case_text("expect: answer"),
            "2:5: cases[0] (L1-a).reference: a case that expects an answer needs a"
            " reference; add reference: {sql: ...}, or say expect: abstain or expect:"
            " block",
        ),
        (
            case_text("expect: abstain"),
            "2:5: cases[0] (L1-a).gap: a case that expects abstention names what is"
            " missing; add gap: [...] with the words that an honest abstention uses",
        ),
        (
            case_text("expect: block", "gap: [x]"),
            "6:5: cases[0] (L1-a).gap: gap belongs to expect: abstain, and this case"
            " expects block; delete gap or change expect",
        ),
        (
            case_text("reference: {}"),
            "5:5: cases[0] (L1-a).reference: give exactly one of sql, python or value",
        ),
        (
            case_text("reference: {sql: a, value: [1]}"),
            "5:5: cases[0] (L1-a).reference: give exactly one of sql, python or value,"
            " not sql and value",
        ),
        (
            case_text("reference: {python: refs.fastest}"),
            "5:17: cases[0] (L1-a).reference.python: expected file.py:function, found"
            " 'refs.fastest'",
        ),
        (
            case_text("reference: {value: [1], dialect: duckdb}"),
            "5:29: cases[0] (L1-a).reference.dialect: dialect belongs to sql; delete"
            " it",
        ),
        (
            case_text("wordings: [{text: Count}, {text: 'how  MANY?'}]"),
            "6:32: cases[0] (L1-a).wordings[1].text: wording 3 says the same as"
            " wording 1 (the question); delete one",
        ),
        (
            case_text("wordings: [{text: Count}, {text: Count}]"),
            "6:32: cases[0] (L1-a).wordings[1].text: wording 3 says the same as"
            " wording 2; delete one",
        ),
        (
            case_text("semantics: {require: [[]]}"),
            "6:27: cases[0] (L1-a).semantics.require[0]: must have at least one entry",
        ),
        (
            case_text("tolerance: {columns: {n: {rel: 1}}}"),
            "6:31: cases[0] (L1-a).tolerance.columns.n.rel: must be less than 1, found"
            " the number 1",
        ),
        (
            case_text("tolerance: {abs: .inf}"),
            "6:17: cases[0] (L1-a).tolerance.abs: expected a finite number, found the"
            " number inf",
        ),
        (
            case_text() + case_text(),
            "6:5: cases[1] (L1-a).id: the id 'L1-a' is used a second time; the first"
            " is on line 2",
        ),
    ],
)
def test_what_a_case_may_not_say(load: Load, text: str, message: str) -> None:
    assert problems(load, "cases:\n" + text) == [message]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cases: []\n", "1:1: cases: must have at least one entry"),
        ("cases:\n", "1:1: cases: expected a list, found nothing"),
        (
            "cases: [3]\n",
            "1:9: cases[0]: expected a mapping of keys and values, found the number 3",
        ),
        (
            "sute: x\ncases:\n" + case_text(),
            "1:1: sute: unknown key 'sute'; did you mean 'suite'?",
        ),
        (
            "defaults: {ordered: true}\ncases:\n" + case_text(),
            "1:12: defaults.ordered: unknown key 'ordered'; known keys: persona,"
            " tolerance, unit, tags, extra_rows, duplicates, statement, dialect,"
            " valid_until, status",
        ),
    ],
)
def test_what_a_file_may_not_say(load: Load, text: str, message: str) -> None:
    assert problems(load, text) == [message]


def test_all_problems_of_a_file_come_at_once(load: Load) -> None:
    found = problems(
        load,
        "sute: x\ncases:\n"
        + case_text("revision: 0")
        + case_text("expect: abstain", case_id="L4-b")
        + case_text(case_id="L4-b"),
    )
    assert [problem.split(":")[0] for problem in found] == ["1", "7", "8", "12"]


def test_a_block_case_may_have_a_reference_and_needs_none(load: Load) -> None:
    text = case_text("expect: block") + case_text(
        "expect: block", "reference: {sql: select 1}", case_id="L5-b"
    )
    assert len(load("cases:\n" + text).cases) == 2


def test_an_id_is_unique_in_its_suite_over_all_files(load: Load) -> None:
    one = load("suite: s\ncases:\n" + case_text(), "a.yaml")
    two = load("suite: s\ncases:\n\n" + case_text(), "b.yaml")
    other = load("suite: t\ncases:\n" + case_text(), "c.yaml")
    assert check_unique([one, other]) == []
    # The first by path is the first, whatever the order given.
    (problem,) = check_unique([two, one])
    assert str(problem) == (
        f"{two.path}:4:1: cases[0] (L1-a).id: the suite 's' already has a case 'L1-a',"
        f" at {one.path}:3; rename one"
    )


def test_the_question_set_does_not_depend_on_the_order_of_files(load: Load) -> None:
    one = load("cases:\n" + case_text(), "a.yaml")
    two = load("cases:\n" + case_text() + case_text(case_id="L1-b"), "b.yaml")
    sha256, count = question_set_sha([one, two])
    assert question_set_sha([two, one]) == (sha256, 3)
    assert count == 3
    assert question_set_sha([one])[0] != sha256


@pytest.mark.parametrize(
    "line",
    ["tier: L2", "question: How few?", "unit: minutes", "tolerance: {rel: 0.1}"],
)
def test_the_hash_of_a_case_follows_what_it_says(load: Load, line: str) -> None:
    text = "cases:\n" + case_text()
    key = line.split(":")[0]
    changed = [kept for kept in text.splitlines() if f" {key}:" not in kept]
    plain = load(text).cases[0].sha
    assert load("\n".join([*changed, f"    {line}"])).cases[0].sha != plain


@pytest.mark.parametrize(
    "text",
    [
        "cases:\n" + case_text("why: another"),
        "cases:\n" + case_text("revision: 1", "ordered: false"),
        "# moved down\ncases:\n" + case_text(),
        'cases: [{question: "How many?", tier: L1, id: L1-a, reference: {sql: '
        "select 1}}]\n",
    ],
)
def test_the_hash_of_a_case_does_not_follow_how_it_is_written(
    load: Load, text: str
) -> None:
    plain = load("cases:\n" + case_text()).cases[0].sha
    assert load(text).cases[0].sha == plain


def test_a_case_with_odd_values_has_a_hash(load: Load) -> None:
    first = load("cases:\n" + case_text("reference: {value: [.nan, .inf, 1, ~]}"))
    second = load("cases:\n" + case_text("reference: {value: [.nan, .inf, 2, ~]}"))
    assert first.cases[0].sha != second.cases[0].sha


@given(st.permutations(["a", "b", "c"]))
def test_tags_and_keys_keep_the_order_of_the_file(order: list[str]) -> None:
    case = Case(id="x", tier="L1", question="q", tags=order)
    assert case.tags == order


def test_the_published_schema_is_current() -> None:
    published = ROOT / "docs" / "schemas" / "cases.schema.json"
    assert published.read_text(encoding="utf-8") == schema_text(case_file_schema())


def test_the_schema_describes_every_key_of_a_case() -> None:
    schema = case_file_schema()
    assert schema["$id"] == "urn:pytest-dataeval:schema:cases"
    assert schema["required"] == ["cases"]
    case = schema["$defs"]["Case"]["properties"]
    assert [key for key, part in case.items() if "description" not in part] == []
    assert case["tier"]["enum"] == ["L1", "L2", "L3", "L4", "L5"]
    reference = schema["$defs"]["Reference"]
    assert "as" in reference["properties"]
    assert reference["oneOf"] == [
        {"required": ["sql"]},
        {"required": ["python"]},
        {"required": ["value"]},
    ]


def test_the_fields_of_a_base_class_are_described_too() -> None:
    tolerance = case_file_schema()["$defs"]["Tolerance"]["properties"]
    assert tolerance["rel"]["description"] == "Relative: 0.005 is half a percent."
