"""An MCP server over stdio in plain Python, quick to start, that fails on request.

`python plain_server.py MODE`: `serve` answers, `exit` ends at once, `silent` never
answers, `garbage` speaks no JSON-RPC, `env` tells its environment in its tool's
description, `shrink` offers its second tool only once.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

LISTED = 0


def tool(name: str, description: str = "") -> dict[str, Any]:
    schema = {"type": "object", "properties": {}}
    return {"name": name, "description": description, "inputSchema": schema}


def tools(mode: str) -> list[dict[str, Any]]:
    global LISTED
    LISTED += 1
    if mode == "shrink" and LISTED > 1:
        return [tool("echo")]
    described = json.dumps(dict(os.environ)) if mode == "env" else ""
    return [tool("echo", described), tool("run_query")]


def answer(mode: str, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        return {
            "result": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "plain", "version": "1"},
            }
        }
    if method == "tools/list":
        return {"result": {"tools": tools(mode)}}
    if method == "tools/call":
        return call(parameters.get("arguments") or {})
    return {"error": {"code": -32601, "message": "unknown method"}}


def call(arguments: dict[str, Any]) -> dict[str, Any]:
    do = arguments.get("do")
    if do == "die":
        print("out of memory", file=sys.stderr, flush=True)
        os._exit(3)
    if do == "invalid":
        return {"error": {"code": -32602, "message": "no such argument: do"}}
    if do == "internal":
        return {"error": {"code": -32603, "message": "division by zero"}}
    if do == "malformed":
        return {"result": {"content": "this is no list"}}
    text = json.dumps(arguments)
    is_error = do == "refuse"
    if is_error:
        text = "query refused: only SELECT is allowed"
    return {
        "result": {"content": [{"type": "text", "text": text}], "isError": is_error}
    }


def main(mode: str) -> None:
    if mode == "exit":
        sys.exit("no database at this address")
    if mode == "garbage":
        print("Welcome to the server!", flush=True)
        sys.exit(0)
    for line in sys.stdin:
        message = json.loads(line)
        parameters = message.get("params") or {}
        hangs = (parameters.get("arguments") or {}).get("do") == "hang"
        if mode == "silent" or "id" not in message or hangs:
            continue
        reply = answer(mode, message["method"], parameters)
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
