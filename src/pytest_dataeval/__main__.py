"""`python -m pytest_dataeval` is the program `pytest-dataeval`."""

from __future__ import annotations

from pytest_dataeval.cli.main import main

raise SystemExit(main())
