"""YAML with positions: the dialect, and one sentence for each kind of bad file."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pytest_dataeval.errors import FileErrors, Position
from pytest_dataeval.yamlfile import (
    MAX_BYTES,
    Document,
    parse_yaml,
    read_yaml,
)

FILE = Path("f.yaml")
CASE = "cases:\n  - id: L3-a\n    tier: L3\n"


@pytest.fixture(params=["c", "pure"])
def parse(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Document]:
    """`parse_yaml` of a text, with each of PyYAML's parsers."""
    if request.param == "pure":
        monkeypatch.delattr(yaml, "CSafeLoader")
    else:
        assert yaml.__with_libyaml__
    return lambda text: parse_yaml(FILE, text.encode())


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("true", True),
        ("False", False),
        # The booleans of YAML 1.1 are words to us.
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("off", "off"),
        ("y", "y"),
        ("~", None),
        ("null", None),
        ("", None),
        ("12", 12),
        ("-7", -7),
        ("0", 0),
        ("0x1f", 31),
        ("0o17", 15),
        # Codes keep their zeros, and dates and times stay as written.
        ("007", "007"),
        ("1_000", "1_000"),
        ("2026-01-31", "2026-01-31"),
        ("12:30:45", "12:30:45"),
        ("1.2.3", "1.2.3"),
        ("0.5", 0.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("-.inf", -math.inf),
        ("'12'", "12"),
        ('"true"', "true"),
        ("'null'", "null"),
        ("What is it?", "What is it?"),
        ("[a, 1, true]", ["a", 1, True]),
        ("{a: {b: 1}}", {"a": {"b": 1}}),
        ("|\n  select 1\n  from t", "select 1\nfrom t"),
    ],
)
def test_scalars(parse: Callable[[str], Document], written: str, value: object) -> None:
    data = parse(f"a: {written}").data
    assert data == {"a": value}
    assert type(data["a"]) is type(value)


def test_not_a_number_is_read(parse: Callable[[str], Document]) -> None:
    assert math.isnan(parse("a: .nan").data["a"])


def test_a_number_too_long_for_an_integer_stays_text(
    parse: Callable[[str], Document],
) -> None:
    digits = "9" * 5000
    assert parse(f"a: {digits}").data == {"a": digits}


def test_keys_are_text(parse: Callable[[str], Document]) -> None:
    assert parse("{1: a, true: b, null: c}").data == {
        "1": "a",
        "true": "b",
        "null": "c",
    }


def test_positions_are_one_based_and_point_at_keys(
    parse: Callable[[str], Document],
) -> None:
    document = parse(CASE + "    reference: {sql: select 1}\n")
    assert document.position(("cases",)) == Position(FILE, 1, 1)
    assert document.position(("cases", 0)) == Position(FILE, 2, 5)
    assert document.position(("cases", 0, "tier")) == Position(FILE, 3, 5)
    assert document.position(("cases", 0, "reference", "sql")) == Position(FILE, 4, 17)


def test_the_position_of_what_is_not_there_is_its_nearest_parents(
    parse: Callable[[str], Document],
) -> None:
    document = parse(CASE)
    assert document.position(("cases", 0, "reference", "sql")) == Position(FILE, 2, 5)
    assert document.position(("other",)) == Position(FILE, 1, 1)


def test_columns_count_characters_not_bytes(parse: Callable[[str], Document]) -> None:
    document = parse("{é😀: 1, b: 2}")
    assert document.position(("b",)) == Position(FILE, 1, 9)


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(
    parse: Callable[[str], Document],
) -> None:
    document = parse("\ufeffa: 1\r\nb: 2\r\n")
    assert document.data == {"a": 1, "b": 2}
    assert document.position(("b",)) == Position(FILE, 2, 1)


