"""`pytest-dataeval report`: what a run says, from its folder alone."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from pytest_dataeval.cli.status import FINE, NOT_MEASURED
from pytest_dataeval.errors import HarnessBroken, UsageError
from pytest_dataeval.ledger.files import json_bytes
from pytest_dataeval.ledger.read import load
from pytest_dataeval.ledger.summary import Summary, summarise
from pytest_dataeval.report.terminal import lines

#: pytest takes a terminal that is narrower than this for one that cannot tell.
LEAST_WIDTH = 40


def report(folder: Path, *, as_json: bool = False) -> int:
    """Print the session's lines, or the summary as JSON.

    Gives 6 if no trial was scored. Raises UsageError where there is no run folder
    that can be read, HarnessBroken where its ledger is damaged.
    """
    summary = _summary(folder)
    if as_json:
        sys.stdout.write(json_bytes(summary.to_json(), indent=2).decode() + "\n")
    else:
        for line in lines(summary, folder, width=_width()):
            print(line)
    return FINE if summary.tally.scored else NOT_MEASURED


def _summary(folder: Path) -> Summary:
    if not folder.is_dir():
        raise UsageError(
            f"{folder} is no run folder; runs lie in .dataeval/runs/ of their project"
        )
    try:
        view = load(folder)
    except OSError as error:
        raise UsageError(
            f"{error.filename or folder} cannot be read: {error.strerror or error}"
        ) from error
    except (AttributeError, KeyError, TypeError) as error:
        # JSON, but not of ours: another program may have a run.json too.
        raise HarnessBroken(
            "ledger_damaged",
            str(folder),
            f"a file in it is not of the form that a run has ({error!r}).",
            "Restore it from a copy, or name another folder.",
        ) from error
    return summarise(view)


def _width() -> int:
    """The width that pytest would print to."""
    columns = shutil.get_terminal_size(fallback=(80, 24)).columns
    return columns if columns >= LEAST_WIDTH else 80
