"""What tests share."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

import shingle

#: Small, and yet large enough that a cache of 1 % is filled.
SMALL = "synth:mixed?requests=20k"


@pytest.fixture(scope="session")
def small() -> shingle.Trace:
    return shingle.trace.open(SMALL)


@pytest.fixture(scope="session")
def command() -> Path:
    """The command line, to hold the package against."""
    root = Path(__file__).resolve().parents[2]
    named = os.environ.get("SHINGLE")
    places = [Path(named)] if named else [root / "target" / kind / "shingle" for kind in ("release", "debug")]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        pytest.skip("SKIPPED: there is no command to compare with (cargo build --release, or SHINGLE=PATH)")
    return found


def ran(command: Path, *args: str, cwd: Path | None = None) -> str:
    done = subprocess.run([command, *args, "--quiet"], capture_output=True, text=True, cwd=cwd, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(command: Path, *args: str) -> tuple[int, str]:
    """How the command ends, and the last line of what it says."""
    done = subprocess.run([command, *args, "--quiet"], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stderr.strip().splitlines()[-1].removeprefix("shingle: ")


def figures(text: str) -> dict:
    """A result without what differs between equal runs."""
    result = json.loads(text)
    del result["shingle"]
    for run in result["runs"]:
        del run["wall"]
    return result
