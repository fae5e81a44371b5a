"""An agent without a model: it matches words, and knows only what its tools say.

It costs nothing and needs no key, so a suite, its arms and its report can be seen
at work before a model is paid. It is no strawman and no oracle: where the catalog
registers what the question names it composes that definition; elsewhere it goes by
the names of tables and columns, or says that it cannot answer.
"""

from __future__ import annotations

from pytest_dataeval.agents.lexical.agent import LexicalAgent

__all__ = ["LexicalAgent"]
