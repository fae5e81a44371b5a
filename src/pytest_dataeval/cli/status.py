"""The exit status of `pytest-dataeval`."""

from __future__ import annotations

FINE = 0
#: Something was found that a person has to mend.
FINDING = 1
#: As pytest says it.
INTERRUPTED = 2
USAGE = 4
NOT_MEASURED = 6
