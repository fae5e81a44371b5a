"""Tokens of the bundled servers, and the expiry that any JWT tells."""

from __future__ import annotations

import time

import jwt
import pytest

from pytest_dataeval.mcp.tokens import expiry, mint, verify

SECRET = "a-secret-of-at-least-thirty-two-bytes"


def test_a_minted_token_says_who_calls_and_with_which_roles() -> None:
    claims = verify(mint("alice", ["Data.Analyst"], SECRET), SECRET)
    assert claims["sub"] == "alice"
    assert claims["roles"] == ["Data.Analyst"]


def test_expiry_is_read_without_the_secret() -> None:
    before = time.time()
    ends = expiry(mint("alice", [], SECRET, ttl_s=600))
    assert ends is not None
    assert before + 599 <= ends <= time.time() + 601


@pytest.mark.parametrize(
    "token",
    [
        "",
        "opaque",
        "a.b.c",
        jwt.encode({"sub": "alice"}, SECRET, algorithm="HS256"),
    ],
)
def test_expiry_is_unknown_where_the_token_does_not_say(token: str) -> None:
    assert expiry(token) is None


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        (mint("alice", ["r"], SECRET, ttl_s=-60), "expired"),
        (mint("alice", ["r"], SECRET + "x"), "ignature"),
        ("not a token", "segments"),
        (jwt.encode({"sub": "alice"}, SECRET, algorithm="HS256"), "exp"),
        (
            jwt.encode({"sub": "a", "exp": 4e9}, "", algorithm="none"),
            "not allowed",
        ),
    ],
)
def test_a_bad_token_is_told_without_being_repeated(token: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as caught:
        verify(token, SECRET)
    assert token not in str(caught.value)
