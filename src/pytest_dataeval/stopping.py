"""Our errors as pytest's own ways to end a session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pytest_dataeval.errors import FileError, FileErrors, HarnessBroken, UsageError

#: Exit status of a run that could not be measured.
NOT_MEASURED = 6


@contextmanager
def stopping_pytest() -> Iterator[None]:
    """Exit 4 for names and files that are wrong, 6 for a broken harness."""
    try:
        yield
    except (UsageError, FileError, FileErrors) as error:
        raise pytest.UsageError(str(error)) from error
    except HarnessBroken as error:
        text = f"dataeval: not measured: {error.what}: {error}"
        raise pytest.exit.Exception(text, NOT_MEASURED) from error
