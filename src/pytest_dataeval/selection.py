"""What is collected, in which order, and what is refused before a run."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dataeval.engine.plan import repeat_of
from pytest_dataeval.errors import FileError, FileErrors, UsageError
from pytest_dataeval.items import TrialItem
from pytest_dataeval.records import TrialKey

if TYPE_CHECKING:
    from pytest_dataeval.cases.load import LoadedCase
    from pytest_dataeval.engine.options import RunOptions
    from pytest_dataeval.engine.project import Project
    from pytest_dataeval.engine.suites import Suites


def refuse_foreign_options(config: pytest.Config) -> None:
    """Refuse what would falsify a run; warn of what does nothing.

    Raises UsageError.
    """
    if getattr(config.option, "dist", "no") == "each":
        raise UsageError(
            "--dist=each runs every trial in every worker, which asks it that many "
            "times and counts it once; use --repeats with another --dist"
        )
    reruns = config.getoption("reruns", None) or _ini_number(config, "reruns")
    if reruns:
        raise UsageError(
            "--reruns asks a failed trial again and keeps the best answer, which "
            "turns pass@1 into best-of-n; leave it out and use --repeats, which "
            "counts every answer"
        )
    if (config.getoption("count", None) or 1) > 1:
        config.issue_config_time_warning(
            pytest.PytestWarning(
                "--count (pytest-repeat) does not repeat golden questions; "
                "use --repeats"
            ),
            stacklevel=2,
        )


def refuse_concurrency(options: RunOptions) -> None:
    """Refuse asks in flight in one process where processes ask one at a time."""
    if options.concurrency is not None:
        raise UsageError(
            "--concurrency (or concurrency: of the profile) is asks in flight in one "
            "process, and -n is processes that ask one at a time: give one of them"
        )


def _ini_number(config: pytest.Config, name: str) -> int:
    try:
        return int(config.getini(name) or 0)
    except (KeyError, ValueError):
        return 0


def order_by_repeat(items: list[pytest.Item]) -> None:
    """Repeat 1 of every trial before repeat 2; other tests keep their places."""
    places = [i for i, item in enumerate(items) if isinstance(item, TrialItem)]
    trials = sorted((items[i] for i in places), key=lambda item: repeat_of(item.name))
    for place, item in zip(places, trials, strict=True):
        items[place] = item


def refuse_stale_last_failed(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Select nothing where `--lf` or `--ff` knows only trials of other options.

    pytest would fall back to all tests, which here means asking everything.
    """
    wanted = config.getoption("lf", False) or config.getoption("failedfirst", False)
    cache = getattr(config, "cache", None)  # absent under -p no:cacheprovider
    if not wanted or cache is None:
        return
    failed: Mapping[str, bool] = cache.get("cache/lastfailed", {})
    trials = [item for item in items if isinstance(item, TrialItem)]
    others = [nodeid for nodeid in failed if is_trial_id(nodeid)]
    if not others or any(item.nodeid in failed for item in items):
        return
    config.hook.pytest_deselected(items=trials)
    items[:] = [item for item in items if not isinstance(item, TrialItem)]
    warnings.warn(
        pytest.PytestWarning(
            "the trials that failed last were asked with other options, for example "
            f"{others[0]}; give those options again, or drop --lf and --ff"
        ),
        stacklevel=1,
    )


def is_trial_id(nodeid: str) -> bool:
    """Whether a node id is one that a case file makes."""
    parts = nodeid.split("::")
    if len(parts) != 3:
        return False
    try:
        TrialKey.from_leaf("", parts[1], parts[2])
    except ValueError:
        return False
    return True


def check_named_leaves(config: pytest.Config, project: Project, suites: Suites) -> None:
    """Refuse a leaf on the command line that the options do not make.

    Raises UsageError with the options to add.
    """
    for argument in config.args:
        if not is_trial_id(argument):
            continue
        name, case_id, leaf = argument.split("::")
        path = (config.invocation_params.dir / name).resolve()
        loaded = _case(suites, path, case_id) if suites.is_candidate(path) else None
        if loaded is None:
            continue  # pytest itself says what is not there
        missing = project.axes.missing_for(
            TrialKey.from_leaf("", case_id, leaf), loaded
        )
        if missing:
            raise UsageError(
                f"{argument} is not a trial of this run; add {' '.join(missing)}"
            )


def _case(suites: Suites, path: Any, case_id: str) -> LoadedCase | None:
    try:
        file = suites.load(path)
    except (FileError, FileErrors, OSError):
        return None
    cases: Sequence[LoadedCase] = file.cases if file is not None else ()
    return next((loaded for loaded in cases if loaded.case.id == case_id), None)
