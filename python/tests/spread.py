"""Prints what spreading a sweep over Dask costs and gains: 1,000 cells in this process, over one worker, over two, and
over two of which one is slow and the other is killed halfway. Each result is held against the first.

    target/python-venv/bin/python python/tests/spread.py [CELLS]

How long it took is only worth something with nothing else running; how much processor time it took, in all processes
together, says what Dask costs on a busy machine, too.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
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


@dataclass
class Took:
    result: shingle.Result
    seconds: float
    #: Of processors, in all processes together.
    busy: float


def processor_seconds(processes: list[subprocess.Popen]) -> float:
    running = [psutil.Process(process.pid).cpu_times() for process in processes if process.poll() is None]
    return time.process_time() + sum(times.user + times.system for times in running)


def over(folder: Path, cells: int, workers: int, trouble: bool = False) -> Took:
    """From when the workers are there. (Of one that is killed the processor time is not told.)"""
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

            begun, busy = time.perf_counter(), processor_seconds(cluster.processes)
            result = planned(folder / "out", cells).run(client, progress=killed)
            took = time.perf_counter() - begun, processor_seconds(cluster.processes) - busy
        if trouble:
            assert started[0].returncode is not None, "the worker was killed"
        return Took(result, *took)
    finally:
        cluster.stop()


def main() -> None:
    cells = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        begun, busy = time.perf_counter(), time.process_time()
        single = planned(folder / "single", cells).run(threads=1, progress=False)
        alone = Took(single, time.perf_counter() - begun, time.process_time() - busy)
        print(f"{cells} cells in this process, on one thread: {alone.seconds:.1f} s", flush=True)
        one, two = (over(folder / name, cells, workers) for name, workers in (("one", 1), ("two", 2)))
        print(f"over one worker: {one.seconds:.1f} s; over two: {two.seconds:.1f} s, {one.seconds / two.seconds:.2f} times as fast")
        each = [took.busy / cells * 1e3 for took in (alone, one, two)]
        print(f"processor time a cell: {each[0]:.1f} ms alone, {each[1]:.1f} ms over one worker, {each[2]:.1f} ms over two")
        both = over(folder / "trouble", cells, 2, trouble=True)
        print(f"one of two stopped nine tenths of the time, the other killed after {cells // 2} cells: {both.seconds:.1f} s")
        expected = figures(single.to_json())
        equal = [figures(took.result.to_json()) == expected for took in (one, two, both)]
        print(f"results: {'equal' if all(equal) else f'NOT EQUAL {equal}'}")
        sys.exit(not all(equal))


if __name__ == "__main__":
    main()
