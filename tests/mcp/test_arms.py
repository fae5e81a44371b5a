"""Arms differ in exactly the switches that they claim."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from pytest_dataeval.config import Settings, load_settings
from pytest_dataeval.errors import UsageError
from pytest_dataeval.mcp.arms import BUILT_IN, Arm, resolve_arms


def settings_of(folder: Path, text: str) -> Settings:
    (folder / "dataeval.yaml").write_text(text)
    return load_settings(folder, {})


def switches(arm: Arm) -> dict[str, object]:
    values = dataclasses.asdict(arm)
    del values["name"]
    return values


def differing(first: str, second: str) -> set[str]:
    one, other = switches(BUILT_IN[first]), switches(BUILT_IN[second])
    return {key for key in one if one[key] != other[key]}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("catalog", "prefetch", {"prefetch"}),
        ("catalog", "schema-only", {"descriptions"}),
        ("catalog", "none", {"catalog"}),
        ("none", "floor", {"prompt"}),
        ("catalog", "floor", {"catalog", "prompt"}),
    ],
)
def test_built_in_arms_differ_in_the_named_switches_only(
    first: str, second: str, expected: set[str]
) -> None:
    assert differing(first, second) == expected


def test_the_floor_prompt_says_nothing_of_catalogs_definitions_or_abstaining() -> None:
    prompt = BUILT_IN["floor"].prompt.lower()
    for word in ("catalog", "defin", "glossary", "term", "metric", "cannot", "missing"):
        assert word not in prompt
    assert len(prompt.split()) >= 15


def test_the_standard_prompt_asks_for_figures_refusals_and_abstaining() -> None:
    prompt = BUILT_IN["catalog"].prompt
    for rule in ("no reason to ask back", "State the figures", "refused", "missing"):
        assert rule in prompt


def test_definitions_reach_the_agent_in_two_arms_only() -> None:
    with_definitions = {name for name, arm in BUILT_IN.items() if arm.has_definitions}
    assert with_definitions == {"catalog", "prefetch"}


def test_all_means_the_built_in_arms_where_none_is_configured(tmp_path: Path) -> None:
    arms = resolve_arms(settings_of(tmp_path, "personas: {}\n"), ("all",))
    assert [arm.name for arm in arms] == [
        "catalog",
        "prefetch",
        "schema-only",
        "none",
        "floor",
    ]


def test_arms_that_prefetch_come_right_after_the_first(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, "personas: {}\n")
    arms = resolve_arms(settings, ("none", "floor", "prefetch", "catalog"))
    assert [arm.name for arm in arms] == ["none", "prefetch", "floor", "catalog"]


def test_a_configured_arm_goes_before_the_built_in_one_of_its_name(
    tmp_path: Path,
) -> None:
    (tmp_path / "short.txt").write_text("Be short.\n")
    settings = settings_of(
        tmp_path,
        "arms:\n"
        "  terse: {prompt_file: short.txt}\n"
        "  none: {catalog: false, prompt: minimal}\n",
    )
    terse, none, floor = resolve_arms(settings, ("terse", "none", "floor"))
    assert (terse.catalog, terse.prompt) == (True, "Be short.\n")
    assert switches(none) == switches(floor)
    assert [arm.name for arm in resolve_arms(settings, ("all",))] == ["terse", "none"]


def test_the_identity_of_an_arm_tells_prompts_apart_by_hash() -> None:
    none, floor = BUILT_IN["none"].identity(), BUILT_IN["floor"].identity()
    assert none.pop("prompt_sha256") != floor.pop("prompt_sha256")
    assert none == floor


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("catalg",), "did you mean 'catalog'"),
        (("catalog", "catalog"), "named twice"),
        (("lost",), "cannot be read"),
        (("blank",), "is empty"),
    ],
)
def test_what_cannot_be_an_arm_is_a_usage_error(
    tmp_path: Path, names: tuple[str, ...], message: str
) -> None:
    (tmp_path / "blank.txt").write_text(" \n")
    settings = settings_of(
        tmp_path,
        "arms:\n"
        "  lost: {prompt_file: nowhere.txt}\n"
        "  blank: {prompt_file: blank.txt}\n",
    )
    with pytest.raises(UsageError, match=message):
        resolve_arms(settings, names)
