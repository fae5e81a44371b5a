"""Results and transcripts of a run: files that any of its processes may write."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_dataeval.ledger.files import json_bytes, write_new, write_whole
from pytest_dataeval.records import ResultSet, TrialKey
from pytest_dataeval.warehouse.results import result_sha256

#: Rows that a stored result keeps: enough to read, not to compute with.
STORED_ROWS = 1000

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class Artifacts:
    """Writes into `results/` and `transcripts/` of a run folder.

    Files are named by their content, so that two writers cannot disagree and a
    later attempt never overwrites an earlier one's.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._written: set[str] = set()

    def write_result(self, result: ResultSet) -> str:
        """Store a result once; the hash is that of the whole.

        The file keeps the first `STORED_ROWS` rows and says so in `truncated`.
        """
        sha256 = result_sha256(result)
        if sha256 not in self._written:
            path = self.folder / "results" / f"{sha256}.json"
            if not path.exists():
                kept = result
                if len(result.rows) > STORED_ROWS:
                    kept = replace(
                        result, rows=result.rows[:STORED_ROWS], truncated=True
                    )
                write_whole(path, json_bytes(kept.to_json()) + b"\n")
            self._written.add(sha256)
        return sha256

    def read_result(self, sha256: str) -> ResultSet:
        """A stored result. Raises FileNotFoundError if it is not there."""
        path = self.folder / "results" / f"{sha256}.json"
        return ResultSet.from_json(json.loads(path.read_bytes()))

    def write_transcript(self, key: TrialKey, data: Any) -> tuple[str, str]:
        """Store one ask's transcript; gives its path in the run folder and hash."""
        content = json_bytes(data) + b"\n"
        sha256 = hashlib.sha256(content).hexdigest()
        relative = f"transcripts/{_stem(key)}-{sha256[:16]}.json"
        write_new(self.folder, relative, content)
        return relative, sha256

    def read_transcript(self, path: str) -> Any:
        """A stored transcript, by the path that its event holds."""
        return json.loads((self.folder / path).read_bytes())


def _stem(key: TrialKey) -> str:
    """A readable file name for any key; the content's hash makes it unique."""
    words = (key.suite[:30], key.case[:60], key.leaf[:80])
    return "-".join(_UNSAFE.sub("_", word).strip(".") for word in words)
