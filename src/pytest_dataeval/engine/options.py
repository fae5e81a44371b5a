"""What a run was asked to do: the options, read once and checked by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_dataeval.errors import UsageError

if TYPE_CHECKING:
    from pytest_dataeval.config import Profile


#: More asks of one wording than any claim needs; a slip of the finger is more likely.
MAX_REPEATS = 10_000


@dataclass(frozen=True)
class RunOptions:
    """Options after a profile and defaults were applied.

    `arms` and `concurrency` are None where the default depends on the
    configuration; `wordings` is None for all.
    """

    agents: tuple[str, ...] = ("gold",)
    arms: tuple[str, ...] | None = None
    repeats: int = 1
    wordings: int | None = 1
    unreviewed: bool = False
    concurrency: int | None = None
    run_dir: Path | None = None
    resume: Path | None = None
    answers: Path | None = None


def names(text: str, option: str) -> tuple[str, ...]:
    """Split `A,B`. Raises UsageError for an empty list or a name given twice."""
    found = [part.strip() for part in text.split(",") if part.strip()]
    if not found:
        raise UsageError(f"{option} names nothing; give one or more, as in A,B")
    twice = sorted({name for name in found if found.count(name) > 1})
    if twice:
        raise UsageError(f"{option} names {', '.join(twice)} twice")
    return tuple(found)


def whole_number(text: str, option: str, most: int | None = None) -> int:
    """A whole number of at least 1, and of at most `most`. Raises UsageError."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise UsageError(f"{option} wants a whole number of at least 1, not {text!r}")
    if most is not None and number > most:
        raise UsageError(f"{option} is at most {most:,}, not {number:,}")
    return number


def read_options(
    given: Mapping[str, Any], profile: Profile | None, invocation_dir: Path
) -> RunOptions:
    """Merge the command line over a profile over the defaults.

    `given` maps option names (`agents`, `arms`, ...) to their text, or None
    where the command line does not name them. Raises UsageError.
    """
    options = RunOptions()
    if profile is not None:
        options = _from_profile(options, profile)
    if given.get("agents") is not None:
        options = replace(options, agents=names(given["agents"], "--agents"))
    if given.get("arms") is not None:
        options = replace(options, arms=names(given["arms"], "--arms"))
    if given.get("repeats") is not None:
        repeats = whole_number(given["repeats"], "--repeats", MAX_REPEATS)
        options = replace(options, repeats=repeats)
    if given.get("wordings") is not None:
        text = given["wordings"]
        count = None if text == "all" else whole_number(text, "--wordings")
        options = replace(options, wordings=count)
    if given.get("unreviewed"):
        options = replace(options, unreviewed=True)
    if given.get("concurrency") is not None:
        count = whole_number(given["concurrency"], "--concurrency")
        options = replace(options, concurrency=count)
    for name in ("run_dir", "resume", "answers"):
        if given.get(name) == "":
            raise UsageError(f"--{name.replace('_', '-')} names nothing")
    paths: dict[str, Any] = {
        name: invocation_dir / Path(given[name]).expanduser()
        for name in ("run_dir", "resume", "answers")
        if given.get(name) is not None
    }
    options = replace(options, **paths)
    if options.run_dir is not None and options.resume is not None:
        raise UsageError(
            "--run-dir starts a new run and --resume goes on with one: give one"
        )
    return options


def _from_profile(options: RunOptions, profile: Profile) -> RunOptions:
    changes: dict[str, Any] = {}
    if profile.agents is not None:
        changes["agents"] = tuple(profile.agents)
    if profile.arms is not None:
        changes["arms"] = ("all",) if profile.arms == "all" else tuple(profile.arms)
    if profile.repeats is not None:
        changes["repeats"] = profile.repeats
    if profile.wordings is not None:
        changes["wordings"] = None if profile.wordings == "all" else profile.wordings
    if profile.concurrency is not None:
        changes["concurrency"] = profile.concurrency
    if profile.unreviewed is not None:
        changes["unreviewed"] = profile.unreviewed
    return replace(options, **changes)
