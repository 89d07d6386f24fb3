"""What goes wrong is an exception with the command's line; Ctrl-C ends work; others go on meanwhile."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import pytest
from conftest import SMALL, refused

import shingle


@pytest.mark.parametrize(
    ("args", "call"),
    [
        (["-p", "lru,sca"], {"policies": ["lru", "sca"]}),
        (["-d", "st8000as0003"], {"drives": "st8000as0003"}),
        (["-c", "0%"], {"cache": "0%"}),
        (["--set", "sac.windw=0.5", "-p", "sac"], {"set": {"sac.windw": 0.5}, "policies": "sac"}),
        (["--requests", "1k", "--offset", str(1 << 56)], {"requests": 1000, "offset": 1 << 56}),
        (["--depth", "4"], {"depth": 4}),
        (["--target", "p98=1ms"], {"targets": "p98=1ms"}),
        (["--threads", "0"], {"threads": 0}),
    ],
)
def test_a_wrong_option_is_told_in_the_words_of_the_command(command, args, call):
    code, line = refused(command, "compare", SMALL, *args)
    with pytest.raises(shingle.UsageError) as raised:
        shingle.compare(SMALL, **call)
    assert (code, str(raised.value)) == (2, line)
    assert isinstance(raised.value, ValueError) and isinstance(raised.value, shingle.ShingleError)


def test_bad_data_is_told_in_the_words_of_the_command(command, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("time_us,op,offset_bytes,size_bytes\n1,R,0,512\n2,R,x,512\n")
    for name in (path, tmp_path / "absent.csv"):
        code, line = refused(command, "compare", str(name))
        with pytest.raises(shingle.DataError) as raised:
            shingle.compare(name)
        assert (code, str(raised.value)) == (1, line)


def test_wrong_types_say_what_is_wanted():
    for call, wanted in [
        ({"policies": 7}, "policies: names of policies or classes"),
        ({"policies": [int]}, "policies: a name or a class of shingle.Policy"),
        ({"drives": {}}, "drives: a name or a list of names"),
        ({"requests": "many"}, "requests: invalid type: string \"many\", expected a whole number from 0 to 18446744073709551615"),
        ({"set": "sac.rule2=off"}, "set: a dict is wanted"),
        ({"seed": object()}, "seed: text, numbers and lists"),
        ({"trace": 3}, "trace: a path, a workload"),
    ]:
        with pytest.raises(TypeError) as raised:
            shingle.compare(**{"trace": SMALL, **call})
        assert isinstance(raised.value, shingle.UsageError)
        assert wanted in str(raised.value)
    with pytest.raises(shingle.UsageError, match="pacing: unknown variant `open`, expected `closed` or `trace`"):
        shingle.run(SMALL, pacing="open")


def test_progress_and_remarks_are_told(tmp_path, small, caplog):
    told = []
    shingle.compare(small, policies="lru", progress=lambda *now: told.append(now))
    assert told[-1] == ("running", 20_000, 20_000)
    shingle.trace.convert(small, tmp_path / "t.csv")
    with caplog.at_level("INFO", logger="shingle"):
        shingle.trace.open(tmp_path / "t.csv")
    assert "t.csv: read as csv" in caplog.text

    def fails(*_):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        shingle.run(small, progress=fails)


LONG = """
import shingle, sys
def begun(what, done, total):
    if what == "running" and done > 0:
        print("running", flush=True)
try:
    shingle.run("synth:mixed?requests=100M", progress=begun, requests=20_000_000, cache="1%")
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SKIPPED: Windows has no SIGINT")
def test_ctrl_c_ends_a_run():
    process = subprocess.Popen([sys.executable, "-c", LONG.replace("100M", "3M")], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "running\n"
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=100)
    assert out.splitlines()[-1] == "interrupted" and process.returncode == 0


def test_others_run_meanwhile():
    """The lock is free: while a run goes on, this thread takes steps, and the run is not over."""
    steps = []
    run = threading.Thread(target=shingle.run, args=("synth:mixed?requests=200k",), kwargs={"progress": False})
    run.start()
    while run.is_alive() and len(steps) < 100:
        steps.append(None)
    assert len(steps) == 100
    run.join()
