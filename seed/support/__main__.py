"""Load the support desk: `python -m seed.support URL`, or `--file PATH`."""

from __future__ import annotations

import argparse
from pathlib import Path

from seed.support import build_if_absent, load


def main() -> None:
    """Read the command line and load the schema `support`."""
    parser = argparse.ArgumentParser(
        prog="python -m seed.support",
        description="Drop and rebuild the schema support of the support desk.",
    )
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument(
        "--file",
        type=Path,
        metavar="PATH",
        help="a DuckDB file, built unless it is there and current",
    )
    target.add_argument(
        "url",
        nargs="?",
        metavar="URL",
        help="SQLAlchemy URL, such as duckdb+duckdb_sqlalchemy:///support_desk.duckdb",
    )
    parser.add_argument("--seed", type=int, default=1, help="default: 1")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="1.0 (the default) is 3600 tickets"
    )
    options = parser.parse_args()
    if options.file is not None:
        build_if_absent(options.file, seed=options.seed, scale=options.scale)
    else:
        load(options.url, seed=options.seed, scale=options.scale)


if __name__ == "__main__":
    main()
