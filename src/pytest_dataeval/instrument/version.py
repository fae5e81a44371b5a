"""The instrument's version, apart from its code so that naming it costs nothing."""

from __future__ import annotations

#: Version of the rules, in every score. Raise it when a verdict can change.
INSTRUMENT = 1
