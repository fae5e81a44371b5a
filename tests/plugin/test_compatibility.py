"""Life beside other plugins; docs/compatibility.md says the same in words."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from .conftest import QUIET, Project, Result, needs_xdist


def with_plugin(project: Project, plugin: str, *args: str) -> Result:
    """Run with one of the plugins that the other tests switch off."""
    switched = list(QUIET)
    where = switched.index(f"no:{plugin}")
    del switched[where - 1 : where + 1]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *switched, *args],
        cwd=project.root,
        env=project.environment({}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Result(done.returncode, done.stdout, done.stderr, project.root)


@pytest.mark.parametrize("given", ["command line", "ini"])
def test_reruns_are_refused(words: Project, given: str) -> None:
    if given == "ini":
        words.write("pytest.ini", "[pytest]\ntestpaths = cases\nreruns = 2\n")
    args = ("--reruns", "2") if given == "command line" else ()
    result = with_plugin(words, "rerunfailures", "--agents", "mine", *args)
    assert result.status == 4, result.text
    assert "best-of-n" in result.text
    assert "--repeats" in result.text
    assert not (words.root / ".dataeval").exists()


def test_count_is_warned_of(words: Project) -> None:
    result = with_plugin(words, "repeat", "--agents", "mine", "--count", "3")
    assert result.status == 1
    assert "use --repeats" in result.out
    assert len(result.events("score")) == 3


def test_randomly_shuffles_and_the_figures_stay(words: Project) -> None:
    ordered = words.pytest("-q", "--agents", "mine", "--repeats", "3").summary
    for seed in ("1", "2"):
        shuffled = with_plugin(
            words,
            "randomly",
            "--agents",
            "mine",
            "--repeats",
            "3",
            "-p",
            "randomly",
            "-p",
            "no:cacheprovider",
            f"--randomly-seed={seed}",
        )
        assert shuffled.status == 1, shuffled.text
        assert without_times(shuffled.summary) == without_times(ordered)


def without_times(summary: dict) -> dict:
    """The summary less what a clock gave."""
    for group in summary["groups"]:
        group.pop("latency_median_ms", None)
    return summary


def test_a_timeout_of_pytest_timeout_is_a_fault(words: Project) -> None:
    words.agent(
        """
        if "wrong" in question:
            await asyncio.sleep(30)
        return Answer(text="It is 42.")
        """,
        attributes="needs_servers = False",
    )
    result = with_plugin(words, "timeout", "--agents", "mine", "--timeout", "2")
    assert result.status == 6, result.text
    assert list(result.faults().values()) == ["item_failed"]
    assert "Timeout" in result.events("fault")[0]["detail"]
    assert sorted(result.verdicts().values()) == ["pass", "pass"]


@pytest.mark.parametrize("asyncio_mode", ["strict", "auto"])
def test_asyncio_leaves_trials_alone(words: Project, asyncio_mode: str) -> None:
    words.write(
        "tests/test_async.py",
        """
        import pytest

        @pytest.mark.asyncio
        async def test_it():
            pass
        """,
    )
    result = with_plugin(
        words,
        "asyncio",
        "--agents",
        "mine",
        "cases",
        "tests",
        f"--asyncio-mode={asyncio_mode}",
    )
    assert result.counts()["passed"] == 3, result.text
    assert result.counts()["failed"] == 1


def test_stepwise_goes_on_at_the_failing_trial(words: Project) -> None:
    first = words.pytest("-q", "--agents", "mine", "--stepwise")
    assert list(first.verdicts().values()) == ["pass", "fail"]
    again = words.pytest("-q", "--agents", "mine", "--stepwise")
    assert [x.split("::")[1] for x in again.verdicts()] == ["L1-wrong"]


def test_runxfail_reports_an_expected_failure_as_a_failure(words: Project) -> None:
    words.cases(
        """
        suite: words
        cases:
          - id: L1-known
            tier: L1
            question: "wrong, as known?"
            reference: {value: [42]}
            expected_failure: {reason: "known"}
          - {id: L1-right, tier: L1, question: "right?", reference: {value: [42]}}
        """,
        "cases/words.yaml",
    )
    assert words.pytest("-q", "--agents", "mine").counts() == {
        "passed": 1,
        "xfailed": 1,
    }
    result = words.pytest("-q", "--agents", "mine", "--runxfail")
    assert result.counts() == {"failed": 1, "passed": 1}


def test_junitxml_has_one_testcase_a_trial_and_short_texts(words: Project) -> None:
    words.pytest("-q", "--agents", "mine", "--junitxml", "out.xml")
    suite = ET.parse(words.root / "out.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("3", "1")
    names = [case.get("name") for case in suite.iter("testcase")]
    assert names == ["mine.w1.none.r1"] * 3
    classes = [case.get("classname") for case in suite.iter("testcase")]
    assert classes[0] == "cases.words.yaml.L1-right"


OTHER = """
    def pytest_addoption(parser):
        group = parser.getgroup("other")
        group.addoption("--repeats", dest="other_repeats", default="none")
        group.addoption("--arms", dest="other_arms", default="none")

    def pytest_report_header(config):
        return f"other: {config.getoption('other_repeats')}"
"""


@pytest.mark.parametrize("where", ["plugin", "root conftest", "cases conftest"])
def test_another_plugin_with_our_option_names_keeps_them(
    words: Project, where: str
) -> None:
    name = {
        "plugin": "other_plugin.py",
        "root conftest": "conftest.py",
        "cases conftest": "cases/conftest.py",
    }[where]
    words.write(name, OTHER)
    plugin = ("-p", "other_plugin") if where == "plugin" else ()
    result = words.pytest(
        *plugin, "--repeats", "theirs", "--dataeval-repeats", "2", "--agents", "mine"
    )
    assert result.status == 1, result.text
    assert "other: theirs" in result.out
    assert len(result.events("score")) == 6


def test_values_of_short_options_are_no_paths(words: Project) -> None:
    """A conftest in testpaths is still loaded at the start."""
    words.write(
        "cases/conftest.py", "def pytest_report_header():\n    return 'early'\n"
    )
    result = words.pytest("--agents", "mine")
    assert "early" in result.out


@needs_xdist
def test_concurrency_and_workers_together_are_a_usage_error(words: Project) -> None:
    result = words.pytest("--agents", "mine", "--concurrency", "4", "-n", "2")
    assert result.status == 4
    assert "give one of them" in result.text


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--repeats", "0"),
        ("--repeats", "many"),
        ("--wordings", "none"),
        ("--concurrency", "-1"),
        ("--agents", ","),
        ("--agents", "gold,gold"),
    ],
)
def test_bad_values_are_usage_errors(words: Project, option: str, value: str) -> None:
    result = words.pytest(f"{option}={value}")
    assert result.status == 4, result.text
    assert option in result.text
    assert "Traceback" not in result.text