def test_a_key_path_shows_the_id_or_the_name_of_an_entry() -> None:
    document = parse_yaml(FILE, b"cases: [{id: L3-x}, {}]\ntables: [{name: t}]")
    assert (
        document.key_text(("cases", 0, "reference", "sql"))
        == "cases[0] (L3-x).reference.sql"
    )
    assert document.key_text(("cases", 1, "id")) == "cases[1].id"
    assert document.key_text(("tables", 0)) == "tables[0] (t)"
    assert document.key_text(("cases", 7, "id")) == "cases[7].id"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1:1: the file is empty"),
        ("# nothing\n", "1:1: the file is empty"),
        (
            "a:\n\tb: 1\n",
            "2:1: a tab stands here; indent and separate with spaces",
        ),
        ("a:\tb\n", "1:3: a tab stands here; indent and separate with spaces"),
        (
            "a: &x 1\n",
            "1:4: a: the anchor &x is not allowed; write the value out, or quote a"
            " text that begins with &",
        ),
        (
            "a: *x\n",
            "1:4: a: the alias *x is not allowed; write the value out, or quote a"
            " text that begins with *",
        ),
        ("a: *What* is it\n", "1:4: a: a text that begins with * must stand in quotes"),
        (
            "a: {<<: {b: 1}}\n",
            "1:5: a: the merge key << is not allowed; write the keys out",
        ),
        (
            "a: !!python/name:os.system x\n",
            "1:4: a: the tag !!python/name:os.system is not allowed; leave it out, or"
            " quote a text that begins with !",
        ),
        (
            "a: 1\nb: 2\na: 3\n",
            "3:1: a: the key 'a' stands here a second time; the first is on line 1",
        ),
        ("? [a]\n: b\n", "1:3: a key must be one word or text"),
        (
            "a: 1\n---\nb: 2\n",
            "2:1: a second document starts here; one file holds one document",
        ),
        (
            CASE + '    question: "What is it?\n',
            "4:15: cases[0].question: the quote that opens here is never closed; add"
            " the closing quote",
        ),
        (
            CASE + '    question: "What is it?\n    persona: "x"\n',
            "4:15: cases[0].question: the quote that opens here is closed only on line"
            ' 5, where more text follows; add the missing " before that',
        ),
        (
            CASE + '  - id: L3-b\n    tier: L3\n  - id: "L3-c\n',
            "6:9: cases[2].id: the quote that opens here is never closed; add the"
            " closing quote",
        ),
        (
            CASE + "    question: What: now\n",
            '4:19: cases[0].question: a text that holds ": " must stand in quotes',
        ),
        (
            CASE + "    question: 'it's'\n",
            "4:19: cases[0].question: this text follows a value that has already"
            " ended; put the whole value in one pair of quotes",
        ),
        (
            CASE + "    question: @x\n",
            "4:15: cases[0].question: a value may not begin with @; put it in quotes",
        ),
        (
            CASE + '    question: "\\d"\n',
            "4:17: cases[0].question: in double quotes a backslash begins an escape,"
            " and this one does not exist; use single quotes, or write the backslash"
            " twice",
        ),
        (
            CASE + "    wordings: [{text: Who?, reviewed: true}]\n",
            "4:26: cases[0].wordings: inside [ ] and { } a text that holds ? must"
            " stand in quotes",
        ),
        (
            CASE + "    tags: [a, b\n    question: q\n",
            "4:11: cases[0].tags: the [ that opens here is never closed; add the"
            " closing ], or put a text that begins with [ in quotes",
        ),
        (
            "a: ]\n",
            "1:4: a: a value is missing here, or a text that begins with a bracket or"
            " a comma lacks its quotes",
        ),
        (
            CASE + "   question: q\n",
            "4:4: cases: this line's indentation fits nothing above it",
        ),
        (
            CASE + "     question: q\n",
            "4:14: cases[0]: this key is indented too far, or the line above it lacks"
            " its quotes",
        ),
        (
            CASE + "    question\n    why: x\n",
            '5:5: cases[0].why: this line, or the one above, is a key without ":"',
        ),
        (
            CASE + "    why: | x\n",
            "4:12: cases[0].why: after | or > the line must end; the text begins on"
            " the next line",
        ),
        (
            CASE + "    gap: - a\n",
            "4:10: cases[0].gap: a list may not begin on the line of its key; put it"
            " on the next line",
        ),
        (
            "a: b\u2028\n",
            "1:5: the invisible character U+2028 may not stand in the file; delete it",
        ),
        (
            "a: 1\nb: \x07\n",
            "2:4: the invisible character U+0007 may not stand in the file; delete it",
        ),
        ("[" * 60 + "]" * 60, "1:51: [0][0][0]: nested deeper than 50 levels"),
    ],
)
def test_a_bad_file_says_where_and_what_to_do(
    parse: Callable[[str], Document], text: str, message: str
) -> None:
    with pytest.raises(FileErrors) as caught:
        parse(text)
    assert str(caught.value) == f"f.yaml:{message}"


def test_all_refusals_of_a_file_come_at_once(parse: Callable[[str], Document]) -> None:
    with pytest.raises(FileErrors) as caught:
        parse("a: &x 1\nb: *x\na: 2\n")
    assert [p.position.line for p in caught.value.problems] == [1, 2, 3]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"a: 1\nb: caf\xe9\n", "2:7: byte 0xe9 is not UTF-8; save the file as UTF-8"),
        # Columns count characters: the two bytes of é are one.
        (b"a: \xc3\xa9 \xff", "1:6: byte 0xff is not UTF-8; save the file as UTF-8"),
        (
            "a: 1".encode("utf-16"),
            "1:1: byte 0xff is not UTF-8; save the file as UTF-8",
        ),
    ],
)
def test_a_file_of_another_encoding(raw: bytes, message: str) -> None:
    with pytest.raises(FileErrors) as caught:
        parse_yaml(FILE, raw)
    assert str(caught.value) == f"f.yaml:{message}"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "none.yaml"
    with pytest.raises(FileErrors) as caught:
        read_yaml(path)
    assert (
        str(caught.value)
        == f"{path}:1:1: the file cannot be read: No such file or directory"
    )


def test_a_file_beyond_five_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "big.yaml"
    path.write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(FileErrors) as caught:
        read_yaml(path)
    assert str(caught.value) == f"{path}:1:1: the file is larger than 5 MB; split it"


INDICATORS = [
    "a",
    "b",
    "1",
    "~",
    "[",
    "]",
    "{",
    "}",
    "'",
    '"',
    "#",
    "|",
    ">",
    "|2",
    ">+",
    "&a",
    "*a",
    "!t",
    "@",
    "%",
    "\\",
    "?",
    "é",
    "😀",
]
BLANKS = [" ", "  ", "\n", "\n  ", "\t", "\r\n", "\ufeff", "\x85"]
JOINTS = [": ", "- ", "? ", ", ", " #", "---\n", "...\n", "<<: "]
FRAGMENTS = st.sampled_from(INDICATORS + BLANKS + JOINTS)


@given(st.lists(FRAGMENTS, max_size=14).map("".join))
def test_both_parsers_give_the_same_data_places_and_errors(text: str) -> None:
    def outcome() -> object:
        try:
            document = parse_yaml(FILE, text.encode())
        except FileErrors as error:
            return str(error)
        return repr(document.data), document.places

    with pytest.MonkeyPatch.context() as patch:
        fast = outcome()
        patch.delattr(yaml, "CSafeLoader")
        assert outcome() == fast
