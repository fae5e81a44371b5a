"""Memory for pure functions of a statement's text.

The guard, grounding, semantics and the persona check each read the same few
statements, and a suite asks for them again at every repeat.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

#: Longer texts are not kept: a few of them would hold much memory.
MAX_LENGTH = 10_000

P = ParamSpec("P")
T = TypeVar("T")


def remembered(size: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Keep the last `size` results of a function whose first argument is a text.

    All arguments must be hashable, and callers must not change what they get.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        kept = functools.lru_cache(maxsize=size)(function)

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            short = len(cast(str, args[0])) <= MAX_LENGTH
            chosen = cast("Callable[P, T]", kept) if short else function
            return chosen(*args, **kwargs)

        return call

    return decorate
