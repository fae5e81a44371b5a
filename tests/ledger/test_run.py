from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_dataeval.errors import HarnessBroken, UsageError
from pytest_dataeval.ledger.artifacts import Artifacts
from pytest_dataeval.ledger.events import (
    attempt_event,
    fault_event,
    reference_event,
    score_event,
)
from pytest_dataeval.ledger.read import Fault, Planned, load, read_lines
from pytest_dataeval.ledger.run import Run
from pytest_dataeval.records import Attempt, Column, ResultSet, Score, TrialKey
from pytest_dataeval.warehouse.references import Reference

IDENTITY = {"instrument": 1, "agents": {"claude": {"model": "m1"}}, "arms": ["none"]}


def run_json(folder: Path) -> Any:
    return json.loads((folder / "run.json").read_text())


def lines(folder: Path) -> list[dict[str, Any]]:
    return list(read_lines(folder / "events.jsonl"))


# ------------------------------------------------------------------ lifecycle


def test_a_run_goes_from_running_to_how_it_ended(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "one"
    run = Run.create(folder, IDENTITY, {"command": "pytest cases/"})
    assert run_json(folder)["status"] == "running"
    assert load(folder).info.status == "running"
    run.append({"kind": "fault", "n": 1})
    run.finish("aborted", "the token expired")
    info = load_info(folder)
    assert (info.status, info.reason) == ("aborted", "the token expired")
    assert info.identity == IDENTITY
    assert info.context[0]["command"] == "pytest cases/"
    assert "started" in info.context[0]


def load_info(folder: Path) -> Any:
    from pytest_dataeval.ledger.read import read_run_info

    return read_run_info(folder)


def test_an_unfinished_run_reads_as_incomplete(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "r", IDENTITY)
    run.close()
    assert run_json(tmp_path / "r")["status"] == "running"
    assert load(tmp_path / "r").info.status == "incomplete"


def test_a_run_needs_a_new_or_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="is not empty"):
        Run.create(tmp_path, IDENTITY)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_no_run_in_a_folder_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no run folder"):
        Run.resume(tmp_path, IDENTITY)
    with pytest.raises(UsageError, match="is no run folder"):
        load(tmp_path)


def test_a_later_form_is_not_read(tmp_path: Path) -> None:
    Run.create(tmp_path / "r", IDENTITY).finish("complete")
    data = {**run_json(tmp_path / "r"), "schema": 2}
    (tmp_path / "r" / "run.json").write_text(json.dumps(data))
    with pytest.raises(UsageError, match="the run has form 2"):
        load(tmp_path / "r")


# --------------------------------------------------------------------- resume


def test_a_resumed_run_goes_on_in_the_same_file(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "r", IDENTITY, {"command": "first"})
    run.append({"kind": "fault", "n": 1})
    run.finish("incomplete", "interrupted")
    run = Run.resume(tmp_path / "r", IDENTITY, {"command": "second"})
    run.append({"kind": "fault", "n": 2})
    run.finish("complete")
    assert [event["n"] for event in lines(tmp_path / "r")] == [1, 2]
    data = run_json(tmp_path / "r")
    assert [context["command"] for context in data["context"]] == ["first", "second"]
    assert (data["status"], data["reason"]) == ("complete", None)


