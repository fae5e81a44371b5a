"""Arms: named sets of switches on what the agent is given.

| arm | catalog server | descriptions | prefetched schema | prompt |
|---|---|---|---|---|
| catalog | yes | full | no | standard |
| prefetch | yes | full | yes | standard |
| schema-only | yes | emptied | no | standard |
| none | no | - | no | standard |
| floor | no | - | no | minimal |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_dataeval.errors import UsageError
from pytest_dataeval.mcp.prompts import MINIMAL, STANDARD
from pytest_dataeval.records import sha256_text

if TYPE_CHECKING:
    from pytest_dataeval.config import ArmConfig, Settings

_PROMPTS = {"standard": STANDARD, "minimal": MINIMAL}


@dataclass(frozen=True, slots=True)
class Arm:
    """What an agent is given. `descriptions` is `full` or `schema` (emptied)."""

    name: str
    catalog: bool
    descriptions: str
    prefetch: bool
    prompt: str

    @property
    def has_definitions(self) -> bool:
        """Whether definitions can reach the agent in this arm."""
        return self.catalog and self.descriptions == "full"

    def identity(self) -> dict[str, Any]:
        """The switches as a run's identity pins them, with the prompt's SHA-256."""
        return {
            "catalog": self.catalog,
            "descriptions": self.descriptions,
            "prefetch": self.prefetch,
            "prompt_sha256": sha256_text(self.prompt),
        }


BUILT_IN: dict[str, Arm] = {
    arm.name: arm
    for arm in (
        Arm("catalog", True, "full", False, STANDARD),
        Arm("prefetch", True, "full", True, STANDARD),
        Arm("schema-only", True, "schema", False, STANDARD),
        Arm("none", False, "full", False, STANDARD),
        Arm("floor", False, "full", False, MINIMAL),
    )
}


def resolve_arms(settings: Settings, names: Sequence[str]) -> list[Arm]:
    """The arms called `names`, in the order in which they are asked.

    `("all",)` means the configured arms, or the built-in ones if none is
    configured. A configured arm goes before a built-in one of its name. Arms that
    prefetch come right after the first arm, with which each later arm is paired.
    Raises UsageError for an unknown or repeated name, or an unusable prompt file.
    """
    from pytest_dataeval.validation import nearest

    configured = settings.config.arms
    known = [*configured, *(name for name in BUILT_IN if name not in configured)]
    if list(names) == ["all"]:
        names = list(configured or BUILT_IN)
    if "all" in names:
        raise UsageError("--arms all names every arm; give it alone")
    arms: list[Arm] = []
    for name in names:
        if name not in known:
            raise UsageError(nearest("arm", name, known))
        if any(arm.name == name for arm in arms):
            raise UsageError(f"arm {name!r} is named twice; name each arm once")
        if name in configured:
            arms.append(_configured(name, configured[name], settings.rootdir))
        else:
            arms.append(BUILT_IN[name])
    first, later = arms[:1], arms[1:]
    return first + sorted(later, key=lambda arm: not arm.prefetch)


def _configured(name: str, config: ArmConfig, rootdir: Path) -> Arm:
    return Arm(
        name,
        config.catalog,
        config.descriptions,
        config.prefetch,
        _prompt(name, config, rootdir),
    )


def _prompt(name: str, config: ArmConfig, rootdir: Path) -> str:
    if config.prompt_file is None:
        return _PROMPTS[config.prompt or "standard"]
    key = f"dataeval.yaml: arms.{name}.prompt_file"
    path = rootdir / config.prompt_file
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{key}: {path} cannot be read: {error}") from error
    if not text.strip():
        raise UsageError(f"{key}: {path} is empty; write the system prompt into it")
    return text
