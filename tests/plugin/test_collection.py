"""Case files become pytest nodes: ids, markers, keywords, order, selection."""

from __future__ import annotations

import re

import pytest

from .conftest import Project, needs_xdist

NODE = "cases/words.yaml"


def collected(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("cases/")]


def test_the_leaf_names_all_four_axes(words: Project) -> None:
    result = words.pytest("--collect-only", "-q", "--agents", "mine")
    assert collected(result.out) == [
        f"{NODE}::L1-right::mine.w1.none.r1",
        f"{NODE}::L1-wrong::mine.w1.none.r1",
        f"{NODE}::L2-right::mine.w1.none.r1",
    ]


def test_collect_only_ends_with_trials_and_what_may_cost_money(words: Project) -> None:
    words.config(
        """
        agents:
          mine: {python: 'mine_agent:Agent'}
          free: {python: 'mine_agent:Agent', paid: false}
        """
    )
    result = words.pytest("--collect-only", "--agents", "mine,free", "--repeats", "2")
    assert result.status == 0
    assert "<CaseFile words.yaml>" in result.out
    assert "<Case L1-right>" in result.out
    assert "<Trial mine.w1.none.r2>" in result.out
    assert re.search(r"mine / none +6  may cost money\n", result.out)
    assert re.search(r"free / none +6\n", result.out)
    assert re.search(r"total +12  of which 6 may cost money", result.out)
    assert not (words.root / ".dataeval").exists()


def test_tiers_are_markers_and_tags_are_keywords(shop: Project) -> None:
    by_tier = shop.pytest("--collect-only", "-q", "-m", "L2")
    assert [x.split("::")[1] for x in collected(by_tier.out)] == ["L2-by-customer"]
    by_tag = shop.pytest("--collect-only", "-q", "-k", "counting")
    assert [x.split("::")[1] for x in collected(by_tag.out)] == ["L1-orders"]
    assert "unknown" not in by_tag.text.lower()


def test_strict_markers_accept_tiers_and_free_tags(shop: Project) -> None:
    result = shop.pytest("--collect-only", "-q", "--strict-markers", "-m", "L1 or L4")
    assert result.status == 0, result.text
    assert len(collected(result.out)) == 2


def test_repeat_1_of_everything_is_asked_before_repeat_2(words: Project) -> None:
    result = words.pytest("-v", "--agents", "mine", "--repeats", "3")
    ran = re.findall(r"(L\d-\w+)::mine\.w1\.none\.r(\d)", result.out)
    first = [case for case, repeat in ran if repeat == "1"][:3]
    assert first == ["L1-right", "L1-wrong", "L2-right"]
    repeats = [int(repeat) for _, repeat in ran[:9]]
    assert repeats == sorted(repeats)


def test_wordings_are_asked_when_reviewed(project: Project) -> None:
    project.cases(
        """
        suite: words
        cases:
          - id: L1-many
            tier: L1
            question: "one"
            wordings:
              - {text: "two"}
              - {text: "three", reviewed: true}
            reference: {value: [42]}
        """
    )
    args = ("--collect-only", "-q", "--agents", "gold")

    def wordings(*more: str) -> list[str]:
        found = collected(project.pytest(*args, *more).out)
        return [x.split("::")[2].split(".")[1] for x in found]

    assert wordings() == ["w1"]
    assert wordings("--wordings", "all") == ["w1", "w3"]
    assert wordings("--wordings", "2", "--unreviewed") == ["w1", "w2"]


def test_one_case_and_one_leaf_can_be_selected(words: Project) -> None:
    case = words.pytest("-q", "--agents", "mine", f"{NODE}::L2-right")
    assert case.counts() == {"passed": 1}
    leaf = words.pytest("-q", "--agents", "mine", f"{NODE}::L1-right::mine.w1.none.r1")
    assert leaf.counts() == {"passed": 1}


def test_a_leaf_that_the_options_do_not_make_names_what_to_add(words: Project) -> None:
    result = words.pytest(f"{NODE}::L1-right::mine.w1.floor.r3")
    assert result.status == 4
    assert "--agents gold,mine" in result.text
    assert "--arms none,floor" in result.text
    assert "--repeats 3" in result.text


def test_reportinfo_points_at_the_case_in_the_file(words: Project) -> None:
    words.write(
        "conftest.py",
        """
        def pytest_itemcollected(item):
            print("AT", item.location)
        """,
    )
    result = words.pytest("--collect-only", "-q", "-s", "--agents", "mine")
    # 0-based: the first case stands on line 4 of the file
    assert "AT ('cases/words.yaml', 3, 'L1-right mine.w1.none.r1')" in result.out


