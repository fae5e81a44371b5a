"""Random streams that do not disturb each other."""

from __future__ import annotations

import random


def stream(seed: int, family: str) -> random.Random:
    """A generator of its own for one family of attributes.

    Two families never share draws, so a column that is added later under a new
    name leaves every figure that exists as it was.
    """
    return random.Random(f"{seed}/{family}")
