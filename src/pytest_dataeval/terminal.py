"""What the plugin says on the terminal; the lines themselves are made elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pytest_dataeval.engine.outcome import LETTERS
from pytest_dataeval.report.text import visible

if TYPE_CHECKING:
    import pytest

    from pytest_dataeval.engine.outcome import TrialOutcome
    from pytest_dataeval.session import RunSession

#: Faults are alike more often than not: a screenful of them is enough.
MAX_FAULT_LINES = 40

_MARKUP = {"declined": "yellow", "unscored": "yellow", "fault": "red"}


def status(
    report: pytest.TestReport,
) -> tuple[str, str, str | tuple[str, dict[str, bool]]] | None:
    """Category, letter and word of a trial that pytest has no name for."""
    state = getattr(report, "dataeval_state", None)
    if state not in _MARKUP or report.when == "teardown":
        return None
    return state, LETTERS[state], (state.upper(), {_MARKUP[state]: True})


def header(session: RunSession) -> list[str]:
    """One line at the top: who is asked, under what, into which folder."""
    axes = session.project.axes
    wordings = "all" if axes.wordings is None else axes.wordings
    parts = [
        f"agents {', '.join(axes.agents)}",
        f"arms {', '.join(axes.arms)}",
        f"repeats {axes.repeats}",
        f"wordings {wordings}",
    ]
    if session.recording is not None:
        parts.append(f"run {session.recording.shown_folder}")
    return ["dataeval: " + "; ".join(parts)]


def plan_lines(found: Mapping[tuple[str, str], int], paid: set[str]) -> list[str]:
    """How many trials a run would make, and how many may cost money."""
    if not found:
        return []
    total = sum(found.values())
    costly = sum(count for (agent, _), count in found.items() if agent in paid)
    lines = ["", "trials per agent and arm:"]
    width = max(len(agent) + len(arm) + 3 for agent, arm in found)
    for (agent, arm), count in found.items():
        note = "  may cost money" if agent in paid else ""
        name = f"{agent} / {arm}"
        lines.append(f"  {name:<{width}} {count:>7}{note}")
    lines.append(f"  {'total':<{width}} {total:>7}  of which {costly} may cost money")
    return lines


def summary_lines(session: RunSession, width: int) -> list[str]:
    """What the run may claim, how to repeat a trial, and where the run lies."""
    from pytest_dataeval.report.terminal import lines

    summary, recording = session.summary, session.recording
    if session.trouble is not None:
        return ["", f"dataeval: the run has no summary: {visible(session.trouble)}"]
    if summary is None or recording is None:
        return []
    found = ["", *lines(summary, recording.shown_folder, width=width)]
    for nodeid, reason in session.faults.items():
        found += ["", f"FAULT {nodeid}", f"  {visible(reason)}"]
        if len(found) > MAX_FAULT_LINES:
            left = len(session.faults) - list(session.faults).index(nodeid) - 1
            found += ["", f"... and {left} more faults"] if left else []
            break
    found += ["", *repeat_lines(session)]
    return found


def repeat_lines(session: RunSession) -> list[str]:
    """The command that asks one trial again, for the first that did not pass."""
    ended = session.states
    wanted = next(
        (n for n, s in ended.items() if s in ("fault", "fail")), next(iter(ended), None)
    )
    if wanted is None or session.recording is None:
        return []
    lines = [f"one trial again:  pytest '{wanted}' {' '.join(session.axis_options())}"]
    if session.recording.incomplete:
        lines.append(f"go on:            {session.resume_command()}")
    return lines


def failure_text(outcome: TrialOutcome) -> str:
    """What a person sees of a trial that did not pass: no traceback."""
    from pytest_dataeval.report.terminal import failure_lines

    return "\n".join(failure_lines(outcome))
