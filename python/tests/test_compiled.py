"""A compiled policy of one's own, loaded by the name of its module."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

#: In a process of its own: what is loaded stays.
SCRIPT = """
import json, shingle
before = shingle.trace.open("synth:mixed?requests=20k")
shingle.load("my_policies")
assert "my-policy" in {policy["name"] for policy in shingle.policies()}
result = shingle.compare(before, policies=["most", "my-policy"], baseline="none", set={"my-policy.hit_points": 0})
sweep = shingle.sweep("synth:mixed?requests=2k", policies=["my-policy"], vary={"cache": "5%,10%"}, out="out")
assert len(sweep.run().runs) == 2
print(json.dumps([run["all"]["drive_io"]["rmw"] for run in result.runs]))
"""


def test_a_compiled_policy_is_known_by_its_name(tmp_path):
    pytest.importorskip("my_policies", reason="SKIPPED: python/compiled is not built (.ci/python does it)")
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    # Without points for hits it is MOST (examples/my_policy/README.md).
    most, mine = json.loads(done.stdout)
    assert most == mine > 0
