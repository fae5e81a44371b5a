"""What pytest sees of each trial, and the exit status of a session."""

from __future__ import annotations

import json

import pytest

from .conftest import Project

CASES = """
    suite: words
    cases:
      - {id: L1-pass, tier: L1, question: "right?", reference: {value: [42]}}
      - {id: L1-fail, tier: L1, question: "wrong?", reference: {value: [42]}}
      - id: L1-expected
        tier: L1
        question: "wrong, as known?"
        reference: {value: [42]}
        expected_failure: {reason: "known since spring"}
      - id: L1-overdue
        tier: L1
        question: "wrong, and overdue?"
        reference: {value: [42]}
        expected_failure: {reason: "was to be mended", until: 2020-01-31}
      - {id: L1-stale, tier: L1, question: "right?", valid_until: 2020-01-31,
         reference: {value: [42]}}
      - {id: L1-provisional, tier: L1, question: "right?", status: provisional,
         reference: {value: [42]}}
      - {id: L1-empty, tier: L1, question: "right?", reference: {value: [null]}}
      - {id: L1-raises, tier: L1, question: "right? raise", reference: {value: [42]}}
      - {id: L5-declines, tier: L5, expect: block, question: "decline"}
"""
EXPECTED = {
    "L1-pass": ".",
    "L1-fail": "F",
    "L1-expected": "x",
    "L1-overdue": "F",
    "L1-stale": "u",
    "L1-provisional": "u",
    "L1-empty": "H",
    "L1-raises": "H",
    "L5-declines": "d",
}


@pytest.fixture
def every_outcome(words: Project) -> Project:
    words.cases(CASES, "cases/words.yaml")
    words.agent(
        """
        if "raise" in question:
            raise ValueError("out of tokens")
        if "decline" in question:
            return Answer(text="I will not attempt that; I must refuse.")
        return Answer(text="It is 42." if "right" in question else "It is 7.")
        """,
        attributes="needs_servers = False",
    )
    return words


def test_letters(every_outcome: Project) -> None:
    result = every_outcome.pytest("--agents", "mine")
    line = next(x for x in result.out.splitlines() if x.startswith("cases/words.yaml "))
    assert line.split()[1] == "".join(EXPECTED.values()), result.out


def test_counts_and_exit_status(every_outcome: Project, mode: tuple[str, ...]) -> None:
    result = every_outcome.pytest("--agents", "mine", *mode)
    assert result.status == 6, result.text
    if "no:terminal" not in mode:
        assert result.counts() == {
            "failed": 2,
            "passed": 1,
            "declined": 1,
            "fault": 2,
            "unscored": 2,
            "xfailed": 1,
        }
    verdicts = {k.split("::")[1]: v for k, v in result.verdicts().items()}
    assert verdicts == {
        "L1-pass": "pass",
        "L1-fail": "fail",
        "L1-expected": "fail",
        "L1-overdue": "fail",
        "L1-stale": "unscored",
        "L1-provisional": "unscored",
        "L1-empty": "unscored",
        "L5-declines": "declined",
    }
    assert list(result.faults().values()) == ["agent_error"]


def test_verbose_words(every_outcome: Project) -> None:
    result = every_outcome.pytest("-v", "--agents", "mine")
    for case, word in (
        ("L1-raises", "FAULT"),
        ("L5-declines", "DECLINED"),
        ("L1-stale", "UNSCORED"),
        ("L1-expected", "XFAIL"),
    ):
        assert f"::{case}::mine.w1.none.r1 {word}" in result.out


def test_faults_and_fails_count_for_maxfail_but_declines_do_not(
    every_outcome: Project,
) -> None:
    result = every_outcome.pytest("-x", "--agents", "mine", "-k", "declines or raises")
    assert result.counts()["fault"] == 1
    again = every_outcome.pytest("-x", "--agents", "mine", "-k", "declines or pass")
    assert again.status == 0
    assert again.counts() == {"passed": 1, "declined": 1, "deselected": 7}


STATUS = {
    "pass": ("L1-pass", 0),
    "fail": ("L1-fail", 1),
    "expected failure": ("L1-expected", 0),
    "fault": ("L1-raises", 6),
    "only declined": ("L5-declines", 6),
    "only stale": ("L1-stale", 6),
    "fail beside a fault": ("L1-fail or L1-raises", 6),
    "declined beside a pass": ("L5-declines or L1-pass", 0),
}


@pytest.mark.parametrize("kind", list(STATUS))
def test_exit_status(every_outcome: Project, kind: str) -> None:
    keyword, status = STATUS[kind]
    result = every_outcome.pytest("-q", "--agents", "mine", "-k", keyword)
    assert result.status == status, result.text


def test_a_test_that_is_no_trial_and_fails_gives_1(every_outcome: Project) -> None:
    every_outcome.write("cases/test_plain.py", "def test_it():\n    assert False\n")
    result = every_outcome.pytest("-q", "--agents", "mine")
    assert result.status == 1


def test_no_case_selected_gives_pytests_5(every_outcome: Project) -> None:
    assert every_outcome.pytest("-q", "-k", "nothing").status == 5


def test_a_failing_trial_shows_the_two_sides_and_no_traceback(words: Project) -> None:
    result = words.pytest("--agents", "mine")
    assert "wrong?" in result.out
    assert "It is 7." in result.out
    assert "42" in result.out
    assert "Traceback" not in result.text
    assert "runtest" not in result.text


def test_the_summary_says_how_to_repeat_one_trial_and_where_the_run_is(
    words: Project,
) -> None:
    result = words.pytest("--agents", "mine")
    command = "pytest 'cases/words.yaml::L1-wrong::mine.w1.none.r1' --agents mine"
    assert command in result.out
    assert f"run .dataeval/runs/{result.run.name}" in result.out


def test_files_and_status_without_a_terminal(words: Project) -> None:
    result = words.pytest("-p", "no:terminal", "--agents", "mine")
    assert result.status == 1
    assert result.out == ""
    assert result.info["status"] == "complete"
    assert json.dumps(result.summary).count('"L1"') >= 1


def test_a_teardown_that_fails_is_an_error_and_leaves_the_score(words: Project) -> None:
    words.write(
        "cases/conftest.py",
        """
        import pytest

        @pytest.fixture(autouse=True)
        def breaks(request):
            yield
            if "L2" in request.node.nodeid:
                raise OSError("cannot clean up")
        """,
    )
    result = words.pytest("-q", "--agents", "mine", "-k", "right")
    assert result.status == 1
    assert result.counts() == {"passed": 2, "error": 1, "deselected": 1}
    assert sorted(result.verdicts().values()) == ["pass", "pass"]
    assert result.faults() == {}


def test_a_set_up_that_fails_is_a_fault_and_the_agent_is_not_asked(
    words: Project, mode: tuple[str, ...]
) -> None:
    words.write(
        "cases/conftest.py",
        """
        import pytest

        @pytest.fixture(autouse=True)
        def breaks(request, dataeval_agent):
            if "L2" in request.node.nodeid:
                raise OSError("no room")
        """,
    )
    result = words.pytest("--agents", "mine", "-k", "right", *mode)
    assert result.status == 6
    assert list(result.faults().values()) == ["item_failed"]
    assert [e["case"] for e in result.events("attempt")] == ["L1-right"]
