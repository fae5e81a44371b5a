"""The identity of a result."""

from __future__ import annotations

from pytest_dataeval.records import ResultSet, canonical_json, sha256_text


def result_sha256(result: ResultSet) -> str:
    """Hex SHA-256 of the whole result: columns, types, rows in their order."""
    return sha256_text(canonical_json(result.to_json()))
