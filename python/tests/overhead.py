"""Prints what a run in the package costs beyond that of the command, in instructions: they do not depend on what else
the machine does. Needs valgrind; takes minutes.

    target/python-venv/bin/python python/tests/overhead.py target/release/shingle [REQUESTS]
"""

from __future__ import annotations

import re
import subprocess
import sys


def instructions(*command: str) -> int:
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    done = subprocess.run([*tool, *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
    found = re.search(r"refs:\s*([\d,]+)", done.stderr)
    assert found, done.stderr
    return int(found[1].replace(",", ""))


def main() -> None:
    shingle, requests = sys.argv[1], (sys.argv[2:] or ["300k"])[0]
    workload = f"synth:mixed?requests={requests}"
    command = instructions(shingle, "run", "-p", "sac", "--quiet", "--json", "-", workload)
    begun = instructions(sys.executable, "-c", "import shingle")
    call = f"import shingle; shingle.run({workload!r}, policy='sac', progress=False).to_json()"
    package = instructions(sys.executable, "-c", call)
    print(f"the command: {command:,} instructions")
    print(f"the package: {package:,}, of which {begun:,} to start Python and import")
    print(f"beyond the command, started: {100 * (package - begun - command) / command:.2f} %")


if __name__ == "__main__":
    main()
