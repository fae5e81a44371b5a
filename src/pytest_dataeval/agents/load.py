"""From a name on the command line to an agent that can be asked."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_dataeval.agents.adapt import AdaptedAgent
from pytest_dataeval.errors import HarnessBroken, UsageError
from pytest_dataeval.validation import nearest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from pytest_dataeval.agents.gold import GoldTask
    from pytest_dataeval.agents.replay import Answers
    from pytest_dataeval.config import AgentConfig
    from pytest_dataeval.records import TrialKey

GROUP = "pytest_dataeval.agents"
BUILTINS: tuple[Literal["gold", "lexical", "replay"], ...] = (
    "gold",
    "lexical",
    "replay",
)

Hook = Callable[[str, "AgentConfig | None"], object | None]


@dataclass(frozen=True, slots=True)
class Services:
    """What the harness lends to the built-in agents.

    `gold` and `key` look a conversation up by its id; `answers` is the
    file given with `--answers`, None without one.
    """

    gold: Callable[[str], GoldTask]
    key: Callable[[str], TrialKey]
    answers: Answers | None = None


def known_agents(
    configured: Iterable[str], entry_points: Iterable[EntryPoint] | None = None
) -> list[str]:
    """Names that `make_agent` finds without the hook, sorted."""
    points = _installed() if entry_points is None else entry_points
    return sorted({*configured, *BUILTINS, *(point.name for point in points)})


def make_agent(
    name: str,
    config: AgentConfig | None,
    services: Services,
    *,
    hook: Hook | None = None,
    configured: Iterable[str] = (),
    import_paths: Sequence[Path] = (),
    entry_points: Sequence[EntryPoint] | None = None,
) -> AdaptedAgent:
    """The agent called `name`.

    Looked for in this order: its configuration, the built-in agents, the entry
    point group, the hook. `configured` are all names in the configuration, for
    the message when there is none; `import_paths` are put on `sys.path` for
    `python: pkg.mod:Class`. Raises UsageError for an unknown name and
    HarnessBroken (`agent_broken`) for an agent that cannot be made.
    """
    options = {} if config is None else config.options
    paid = None if config is None else config.paid
    if config is not None and config.python:
        where = f"agents.{name}.python: {config.python}"
        target = _import(config.python, where, import_paths)
        return _adapted(_built(target, options, where), name, where, paid)
    builtin = (config.builtin if config is not None else None) or name
    if builtin in BUILTINS:
        return _builtin(builtin, name, options, services, paid)
    points = _installed() if entry_points is None else entry_points
    for point in points:
        if point.name == name:
            where = f"entry point {name} = {point.value} in the group {GROUP}"
            loaded = _guarded(point.load, where, "Mend or uninstall the package.")
            return _adapted(_built(loaded, options, where), name, where, paid)
    if hook is not None:
        where = f"hook pytest_dataeval_agent({name!r})"
        made = _guarded(lambda: hook(name, config), where, "Mend the hook.")
        if made is not None:
            return _adapted(made, name, where, paid)
    raise UsageError(nearest("agent", name, known_agents(configured, points)))


def _builtin(
    kind: str,
    name: str,
    options: Mapping[str, Any],
    services: Services,
    paid: bool | None,
) -> AdaptedAgent:
    if options:
        raise UsageError(
            f"agents.{name}.options: the built-in agent {kind} takes no options; "
            f"remove {', '.join(sorted(options))}."
        )
    agent: object
    if kind == "gold":
        from pytest_dataeval.agents.gold import GoldAgent

        agent = GoldAgent(services.gold)
    elif kind == "lexical":
        from pytest_dataeval.agents.lexical import LexicalAgent

        agent = LexicalAgent()
    else:
        from pytest_dataeval.agents.replay import ReplayAgent

        if services.answers is None:
            raise UsageError(
                f"agent {name!r} replays recorded answers; name their file with "
                "--answers FILE."
            )
        agent = ReplayAgent(services.answers, services.key)
    return _adapted(agent, name, f"built-in agent {kind}", paid)


def _installed() -> Sequence[EntryPoint]:
    from importlib.metadata import entry_points

    return sorted(entry_points(group=GROUP), key=lambda point: point.name)


def _import(target: str, where: str, import_paths: Sequence[Path]) -> object:
    module_name, _, attribute = target.partition(":")
    for path in reversed(import_paths):
        if str(path) not in sys.path:
            sys.path.insert(0, str(path))
    module = _guarded(
        lambda: importlib.import_module(module_name),
        where,
        f"Install or mend the module {module_name}; it is looked for beside "
        "dataeval.yaml and in this interpreter's packages.",
    )
    value: object = module
    for part in attribute.split("."):
        if not hasattr(value, part):
            close = get_close_matches(part, dir(value), n=1)
            hint = f"did you mean {close[0]!r}?" if close else ""
            raise HarnessBroken(
                "agent_broken",
                where,
                f"module {module_name} has no attribute {attribute!r}.",
                f"Name a class, a factory or an agent in it; {hint}".rstrip("; "),
            )
        value = getattr(value, part)
    return value


def _built(target: object, options: Mapping[str, Any], where: str) -> object:
    """A class or factory is called with the options; an instance is taken."""
    is_instance = not isinstance(target, type) and hasattr(target, "ask")
    if is_instance:
        if options:
            raise UsageError(
                f"{where}: options are given, but this is an agent and not a class "
                "or factory that could take them; remove the options."
            )
        return target
    if not callable(target):
        raise HarnessBroken(
            "agent_broken",
            where,
            f"it is an object of type {type(target).__name__}.",
            "Name a class or factory that makes an agent, or an agent with ask().",
        )
    make = target
    remedy = "Mend it, or its options in dataeval.yaml."
    return _guarded(lambda: make(**options), where, remedy)


def _adapted(agent: object, name: str, where: str, paid: bool | None) -> AdaptedAgent:
    try:
        adapted = AdaptedAgent(agent, name)
    except TypeError as error:
        raise HarnessBroken(
            "agent_broken", where, f"{error}.", "Write the method ask()."
        ) from error
    if paid is not None:
        adapted.paid = paid
    return adapted


def _guarded(action: Callable[[], Any], where: str, remedy: str) -> Any:
    """Run an author's code; whatever it raises, the agent is what is broken."""
    try:
        return action()
    except HarnessBroken:
        raise
    except (Exception, SystemExit) as error:
        detail = f"{type(error).__name__}: {error}"
        raise HarnessBroken("agent_broken", where, detail, remedy) from error