def test_last_failed_asks_only_what_failed(words: Project) -> None:
    first = words.pytest("-q", "--agents", "mine")
    assert first.counts() == {"failed": 1, "passed": 2}
    again = words.pytest("-q", "--agents", "mine", "--lf")
    assert again.counts() == {"failed": 1, "deselected": 2}
    before = words.pytest("-v", "--agents", "mine", "--ff")
    ran = re.findall(r"::(L\d-\w+)::mine\.w1\.none\.r1 \w+", before.out)
    assert ran[0] == "L1-wrong"


@pytest.mark.parametrize("option", ["--lf", "--ff"])
def test_last_failed_of_other_options_never_asks_everything(
    words: Project, option: str
) -> None:
    words.pytest("-q", "--agents", "mine")
    result = words.pytest("-q", "--agents", "gold", option)
    assert result.status == 5
    assert "were asked with other options" in result.text
    assert "L1-wrong::mine.w1.none.r1" in result.text


@needs_xdist
def test_workers_collect_identical_ids_and_give_the_same_summary(
    words: Project,
) -> None:
    args = ("-q", "--agents", "mine", "--repeats", "4")
    serial, eight = words.pytest(*args), words.pytest(*args, "-n", "8")
    assert serial.status == eight.status == 1
    assert eight.counts() == serial.counts() == {"failed": 4, "passed": 8}


def test_the_plugin_can_be_blocked(words: Project) -> None:
    result = words.pytest("-p", "no:dataeval")
    assert result.status == 5
    assert "dataeval:" not in result.out


BAD = {
    "unknown key": (
        "cases:\n  - {id: a, tier: L1, question: q, refrence: {value: [1]}}\n",
        "bad.yaml:2:36: cases[0] (a).refrence",
        "did you mean 'reference'?",
    ),
    "wrong type": (
        "cases:\n  - {id: a, tier: L1, question: q, revision: two}\n",
        "bad.yaml:2:36",
        "expected a whole number",
    ),
    "duplicate key": (
        "cases:\n  - {id: a, id: b, tier: L1, question: q}\n",
        "bad.yaml:2:13",
        "id",
    ),
    "duplicate id": (
        "cases:\n"
        "  - {id: a, tier: L1, question: q, reference: {value: [1]}}\n"
        "  - {id: a, tier: L1, question: r, reference: {value: [1]}}\n",
        "bad.yaml:3:",
        "'a'",
    ),
    "missing reference": (
        "cases:\n  - {id: a, tier: L1, question: q}\n",
        "bad.yaml:2:",
        "reference",
    ),
    "unknown tier": (
        "cases:\n  - {id: a, tier: L9, question: q, reference: {value: [1]}}\n",
        "bad.yaml:2:",
        "L1",
    ),
    "tab": ("cases:\n\t- {id: a}\n", "bad.yaml:2:1", "tab"),
    "anchor": (
        "cases:\n  - &x {id: a, tier: L1, question: q, reference: {value: [1]}}\n",
        "bad.yaml:2:",
        "anchor",
    ),
    "quoting": ('cases:\n  - {id: a, question: "q}\n', "bad.yaml:2:", "quot"),
    "empty question": (
        'cases:\n  - {id: a, tier: L1, question: "", reference: {value: [1]}}\n',
        "bad.yaml:2:",
        "question",
    ),
}


@pytest.mark.parametrize("kind", list(BAD))
def test_a_bad_case_file_is_one_error_with_its_place(
    project: Project, kind: str
) -> None:
    text, place, words = BAD[kind]
    project.write("cases/bad.yaml", "").write_text(text)
    result = project.pytest("-q")
    assert result.status in (2, 3, 4), result.text
    assert result.status == 2
    assert place in result.out
    assert words in result.out
    assert "Traceback" not in result.text
    assert result.counts() == {"error": 1}


def test_a_file_that_is_not_utf8_is_one_error(project: Project) -> None:
    path = project.write("cases/bad.yaml", "")
    path.write_bytes(b"cases:\n  - {id: a, question: \xff}\n")
    result = project.pytest("-q")
    assert result.status == 2
    assert "bad.yaml:2:" in result.out
    assert "UTF-8" in result.out


@needs_xdist
def test_a_bad_case_file_is_reported_once_and_not_once_a_worker(
    project: Project,
) -> None:
    project.cases("cases:\n  - {id: a, tier: L9, question: q}\n", "cases/bad.yaml")
    result = project.pytest("-q", "-n", "3")
    assert result.status != 0
    errors = result.out.count("ERROR collecting") + result.out.count("bad.yaml:2:")
    assert result.out.count("ERROR collecting") == 1, (errors, result.out)


def test_an_id_in_two_files_of_a_suite_names_both_places(project: Project) -> None:
    text = "suite: s\ncases:\n  - {id: a, tier: L1, question: q, reference: {value: [1]}}\n"
    project.cases(text, "cases/one.yaml")
    project.cases(text, "cases/two.yaml")
    result = project.pytest("-q")
    assert result.status == 2
    assert "one.yaml" in result.out
    assert "two.yaml:3:" in result.out
