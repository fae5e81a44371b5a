"""Load the support desk into a warehouse: `python -m seed.support URL`."""

from __future__ import annotations

import argparse

from seed.support import load


def main() -> None:
    """Read the command line and load the schema `support`."""
    parser = argparse.ArgumentParser(
        prog="python -m seed.support",
        description="Drop and rebuild the schema support of the support desk.",
    )
    parser.add_argument(
        "url",
        metavar="URL",
        help="SQLAlchemy URL, such as duckdb+duckdb_sqlalchemy:///support_desk.duckdb",
    )
    parser.add_argument("--seed", type=int, default=1, help="default: 1")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="1.0 (the default) is 3600 tickets"
    )
    options = parser.parse_args()
    load(options.url, seed=options.seed, scale=options.scale)


if __name__ == "__main__":
    main()
