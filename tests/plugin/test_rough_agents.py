"""Agents that misbehave: each is a named state of its own trials alone."""

from __future__ import annotations

import signal

import pytest

from .conftest import Project, needs_xdist

QUIET_AGENT = "needs_servers = False"

MALFORMED = {
    "sql as one text": 'Answer(text="42", sql="select 42")',
    "tables as one text": 'Answer(text="42", tables="a.b")',
    "text as a number": "Answer(text=42)",
    "usage as a mapping": 'Answer(text="42", usage={})',
    "cost that is no number": 'Answer(text="42", cost=float("nan"))',
    "cost in words": 'Answer(text="42", cost="lots")',
    "hops in words": 'Answer(text="42", hops="x")',
    "no stop reason": 'Answer(text="42", stop_reason=None)',
    "transcript as a text": 'Answer(text="42", transcript="abc")',
    "transcript without JSON": 'Answer(text="42", transcript=[{"a": {1, 2}}])',
}


@pytest.mark.parametrize("kind", list(MALFORMED))
def test_a_malformed_answer_is_a_fault_of_its_trial_alone(
    words: Project, kind: str
) -> None:
    words.agent(
        f"""
        if "wrong" in question:
            return {MALFORMED[kind]}
        return Answer(text="It is 42.")
        """,
        attributes=QUIET_AGENT,
    )
    result = words.pytest("-q", "--agents", "mine")
    assert result.status == 6, result.text
    assert list(result.faults().values()) == ["agent_error"]
    assert sorted(result.verdicts().values()) == ["pass", "pass"]
    assert "Traceback" not in result.text


ENDINGS = {
    "interrupt": "raise KeyboardInterrupt",
    "exit in a task": "await asyncio.create_task(leave())",
    "stopping the loop": "asyncio.get_running_loop().stop(); await asyncio.sleep(0.1)",
}


@pytest.mark.parametrize("kind", list(ENDINGS))
def test_an_agent_cannot_take_the_loop_down(words: Project, kind: str) -> None:
    words.agent(
        f"""
        async def leave():
            raise SystemExit(1)
        if "wrong" in question:
            {ENDINGS[kind]}
        return Answer(text="It is 42.")
        """,
        attributes=QUIET_AGENT,
    )
    result = words.pytest("-q", "--agents", "mine", timeout_s=60)
    verdicts = {k.split("::")[1]: v for k, v in result.verdicts().items()}
    assert (verdicts["L1-right"], verdicts["L2-right"]) == ("pass", "pass")
    if kind != "stopping the loop":
        assert list(result.faults().values()) == ["agent_error"]
        assert result.status == 6


def test_a_blocked_loop_is_a_fault_and_no_miss_of_the_others(words: Project) -> None:
    words.config(
        """
        agents:
          mine: {python: 'mine_agent:Agent', timeout_s: 1}
          bad: {python: 'bad_agent:Agent', timeout_s: 1}
        """
    )
    words.agent(
        "await asyncio.sleep(0.5)\nreturn Answer(text='It is 42.')",
        attributes=QUIET_AGENT,
    )
    words.agent(
        "__import__('time').sleep(2)\nreturn Answer(text='It is 42.')",
        name="bad",
        attributes=QUIET_AGENT,
    )
    result = words.pytest("-q", "--agents", "mine,bad", "-k", "L1-right")
    assert result.status == 6, result.text
    assert "fail" not in result.verdicts().values()
    faults = result.faults()
    assert faults["cases/words.yaml::L1-right::bad.w1.none.r1"] == "loop_blocked"
    assert "plain `def ask`" in result.out


def test_ctrl_c_while_the_loop_is_blocked_ends_the_run(words: Project) -> None:
    words.agent(
        """
        if "wrong" in question:
            open("waiting", "w").close()
            __import__("time").sleep(3600)
        return Answer(text="It is 42.")
        """,
        attributes=QUIET_AGENT,
    )
    result = words.interrupted(
        lambda root: (root / "waiting").exists(), signal.SIGINT, "--agents", "mine"
    )
    assert result.status == 2
    assert result.info["status"] == "incomplete"


def test_a_close_that_raises_is_a_warning(words: Project) -> None:
    words.agent(
        'return Answer(text="It is 42.")\n\nasync def aclose(self):\n    raise OSError("x")',
        attributes=QUIET_AGENT,
    )
    path = words.root / "mine_agent.py"
    path.write_text(
        path.read_text().replace("        async def aclose", "    async def aclose")
    )
    result = words.pytest("-q", "--agents", "mine")
    assert result.status == 0, result.text
    assert "closing mine failed: OSError: x" in result.text


def test_a_module_that_exits_is_a_broken_agent(words: Project) -> None:
    words.write("mine_agent.py", "import sys\nsys.exit('no licence')\n")
    result = words.pytest("-q", "--agents", "mine")
    assert result.status == 6
    assert "agent_broken" in result.text
    assert "no licence" in result.text


