"""Prints what spreading a sweep costs: 1,000 cells over a Dask cluster on this machine, with two workers of which one is
stopped for seconds and then killed, held against the same sweep in this process.

    target/python-venv/bin/python python/tests/spread.py [CELLS]
"""

from __future__ import annotations

import signal
import sys
import tempfile
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


def main() -> None:
    cells = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        begun = time.perf_counter()
        single = planned(folder / "single", cells).run(threads=1, progress=False)
        alone = time.perf_counter() - begun
        print(f"{len(single)} cells, on a thread of this process: {alone:.1f} s")
        cluster = Cluster(folder)
        try:
            slow, _ = cluster.worker(), cluster.worker()
            client = connected(cluster, 2)
            sweep = planned(folder / "spread", cells)
            begun = time.perf_counter()
            happened: list[str] = []

            def trouble(what: str, done: int, total: int) -> None:
                if done >= total // 4 and not happened:
                    slow.send_signal(signal.SIGSTOP)
                    happened.append("stopped")
                elif done >= total // 2 and len(happened) == 1:
                    slow.send_signal(signal.SIGCONT)
                    slow.kill()
                    slow.wait()
                    happened.append("killed")

            with client:
                spread = sweep.run(client, progress=trouble)
            took = time.perf_counter() - begun
        finally:
            cluster.stop()
        print(f"over two workers, one of them {' and '.join(happened)}: {took:.1f} s")
        equal = figures(spread.to_json()) == figures(single.to_json())
        print(f"the results are {'equal' if equal else 'NOT EQUAL'}")
        runs = sum(run["wall"]["seconds"] for run in spread.runs)
        print(f"time in the runs themselves: {runs:.1f} s; the rest, a cell: {(took - runs) / len(spread) * 1e3:.1f} ms")
        sys.exit(not equal or happened != ["stopped", "killed"])


if __name__ == "__main__":
    main()
