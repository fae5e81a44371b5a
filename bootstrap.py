"""Set up everything and run one tox environment: `python3 bootstrap.py demo`.

Needs Python 3.11 or newer and nothing else. The tools go to `.venv` beside this
file; a second call finds them there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
HOME = ROOT / ".venv"
PYTHON = HOME / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def main(arguments: list[str]) -> int:
    if sys.version_info < (3, 11):  # noqa: UP036
        found = ".".join(map(str, sys.version_info[:2]))
        sys.exit(f"bootstrap.py needs Python 3.11 or newer; this is Python {found}")
    if not arguments:
        sys.exit("usage: python3 bootstrap.py demo | tests | lint [-- pytest options]")
    if (
        subprocess.call([PYTHON, "-c", "import tox"], stderr=subprocess.DEVNULL)
        if (PYTHON.exists())
        else True
    ):
        make_venv()
        install = [PYTHON, "-m", "pip", "install", "--quiet", "tox>=4.23"]
        subprocess.run(install, check=True)
    environment, *rest = arguments
    command = [PYTHON, "-m", "tox", "run", "-e", environment, *rest]
    return subprocess.call(command, cwd=ROOT)


def make_venv() -> None:
    """Make `.venv`; on Debian its pip stands in a package of its own."""
    try:
        import ensurepip  # noqa: F401
    except ImportError:
        if shutil.which("apt-get") is None or os.geteuid() != 0:
            sys.exit(
                "this Python has no ensurepip; install it (on Debian: "
                "apt-get install python3-venv) and call again"
            )
        subprocess.run(["apt-get", "update", "-qq"], check=True)
        subprocess.run(["apt-get", "install", "-y", "-qq", "python3-venv"], check=True)
    venv.create(HOME, with_pip=True, clear=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
