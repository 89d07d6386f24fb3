"""Sweeps over threads, processes and a cluster, with workers that are killed."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import SMALL, figures, ran
from test_policy import Lru

import shingle

GRID = {"cache": "1%..8%", "policy.zone": ["10M", "40M"]}
POLICIES = ["lru", "most", "sac"]


def made(out: Path, **more) -> shingle.Sweep:
    return shingle.sweep(SMALL, policies=POLICIES, vary=GRID, out=out, **more)


@pytest.fixture(scope="session")
def single(tmp_path_factory) -> dict:
    """The grid, in this process."""
    out = tmp_path_factory.mktemp("single") / "out"
    result = made(out).run()
    assert (out / "results.json").read_text() == result.to_json()
    return figures(result.to_json())


def processes(workers: int = 2) -> ProcessPoolExecutor:
    # (A fork of a process with threads may hang.)
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))


def test_a_sweep_is_that_of_the_command(command, tmp_path, single):
    vary = "cache=1%..8%,policy.zone=10M,40M"
    ran(command, "sweep", SMALL, "-p", ",".join(POLICIES), "--vary", vary, "--out", "theirs", cwd=tmp_path)
    assert single == figures((tmp_path / "theirs" / "results.json").read_text())
    # And each goes on with the other's folder.
    result = made(tmp_path / "theirs").run()
    assert figures(result.to_json()) == single
    assert (tmp_path / "theirs" / "results.csv").exists()


def test_a_plan_says_what_it_is(tmp_path):
    sweep = made(tmp_path / "out")
    assert sweep.axes == {"policy.zone": ["10M", "40M"], "cache": ["1%", "2%", "4%", "8%"], "policy": POLICIES}
    assert len(sweep) == 20 and "20 cells" in repr(sweep)
    with pytest.raises(shingle.UsageError, match="there are cache"):
        shingle.sweep(SMALL, vary={"cahce": "1%"})
    with pytest.raises(shingle.UsageError, match="--vary cache: -c is given as well"):
        shingle.sweep(SMALL, vary={"cache": "1%"}, cache="2%")
    with pytest.raises(shingle.OptionTypeError, match="executor: a concurrent.futures.Executor"):
        sweep.run(3)


def test_processes_come_to_the_same(tmp_path, single):
    with processes() as executor:
        result = made(tmp_path / "out").run(executor)
    assert figures(result.to_json()) == single
    assert not list((tmp_path / "out").glob("parcel-*"))


def test_a_worker_that_does_not_see_the_folder_is_sent_the_parcel(tmp_path, single, monkeypatch):
    from shingle import _sweeps

    real = _sweeps._cell

    def far_away(key, number, identity, parcel):
        return real(key, number, identity, parcel if isinstance(parcel, bytes) else "/nowhere")

    monkeypatch.setattr(_sweeps, "_cell", far_away)
    with ThreadPoolExecutor(2) as executor:
        assert figures(made(tmp_path / "out").run(executor).to_json()) == single


def test_a_trace_that_stays_in_its_file_is_read_there_by_workers(tmp_path, caplog):
    path = tmp_path / "small.shingle"
    shingle.trace.convert(SMALL, path)

    def over(out: str, **more):
        return shingle.sweep(path, vary={"cache": "1%,2%"}, policies="lru", offset="1MiB", out=tmp_path / out, **more)

    with caplog.at_level("INFO", logger="shingle"):
        sweep = over("streamed", memory="64K")
    assert any("stays in its file" in record.message for record in caplog.records)
    assert sweep._plan.traces() is None, "nothing to send"
    with ThreadPoolExecutor(2) as executor:
        streamed = sweep.run(executor)
    assert figures(streamed.to_json()) == figures(over("held").run().to_json())


def lines(out: Path) -> int:
    journal = out / "cells.jsonl"
    return journal.read_text().count("\n") if journal.exists() else 0


def test_a_killed_process_costs_its_cells_only(tmp_path, single):
    out, pools = tmp_path / "out", []

    def pool() -> ProcessPoolExecutor:
        pools.append(processes())
        return pools[-1]

    def kill(what, done, total):
        if len(pools) == 1 and lines(out) >= 3:
            worker = next(iter(pools[0]._processes.values()))
            worker.kill()
            worker.join()

    result = made(out).run(pool, progress=kill)
    assert figures(result.to_json()) == single
    assert len(pools) == 2


def test_without_another_pool_the_rest_is_for_another_call(tmp_path, single):
    out, killed = tmp_path / "out", []
    sweep = made(out)
    with processes() as executor:

        def kill(what, done, total):
            if not killed:
                killed.append(next(iter(executor._processes.values())))
                killed[0].kill()
                killed[0].join()

        with pytest.raises(shingle.DataError, match="Call run again with a new pool"):
            sweep.run(executor, progress=kill)
    assert 0 < lines(out) < 20
    assert figures(sweep.run().to_json()) == single


def test_what_fails_in_a_cell_is_raised(tmp_path):
    with ThreadPoolExecutor(1) as executor:
        sweep = shingle.sweep(SMALL, policies=[Fails], vary={"cache": "1%..4%"}, out=tmp_path / "out")
        with pytest.raises(LookupError, match="in a cell"):
            sweep.run(executor)


class Fails(Lru):
    name = "fails-in-a-cell"

    def evict(self, want, access):
        raise LookupError("in a cell")


def test_policies_in_python_go_along(tmp_path):
    sweep = shingle.sweep("synth:mixed?requests=2k", policies=["lru", Lru], cache=["5%", "10%"], out=tmp_path / "a")
    with processes(1) as executor:
        runs = sweep.run(executor).runs
    assert [run["policy"] for run in runs] == ["lru", "lru-in-python"] * 2
    assert runs[0]["all"]["hits"] == runs[1]["all"]["hits"]


def test_shares_are_put_together_by_the_command(command, tmp_path, single):
    for share in ("1/2", "2/2"):
        assert made(tmp_path / share[0], shard=share).run() is None
    ran(command, "sweep", "merge", "1", "2", "--out", "whole", "--json", "whole.json", cwd=tmp_path)
    assert figures((tmp_path / "whole.json").read_text()) == single


TESTS = str(Path(__file__).parent)


class Cluster:
    """A scheduler and workers of Dask, each a process of its own, as one starts them by hand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "scheduler.json"
        self.processes: list[subprocess.Popen] = []
        self._start("scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(self.file))

    def _start(self, kind: str, *args: str) -> subprocess.Popen:
        log = (self.folder / f"{kind}-{len(self.processes)}.log").open("w")
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", kind, "--host", "127.0.0.1", *args],
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [TESTS, os.environ.get("PYTHONPATH")]))},
        )
        self.processes.append(process)
        return process

    def worker(self) -> subprocess.Popen:
        args = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--scheduler-file", str(self.file))
        return self._start("worker", *args)

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path):
    pytest.importorskip("distributed", reason="SKIPPED: Dask's distributed is not here")
    cluster = Cluster(tmp_path)
    try:
        yield cluster
    finally:
        cluster.stop()


def connected(cluster: Cluster, workers: int):
    from distributed import Client

    limit = time.monotonic() + 120
    while not cluster.file.exists():
        assert time.monotonic() < limit, "the scheduler does not start"
        time.sleep(0.05)
    client = Client(scheduler_file=str(cluster.file), timeout=120)
    client.wait_for_workers(workers, timeout=120)
    return client


def test_a_cluster_with_a_killed_worker_comes_to_the_same(cluster, tmp_path, single):
    workers = [cluster.worker(), cluster.worker()]
    client = connected(cluster, 2)
    out = tmp_path / "out"

    def kill(what, done, total):
        if done == 3:
            workers[0].send_signal(signal.SIGKILL)
            workers[0].wait()

    with client:
        result = made(out).run(client, progress=kill)
        assert figures(result.to_json()) == single
        # By its executor too, and with nothing left to do.
        assert figures(made(out).run(client.get_executor()).to_json()) == single
    journal = [json.loads(line)["cell"] for line in (out / "cells.jsonl").read_text().splitlines()]
    assert sorted(journal) == list(range(20))
