"""Prints what spreading a sweep over Dask costs and gains: 1,000 cells in this process, over one worker, over two, and
over two of which one is slow and the other is killed halfway. Each result is held against the first.

    target/python-venv/bin/python python/tests/spread.py [CELLS]

Times are only worth something with nothing else running; what does not depend on that is how much of them is in the runs.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from conftest import figures
from test_sweep import Cluster, connected

import shingle


def planned(out: Path, cells: int) -> shingle.Sweep:
    # Two policies, so many sizes of the cache and of zones.
    sizes = f"100b..{100 + 10 * (cells // 40 - 1)}b+10b"
    return shingle.sweep(
        "synth:mixed?requests=5k",
        policies=["most", "sac"],
        vary={"cache": sizes, "policy.zone": "10M..48M+2M"},
        out=out,
    )


@contextlib.contextmanager
def slow(worker: subprocess.Popen):
    """It is stopped nine tenths of the time."""
    ended = threading.Event()

    def stop_and_go() -> None:
        while not ended.is_set():
            worker.send_signal(signal.SIGSTOP)
            ended.wait(0.09)
            worker.send_signal(signal.SIGCONT)
            ended.wait(0.01)

    thread = threading.Thread(target=stop_and_go)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def over(folder: Path, cells: int, workers: int, trouble: bool = False) -> tuple[shingle.Result, float]:
    """The result, and how long it took once the workers were there."""
    folder.mkdir()
    cluster = Cluster(folder)
    try:
        started = [cluster.worker() for _ in range(workers)]
        with connected(cluster, workers) as client, contextlib.ExitStack() as stack:
            if trouble:
                stack.enter_context(slow(started[1]))

            def killed(what: str, done: int, total: int) -> None:
                if trouble and done == total // 2:
                    started[0].kill()
                    started[0].wait()

            begun = time.perf_counter()
            result = planned(folder / "out", cells).run(client, progress=killed)
            took = time.perf_counter() - begun
        if trouble:
            assert started[0].returncode is not None, "the worker was killed"
        return result, took
    finally:
        cluster.stop()


def main() -> None:
    cells = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        begun = time.perf_counter()
        single = planned(folder / "single", cells).run(threads=1, progress=False)
        alone = time.perf_counter() - begun
        print(f"{len(single)} cells in this process, on one thread: {alone:.1f} s", flush=True)
        one, one_took = over(folder / "one", cells, 1)
        two, two_took = over(folder / "two", cells, 2)
        both, both_took = over(folder / "trouble", cells, 2, trouble=True)
        in_runs = sum(run["wall"]["seconds"] for run in one.runs)
        print(f"over one worker: {one_took:.1f} s, of which {in_runs:.1f} s in the runs")
        print(f"beside the runs, a cell: {(one_took - in_runs) / cells * 1e3:.1f} ms")
        print(f"over two workers: {two_took:.1f} s, {one_took / two_took:.2f} times as fast as over one")
        print(f"over two workers, one slow, the other killed after {cells // 2} cells: {both_took:.1f} s")
        expected = figures(single.to_json())
        equal = [figures(result.to_json()) == expected for result in (one, two, both)]
        print(f"results: {'equal' if all(equal) else f'NOT EQUAL {equal}'}")
        sys.exit(not all(equal))


if __name__ == "__main__":
    main()
