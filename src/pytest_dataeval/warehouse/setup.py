"""Building a warehouse before the first connection to it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dataeval.errors import HarnessBroken

if TYPE_CHECKING:
    from pytest_dataeval.config import WarehouseConfig

#: How much of the command's output an error repeats.
LAST_LINES = 15

_done: set[tuple[Path, tuple[str, ...]]] = set()


def prepare(name: str, config: WarehouseConfig, rootdir: Path) -> None:
    """Run the `setup` command in `rootdir`, once a process, never two at a time.

    The command is one that leaves a finished warehouse alone: every session
    calls it. `python` stands for this interpreter. Raises HarnessBroken
    `warehouse_setup` with the last lines of the output if it fails.
    """
    import filelock

    if not config.setup:
        return
    job = (rootdir, tuple(config.setup))
    where = f"dataeval.yaml: warehouses.{name}.setup"
    command = [
        sys.executable if part == "python" else part for part in config.setup[:1]
    ]
    command += config.setup[1:]
    lock_folder = rootdir / ".dataeval"
    try:
        lock_folder.mkdir(exist_ok=True)
        with filelock.FileLock(lock_folder / f"setup-{name}.lock"):
            if job in _done:
                return
            finished = subprocess.run(
                command,
                cwd=rootdir,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
    except OSError as error:
        raise HarnessBroken(
            "warehouse_setup",
            where,
            f"{' '.join(config.setup)} cannot be run: {error}.",
            "Name a program that exists; `python` is this interpreter.",
        ) from error
    if finished.returncode != 0:
        text = finished.stdout.decode("utf-8", "replace").strip()
        last = "\n".join(text.splitlines()[-LAST_LINES:])
        raise HarnessBroken(
            "warehouse_setup",
            where,
            f"{' '.join(config.setup)} ended with status {finished.returncode}.",
            f"Its last output:\n{last}" if last else "It printed nothing.",
        )
    _done.add(job)
