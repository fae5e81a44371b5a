"""The support desk: tickets whose two clocks rank the teams differently."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from seed import draws, warehouse
from seed.support.rows import generate

__all__ = ["CATALOG", "build_if_absent", "generate", "load"]

CATALOG = Path(__file__).with_name("catalog.yaml")


def load(url: str, *, seed: int = 1, scale: float = 1.0) -> None:
    """Drop and rebuild the schema `support` at an SQLAlchemy URL.

    Raises SQLAlchemy's errors when the warehouse cannot be reached or refuses.
    """
    from seed.support.schema import METADATA

    tables: dict[str, list[dict[str, Any]]] = generate(seed, scale)
    warehouse.load_tables(url, METADATA, tables)


def build_if_absent(path: Path | str, *, seed: int = 1, scale: float = 1.0) -> Path:
    """A DuckDB file with the support desk, built once and shared.

    It is built anew when the generator or the arguments have changed. Safe when
    several processes call it at once. Raises ValueError for a file named
    `support.duckdb`, in which DuckDB could not tell database and schema apart.
    """
    here = Path(__file__).parent
    return warehouse.build_if_absent(
        Path(path),
        lambda url: load(url, seed=seed, scale=scale),
        sources=[
            *here.glob("*.py"),
            Path(draws.__file__),
            Path(warehouse.__file__),
        ],
        arguments={"seed": seed, "scale": scale},
        schemas=["support"],
    )
