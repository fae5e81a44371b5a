"""Our errors as pytest's own ways to end a session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from pytest_dataeval.errors import FileError, FileErrors, HarnessBroken, UsageError

#: Exit status of a run that could not be measured.
NOT_MEASURED = 6


@contextmanager
def stopping_pytest(secrets: Sequence[str] = ()) -> Iterator[None]:
    """Exit 4 for names and files that are wrong, 6 for a broken harness.

    What is said holds none of `secrets`.
    """
    try:
        yield
    except (UsageError, FileError, FileErrors) as error:
        raise pytest.UsageError(str(error)) from error
    except HarnessBroken as error:
        from pytest_dataeval.redact import Masker

        said = Masker(secrets).text(str(error))
        text = f"dataeval: not measured: {error.what}: {said}"
        raise pytest.exit.Exception(text, NOT_MEASURED) from None