@pytest.mark.parametrize("where", ["ask", "set-up", "own test"])
def test_what_an_error_quotes_is_masked_everywhere(
    words: Project, where: str, mode: tuple[str, ...]
) -> None:
    secret, token = "hunter2-hunter2", "sk-ant-api03-AAAABBBBCCCCDDDDEEEE1234"
    words.config(
        'agents:\n  mine: {python: "mine_agent:Agent"}\n'
        'personas:\n  p: {token: "${TOK}"}\n'
    )
    boom = f'raise RuntimeError("{token} " + __import__("os").environ["TOK"])'
    text = boom if where == "ask" else f'return Answer(text="It is 42. {token}")'
    words.agent(text, attributes=QUIET_AGENT)
    if where == "set-up":
        words.write(
            "cases/conftest.py",
            f"import pytest\n\n@pytest.fixture(autouse=True)\ndef f():\n    {boom}\n",
        )
    words.write(
        "tests/test_own.py",
        """
        import pytest

        @pytest.mark.dataeval(suite="words", tier="L1")
        def test_mine(dataeval_answer):
            assert "never" in dataeval_answer.text
        """,
    )
    paths = ("tests",) if where == "own test" else ("cases",)
    shown = () if "no:terminal" in mode else ("-ra",)
    result = words.pytest(
        *paths, "--agents", "mine", *shown, "--junitxml", "out.xml", *mode, TOK=secret
    )
    assert result.status != 0
    for needle in (secret, token):
        assert needle not in result.text
        assert needle not in (words.root / "out.xml").read_text()
        for path in result.run.rglob("*"):
            if path.is_file():
                assert needle.encode() not in path.read_bytes(), path


def test_a_trial_that_a_fixture_skips_is_no_clean_run(
    words: Project, mode: tuple[str, ...]
) -> None:
    words.write(
        "cases/conftest.py",
        """
        import pytest

        @pytest.fixture(autouse=True)
        def picky(request):
            if "L1-wrong" in request.node.nodeid:
                pytest.skip("not today")
        """,
    )
    result = words.pytest("--agents", "mine", *mode)
    assert result.status == 6, result.text
    assert result.info["status"] == "incomplete"


def test_a_damaged_ledger_is_refused_before_the_first_ask(words: Project) -> None:
    first = words.pytest("-q", "--agents", "mine")
    ledger = first.run / "events.jsonl"
    whole = ledger.read_bytes()
    for damage in (b"\xff", b"[1]\n", b'{"kind": "zzz"}\n'):
        ledger.write_bytes(damage + whole)
        again = words.pytest("-q", "--agents", "mine", "--resume", str(first.run))
        assert again.status == 6, again.text
        assert "ledger_damaged" in again.text
        assert ledger.read_bytes() == damage + whole


@pytest.mark.parametrize(
    ("args", "words_"),
    [
        (("--resume", "pytest.ini"), "no run folder"),
        (("--repeats", "99999999"), "at most 10,000"),
        (("--arms", "all,floor"), "give it alone"),
        (("--run-dir", ""), "names nothing"),
    ],
)
def test_more_bad_values(words: Project, args: tuple[str, ...], words_: str) -> None:
    result = words.pytest("-q", "--agents", "mine", *args)
    assert result.status == 4, result.text
    assert words_ in result.text


@needs_xdist
def test_dist_each_is_refused(words: Project) -> None:
    result = words.pytest("--agents", "mine", "-n", "2", "--dist", "each")
    assert result.status == 4
    assert "--repeats" in result.text


def test_looking_at_fixtures_makes_no_run(words: Project) -> None:
    result = words.pytest("--fixtures")
    assert result.status == 0
    assert not (words.root / ".dataeval").exists()


@pytest.mark.parametrize(
    "text",
    [
        '{"suite": "f", "cases": [{"id": "L1-a", "tier": "L1", "question": "right?",'
        ' "reference": {"value": [42]}}]}',
        "  suite: f\n  cases:\n    - {id: L1-a, tier: L1, question: right,\n"
        "       reference: {value: [42]}}\n",
    ],
)
def test_case_files_in_other_forms_of_yaml_are_case_files(
    words: Project, text: str
) -> None:
    (words.root / "cases" / "extra.yaml").write_text(text)
    result = words.pytest("-q", "--agents", "mine", "cases/extra.yaml")
    assert result.counts() == {"passed": 1}


@pytest.mark.parametrize("key", ["case", "Cases"])
def test_a_mistyped_top_key_is_an_error(words: Project, key: str) -> None:
    (words.root / "cases" / "extra.yaml").write_text(f"{key}:\n  - {{id: a}}\n")
    result = words.pytest("-q", "--agents", "mine")
    assert result.status == 2
    assert f"unknown key '{key}'; write 'cases'" in result.out