def test_a_resume_with_another_identity_lists_what_differs(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    Run.create(folder, IDENTITY).finish("complete")
    before = (folder / "run.json").read_bytes()
    other = {
        "instrument": 2,
        "agents": {"claude": {"model": "m2"}},
        "arms": ["none"],
        "plan": "f00",
    }
    with pytest.raises(UsageError) as caught:
        Run.resume(folder, other)
    message = str(caught.value)
    assert "agents.claude.model: was 'm1', is 'm2'" in message
    assert "instrument: was 1, is 2" in message
    assert "plan: was None, is 'f00'" in message
    assert "arms" not in message
    late = Run.resume(folder)
    with pytest.raises(UsageError, match="instrument: was 1, is 2"):
        late.pin(other)
    late.close()
    assert (folder / "run.json").read_bytes() == before
    Run.resume(folder, IDENTITY).finish("complete")


def test_an_identity_may_be_pinned_once_the_plan_is_known(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "r")
    run.pin({"arms": ("a", "b")})
    run.finish("complete")
    resumed = Run.resume(tmp_path / "r")
    resumed.pin({"arms": ("a", "b")})
    resumed.finish("complete")
    assert run_json(tmp_path / "r")["identity"] == {"arms": ["a", "b"]}


HOLD = """
import sys
from pathlib import Path
from pytest_dataeval.ledger.run import Run
run = Run.create(Path(sys.argv[1]), {"instrument": 1})
print("made", flush=True)
sys.stdin.read()
"""


def test_two_processes_cannot_write_one_run(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"made\n"
    try:
        assert load(folder).info.status == "running"
        with pytest.raises(UsageError, match="written by another process"):
            Run.resume(folder, {"instrument": 1})
    finally:
        holder.communicate()
    Run.resume(folder, {"instrument": 1}).finish("complete")


# ---------------------------------------------------------------------- kills

WRITE = """
import sys
from pathlib import Path
from pytest_dataeval.ledger.run import Run
run = Run.create(Path(sys.argv[1]), {"instrument": 1})
for number in range(1_000_000):
    run.append({"kind": "fault", "n": number, "text": "x" * 500})
    if number == 200:
        print("200", flush=True)
"""


def test_a_killed_writer_loses_no_finished_line(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITE, str(folder)], stdout=subprocess.PIPE
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == b"200\n"
    os.kill(writer.pid, signal.SIGKILL)
    writer.communicate()
    numbers = [event["n"] for event in lines(folder)]
    assert len(numbers) > 200
    assert numbers == list(range(len(numbers)))
    assert load_info(folder).status == "incomplete"


@pytest.mark.parametrize("torn", [b'{"kind": "att', b"{", b"\xc3", b'{"n": 3}'])
def test_a_torn_last_line_is_passed_over_and_cut_on_resume(
    tmp_path: Path, torn: bytes
) -> None:
    folder = tmp_path / "r"
    run = Run.create(folder, IDENTITY)
    run.append({"kind": "fault", "n": 1})
    run.close()
    with (folder / "events.jsonl").open("ab") as file:
        file.write(torn)
    assert [event["n"] for event in lines(folder)] == [1]
    run = Run.resume(folder, IDENTITY)
    run.append({"kind": "fault", "n": 2})
    run.close()
    assert [event["n"] for event in lines(folder)] == [1, 2]


def test_a_ledger_of_only_a_torn_line_is_empty(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    Run.create(folder, IDENTITY).close()
    (folder / "events.jsonl").write_bytes(b'{"x": "' + b"y" * 200_000)
    assert lines(folder) == []
    Run.resume(folder, IDENTITY).close()
    assert (folder / "events.jsonl").read_bytes() == b""


def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    Run.create(folder, IDENTITY).close()
    (folder / "events.jsonl").write_bytes(b'{"n": 1}\nhello\n{"n": 2}\n')
    with pytest.raises(HarnessBroken) as caught:
        lines(folder)
    assert caught.value.what == "ledger_damaged"
    assert caught.value.where == f"{folder / 'events.jsonl'}:2"


# -------------------------------------------------------------------- writing


def test_any_text_stays_one_line_and_comes_back(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "r", IDENTITY)
    hostile = ["a\nb\r\n", "\u2028\u2029\x85", "\x00\x1b[31m", "\ud800", "Ü", '"}\n{']
    for text in hostile:
        run.append({"text": text})
    run.close()
    assert [event["text"] for event in lines(tmp_path / "r")] == hostile


def test_threads_append_whole_lines(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "r", IDENTITY)

    def write(writer: int) -> None:
        for number in range(50):
            run.append({"writer": writer, "n": number, "text": "y" * 10_000})

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run.close()
    events = lines(tmp_path / "r")
    assert len(events) == 200
    for writer in range(4):
        own = [event["n"] for event in events if event["writer"] == writer]
        assert own == list(range(50))


def test_a_value_without_a_form_in_json_is_named(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "r", IDENTITY)
    for value in (object(), float("nan")):
        with pytest.raises(HarnessBroken) as caught:
            run.append({"value": value})
        assert caught.value.what == "ledger_unserialisable"
    run.close()
    assert lines(tmp_path / "r") == []


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HarnessBroken) as caught:
        Run.create(tmp_path / "file" / "r", IDENTITY)
    assert caught.value.what == "ledger_unwritable"
    assert str(tmp_path / "file" / "r") in caught.value.where


def test_a_folder_that_cannot_be_written_is_named() -> None:
    # The kernel's own file system takes no files, not even from root.
    with pytest.raises(HarnessBroken) as caught:
        Run.create(Path("/proc/dataeval"), IDENTITY)
    assert (caught.value.what, caught.value.where) == (
        "ledger_unwritable",
        "/proc/dataeval",
    )


LIMITED = """
import json, resource, signal, sys
from pathlib import Path
from pytest_dataeval.errors import HarnessBroken
from pytest_dataeval.ledger.run import Run
run = Run.create(Path(sys.argv[1]), {"instrument": 1})
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
for number in range(100):
    try:
        run.append({"n": number, "text": "x" * 3000})
    except HarnessBroken as error:
        print(number, error.what, error.where)
        break
run.append({"n": "small"})
"""


def test_a_full_disk_is_named_and_leaves_no_torn_line(tmp_path: Path) -> None:
    # A limit on the file's size stands in for the disk: lines of 3,000 bytes,
    # three fit into 10,000 and the fourth is written in part.
    folder = tmp_path / "r"
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(folder)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["3", "ledger_unwritable", f"{folder}/events.jsonl"]
    assert [event["n"] for event in lines(folder)] == [0, 1, 2, "small"]


# ------------------------------------------------------------------ artifacts


def test_a_result_is_stored_once_under_its_hash(tmp_path: Path) -> None:
    result = ResultSet((Column("n", "BIGINT"),), ((1,), (None,)))
    sha256 = Artifacts(tmp_path).write_result(result)
    path = tmp_path / "results" / f"{sha256}.json"
    first = path.stat().st_mtime_ns
    assert Artifacts(tmp_path).write_result(result) == sha256
    assert path.stat().st_mtime_ns == first
    assert Artifacts(tmp_path).read_result(sha256) == result


def test_a_long_result_keeps_a_thousand_rows_and_says_so(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path)
    columns = (Column("n"),)
    long = ResultSet(columns, tuple((n,) for n in range(1001)))
    longer = ResultSet(columns, tuple((n,) for n in range(1002)))
    kept = artifacts.read_result(artifacts.write_result(long))
    assert len(kept.rows) == 1000
    assert kept.truncated
    assert artifacts.write_result(long) != artifacts.write_result(longer)


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd", "a/b", "..", ".", "", "con", "x" * 300, "ü\n\x00", "a b"],
)
def test_transcripts_stay_in_their_folder_whatever_the_ids(
    tmp_path: Path, name: str
) -> None:
    artifacts = Artifacts(tmp_path / "run")
    key = TrialKey(name, name, 1, name, name, 1)
    path, _ = artifacts.write_transcript(key, [{"role": "user"}])
    (only,) = (tmp_path / "run" / "transcripts").iterdir()
    assert tmp_path / "run" / path == only
    assert artifacts.read_transcript(path) == [{"role": "user"}]


def test_a_second_attempt_does_not_overwrite_the_first_transcript(
    tmp_path: Path, key: TrialKey
) -> None:
    artifacts = Artifacts(tmp_path)
    first, sha_first = artifacts.write_transcript(key, ["first"])
    second, sha_second = artifacts.write_transcript(key, ["second"])
    assert first != second
    assert sha_first != sha_second
    assert artifacts.read_transcript(first) == ["first"]


# -------------------------------------------------------------------- reading


def stamped(event: dict[str, Any]) -> dict[str, Any]:
    return {**event, "tier": "L3", "nodeid": "c.yaml::x::y", "question_sha": "f00"}


def test_a_run_is_read_back_whole(tmp_path: Path, key: TrialKey, score: Score) -> None:
    folder = tmp_path / "r"
    other = replace(key, repeat=3)
    plan = [Planned(key, "L3", "c.yaml::a::b"), Planned(other, "L3", "c.yaml::a::c")]
    run = Run.create(folder, IDENTITY)
    run.write_cases([{"id": "L3-fastest-team"}])
    run.write_plan(plan)
    attempt = Attempt(text="Billing.", agent="claude")
    path, sha256 = run.artifacts.write_transcript(key, {"tool_calls": []})
    reference = Reference(None, None, "abc", True, 1.0)
    for event in (
        reference_event(key, 3, reference),
        attempt_event(key, attempt, transcript=path, sha256=sha256),
        score_event(key, score),
        fault_event(other, "server_missing", "warehouse", "exited"),
    ):
        run.append(stamped(event))
    run.finish("incomplete")
    view = load(folder)
    assert view.plan == tuple(plan)
    assert view.trials[key].score == score
    assert view.attempt(key) == attempt
    assert view.trials[other].fault == Fault("server_missing", "warehouse", "exited")
    assert view.attempt(other) is None
    assert [event["result"] for event in view.references] == ["abc"]


def test_a_later_event_supersedes_an_earlier_one(
    tmp_path: Path, key: TrialKey, score: Score
) -> None:
    run = Run.create(tmp_path / "r", IDENTITY)
    fault = fault_event(key, "server_missing", "warehouse", "exited")
    first = attempt_event(key, Attempt("one"), transcript="a", sha256="a")
    second = attempt_event(key, Attempt("two"), transcript="b", sha256="b")
    passed = replace(score, verdict="pass")

    def record() -> Any:
        return load(tmp_path / "r").trials[key]

    run.append(fault)
    assert record().fault is not None
    run.append(first)
    assert record().fault is None
    run.append(second)
    assert record().attempt["text"] == "two"
    run.append(score_event(key, score))
    run.append(score_event(key, passed))
    assert record().score == passed
    run.append(fault)
    assert record().fault is not None
    run.close()
