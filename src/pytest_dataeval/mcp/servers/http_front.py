"""The HTTP front of the bundled servers: who calls is told by a bearer token.

Without, or with a bad or ended, token: 401. For a caller whom the personas do not
know, or whose token carries no role: 403. Roles come from the token, the withheld
columns from the personas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_dataeval.mcp.personas import Persona
from pytest_dataeval.mcp.servers.toolkit import PERSONA_KEY
from pytest_dataeval.mcp.tokens import verify

if TYPE_CHECKING:
    from mcp.server import Server
    from starlette.types import ASGIApp, Receive, Scope, Send


def http_app(
    server: Server[Any],
    personas: Mapping[str, Persona],
    secret: str,
    *,
    host: str = "127.0.0.1",
) -> ASGIApp:
    """An ASGI application that serves `server` at `/mcp` to verified callers."""
    app = server.streamable_http_app(json_response=True, stateless_http=True, host=host)
    return BearerFront(app, personas, secret)


class BearerFront:
    """ASGI middleware that lets verified callers through, and names them."""

    def __init__(
        self, app: ASGIApp, personas: Mapping[str, Persona], secret: str
    ) -> None:
        self._app = app
        self._personas = personas
        self._secret = secret

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, answer = self._admit(scope)
        if isinstance(answer, Persona):
            await self._app({**scope, PERSONA_KEY: answer}, receive, send)
            return
        from starlette.responses import JSONResponse

        headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
        response = JSONResponse({"error": answer}, status, headers=headers)
        await response(scope, receive, send)

    def _admit(self, scope: Scope) -> tuple[int, Persona | str]:
        headers = dict(scope["headers"])
        scheme, _, token = _text(headers, b"authorization").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return 401, "a bearer token is required"
        try:
            claims = verify(token.strip(), self._secret)
        except ValueError as error:
            return 401, str(error)
        known = self._personas.get(str(claims["sub"]))
        roles = claims.get("roles")
        if known is None or not isinstance(roles, list) or not roles:
            return 403, "you do not have access: no role"
        return 200, replace(known, roles=tuple(str(role) for role in roles))


def _text(headers: dict[bytes, bytes], name: bytes) -> str:
    return headers.get(name, b"").decode("latin-1")
