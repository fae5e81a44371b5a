"""Masking of secrets, token-shaped strings and withheld values."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dataeval.records import Column, ResultSet
from pytest_dataeval.redact import Masker

PLAIN = Masker()
# Made up; the shape is that of a token of three base64url parts.
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJlLXBhcnQ"


def test_secrets_are_replaced_longest_first() -> None:
    masker = Masker(["hunter", "hunter22"])
    assert masker.text("hunter22, hunter and hunter22x") == (
        "[secret], [secret] and [secret]x"
    )


def test_a_secret_of_five_characters_is_left_alone() -> None:
    assert Masker(["admin"]).text("the admin said") == "the admin said"


def test_a_secret_is_found_inside_json_and_urls() -> None:
    masker = Masker(['pa"ss w/ö'])
    assert masker.text(json.dumps({"k": 'pa"ss w/ö'})) == '{"k": "[secret]"}'
    assert masker.text("?key=pa%22ss%20w%2F%C3%B6&x=1") == "?key=[secret]&x=1"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f"token={JWT};", "token=[secret];"),
        (f"Authorization: Bearer {JWT}", "Authorization: Bearer [secret]"),
        ("bearer abc123def", "bearer [secret]"),
        ("key sk-ant-api03-AbCdEf0123456789xyz.", "key [secret]."),
        ("sk-proj4567890123456789", "[secret]"),
        ("ghp_" + "a1" * 18, "[secret]"),
        ("github_pat_" + "a1_" * 10, "[secret]"),
        ("AKIA" + "ABCD1234" * 2, "[secret]"),
        ("xoxb-1234567890-abc", "[secret]"),
        (
            "postgresql+psycopg://alice:p%40ss!w0rd@host:5432/db",
            "postgresql+psycopg://alice:[secret]@host:5432/db",
        ),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIB+/=\nabc\n"
            "-----END RSA PRIVATE KEY-----\nafter.",
            "[secret]\nafter.",
        ),
        # Cut off before its end.
        ('"-----BEGIN PRIVATE KEY-----\\nMIIB", "b": 1', '"[secret]", "b": 1'),
        # Behind an escaped line break, as in a payload inside JSON text.
        ("a\\nsk-abcdef0123456789abc", "a\\n[secret]"),
    ],
)
def test_token_shaped_strings(text: str, masked: str) -> None:
    assert PLAIN.text(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "the bearer of bad news",
        "Bearer certificates",
        "task-force-2-management-of-everything",
        "sk-learn-is-a-common-misspelling",
        "see https://host:8080/path and mail me@host",
        "select a::int from t",
        "-----BEGIN CERTIFICATE-----",
        "12:30:45@noon",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert PLAIN.text(text) == text


@pytest.mark.parametrize(
    ("withheld", "text", "masked"),
    [
        ("MI", "MI, mi and Mi.", "[withheld:0], [withheld:0] and [withheld:0]."),
        ("MI", "MIT, SEMI, MI_x and familiar", "MIT, SEMI, MI_x and familiar"),
        ("jane@example.com", "<JANE@example.com>", "<[withheld:0]>"),
        ("Jane Doe", "jane\n  doe", "[withheld:0]"),
        ("Zoë", json.dumps("Zoë"), '"[withheld:0]"'),
        ("a.b", "a.b axb", "[withheld:0] axb"),
        ("x", "\\nx", "\\n[withheld:0]"),
        ("007", "007 and 7", "[withheld:0] and 7"),
        ("1200", "$1,200.00", "$[withheld:0]"),
        ("1200", "1200 1200.0 1'200", "[withheld:0] [withheld:0] [withheld:0]"),
        ("1200", "11200 12000 1200.5 31,200 1,200,300", None),
        ("1200", "3,1200,7", "3,[withheld:0],7"),
        ("200", "31,200 and 200", "31,200 and [withheld:0]"),
        ("200", "200,000 2000", None),
        ("12.50", "12.5 and 12.500", "[withheld:0] and [withheld:0]"),
        ("12.5", "12.51 112.5 12", None),
        ("-5", "-5 and 5", "[withheld:0] and 5"),
        ("-1200", "−1,200", "[withheld:0]"),
        ("1200000", "1 200 000", "[withheld:0]"),
        ("200", "12 200", "12 [withheld:0]"),
    ],
)
def test_withheld_values_are_whole_words_and_whole_figures(
    withheld: str, text: str, masked: str | None
) -> None:
    assert Masker(withheld=[withheld]).text(text) == (
        text if masked is None else masked
    )


def test_the_marker_names_the_index() -> None:
    masker = Masker(withheld=["", "Ann", "ann lee", "ANN", "12"])
    assert masker.text("Ann Lee, Ann, 12") == (
        "[withheld:2], [withheld:1], [withheld:4]"
    )


def test_a_withheld_value_inside_of_a_secret_still_counts() -> None:
    masker = Masker(["hunter22"], ["hunter22", "ann"])
    assert masker.text("hunter22") == "[secret][withheld:0]"
    assert masker.text("http://me:ann@host") == "http://me:[secret][withheld:1]@host"


def test_markers_stay_as_they_are() -> None:
    masker = Masker(["secret", "withheld"], ["0", "1", "secret"])
    assert masker.text("[secret] [withheld:1]") == "[secret] [withheld:1]"


def test_a_word_that_a_marker_sets_free_is_masked_too() -> None:
    assert Masker(["hunter22"], ["MI"]).text("MIhunter22") == "[withheld:0][secret]"


def test_data_is_walked_with_its_keys() -> None:
    masker = Masker(["hunter22"], ["MI"])
    data = {"hunter22": ["MI", 1, None, {"a": ("hunter22", True)}]}
    assert masker.data(data) == {
        "[secret]": ["[withheld:0]", 1, None, {"a": ("[secret]", True)}]
    }


def test_numbers_are_masked_only_on_request() -> None:
    masker = Masker(withheld=["12"])
    assert masker.data({"ms": 12}) == {"ms": 12}
    rows = [[12, 12.0, Decimal("12.00"), 13, True, "12"]]
    marker = "[withheld:0]"
    assert masker.data(rows, numbers=True) == [
        [marker, marker, marker, 13, True, marker]
    ]


def test_a_result_keeps_its_shape() -> None:
    masker = Masker(withheld=["jane@example.com", "12"])
    result = ResultSet(
        (Column("email", "VARCHAR"), Column("n", "INTEGER")),
        (("jane@example.com", 12), (None, 13)),
        truncated=True,
    )
    assert masker.result(result) == ResultSet(
        result.columns, (("[withheld:0]", "[withheld:1]"), (None, 13)), truncated=True
    )


def test_withheld_values_are_found_as_such_and_as_markers() -> None:
    masker = Masker(["hunter22"], ["MI", "jane@example.com", "1200"])
    assert masker.contains_withheld("mi: 1,200 [withheld:1]") == [0, 1, 2]
    assert masker.contains_withheld("MIT, 11200, [secret]") == []
    # A marker of no value of this case.
    assert masker.contains_withheld("[withheld:3]") == []


SECRETS = ["hunter22", "MI-MI-MI", "aaaaaa", "[secre", "12,12,12"]
WITHHELD = ["MI", "a", "1200", "12", "-a", "a-", "x y", "12.5", "ſ", "İ", "[", "é"]
MARKS = ["[secret]", "[withheld:1]", "[withheld:", "]", "\\n", ".", ",", "_", "-", " "]
TOKENS = ["://u:", "@h", "Bearer ", "sk-abcdef0123456789", "eyJhbGciOiJIUzI1"]
KEYS = ["-----BEGIN PRIVATE KEY-----", "-----END"]
OTHERS = ["s", "k", "i", "E\u0301", "1,200", "1 200", "300"]
PIECES = st.sampled_from([*SECRETS, *WITHHELD, *MARKS, *TOKENS, *KEYS, *OTHERS])


@given(st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join))
def test_masking_twice_is_masking_once(text: str) -> None:
    masker = Masker(SECRETS, WITHHELD)
    masked = masker.text(text)
    assert masker.text(masked) == masked


@given(st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join))
def test_nothing_withheld_is_left_outside_of_markers(text: str) -> None:
    masker = Masker((), WITHHELD)
    bare = masker.text(text)
    for index in range(len(WITHHELD)):
        bare = bare.replace(f"[withheld:{index}]", " ")
    assert masker.contains_withheld(bare.replace("[secret]", " ")) == []


@given(st.lists(PIECES, max_size=12).map("".join))
def test_what_is_found_is_what_is_marked(text: str) -> None:
    masker = Masker(SECRETS, WITHHELD)
    found = masker.contains_withheld(text)
    assert set(found) <= set(masker.contains_withheld(masker.text(text)))
