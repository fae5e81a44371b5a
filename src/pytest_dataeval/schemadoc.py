"""JSON Schemas of pydantic models, described by the docstrings in their source."""

from __future__ import annotations

import ast
import inspect
import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema_of(model: type[BaseModel], name: str, title: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a file whose top level is `model`.

    A string that stands below a field in the class body becomes the description
    of that key. The source is read here, so that loading a file does not pay.
    """
    schema = model.model_json_schema(by_alias=True)
    described = _described(model)
    for class_name, part in [
        (model.__name__, schema),
        *schema.get("$defs", {}).items(),
    ]:
        for key, text in described.get(class_name, {}).items():
            if key in part.get("properties", {}):
                part["properties"][key]["description"] = text
    return {
        "$schema": DIALECT,
        "$id": f"urn:pytest-dataeval:schema:{name}",
        **schema,
        "title": title,
    }


def schema_text(schema: dict[str, Any]) -> str:
    """The text of a schema file."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _described(model: type[BaseModel]) -> dict[str, dict[str, str]]:
    """Class name -> key -> description, of all models of the model's module."""
    from pydantic import BaseModel

    module = sys.modules[model.__module__]
    found: dict[str, dict[str, str]] = {}
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.ClassDef):
            kind = getattr(module, node.name)
            if not issubclass(kind, BaseModel):
                continue
            own = {
                kind.model_fields[name].alias or name: text
                for name, text in _attribute_docstrings(node)
            }
            for base in kind.__mro__[1:]:
                own = {**found.get(base.__name__, {}), **own}
            found[node.name] = own
    return found


def _attribute_docstrings(node: ast.ClassDef) -> list[tuple[str, str]]:
    found = []
    for field, following in zip(node.body, node.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(following, ast.Expr)
            and isinstance(following.value, ast.Constant)
            and isinstance(following.value.value, str)
        ):
            text = " ".join(following.value.value.split())
            found.append((field.target.id, text))
    return found
