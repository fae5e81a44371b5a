"""Which functions a statement calls, by the names that stand in its text."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.tokenizer_core import Token

# These take the part of a date as an argument: EXTRACT(year FROM d) is YEAR(d).
_DATE_PART_FUNCTIONS = frozenset({"extract", "date_part", "datepart"})


def called_functions(
    found: Sequence[Token], trees: Sequence[exp.Expr] = ()
) -> Iterator[str]:
    """Names of all calls in lower case, with repeats.

    Taken from the tokens, since the parser gives many functions a node of their
    own and forgets how they were written, and from the trees besides. A date
    part (`extract(year from d)`) counts as a call of that name.
    """
    from sqlglot import exp

    for tree in trees:
        for node in tree.find_all(exp.Anonymous, exp.AnonymousAggFunc):
            yield str(node.name).lower()
    # `with stats(a, b) as ...` and `from t as stats(a, b)` call nothing.
    aliases = Counter(
        alias.name.lower()
        for tree in trees
        for alias in tree.find_all(exp.TableAlias)
        if alias.columns
    )
    for index, (token, after) in enumerate(itertools.pairwise(found)):
        if after.text != "(":
            continue
        name = token.text.lower()
        if aliases[name]:
            aliases[name] -= 1
            continue
        yield name
        if name in _DATE_PART_FUNCTIONS and index + 2 < len(found):
            yield found[index + 2].text.lower()


def node_names(function: exp.Func) -> set[str]:
    """The names under which a parsed call may have been written, lower case."""
    from sqlglot import exp

    if isinstance(function, exp.Anonymous | exp.AnonymousAggFunc):
        return {str(function.name).lower()}
    names = {function.key, *(name.lower() for name in function.sql_names())}
    if isinstance(function, exp.Extract):
        names.add(function.this.name.lower())
    return names
