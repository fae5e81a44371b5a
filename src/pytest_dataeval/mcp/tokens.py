"""Bearer tokens of the bundled servers (JWT, HS256), and when a token ends."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

SECRET_VARIABLE = "DATAEVAL_JWT_SECRET"
TOKEN_VARIABLE = "DATAEVAL_PERSONA_TOKEN"
_ALGORITHM = "HS256"


def mint(persona: str, roles: Sequence[str], secret: str, ttl_s: float = 3600.0) -> str:
    """A token that says who calls (`sub`), with which roles, until when (`exp`)."""
    import jwt

    now = int(time.time())
    claims = {
        "sub": persona,
        "roles": list(roles),
        "iat": now,
        "exp": int(now + ttl_s),
    }
    return jwt.encode(claims, secret, algorithm=_ALGORITHM)


def expiry(token: str) -> float | None:
    """When `token` ends, in Unix time; None if it is no JWT or does not say.

    The signature is not checked: this only tells a dead token before it is used.
    """
    import jwt

    try:
        claims = jwt.decode(token, options={"verify_signature": False})
    except jwt.InvalidTokenError:
        return None
    ends = claims.get("exp")
    if isinstance(ends, bool) or not isinstance(ends, int | float):
        return None
    return float(ends)


def verify(token: str, secret: str) -> Mapping[str, Any]:
    """The claims of a token that `secret` signed and that has not ended.

    Raises ValueError, with a sentence that does not hold the token, if the token
    is malformed, signed with another secret, ended, or lacks `sub` or `exp`.
    """
    import jwt

    try:
        claims: dict[str, Any] = jwt.decode(
            token,
            secret,
            algorithms=[_ALGORITHM],
            options={"require": ["sub", "exp"]},
        )
    except jwt.InvalidTokenError as error:
        raise ValueError(f"the bearer token is not valid: {error}") from error
    return claims
