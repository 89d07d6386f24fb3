"""Sweeps: grids of configurations that survive a kill, on the cores of this machine or over any executor.

The process that calls ``Sweep.run`` plans the cells and keeps the journal. A worker makes the same plan from a parcel: the
options, the policies that are classes, and the traces, packed. It computes cells by their numbers, and first holds
what it has planned against what it was asked for.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from pathlib import Path
from typing import Any, Unpack

from . import _calls
from ._calls import ProgressFn
from ._errors import DataError, OptionTypeError, ShingleError, UsageError
from ._options import PolicyLike, SetupOptions, Size, TraceLike, TraceOptions, takes
from ._results import Result

_log = logging.getLogger("shingle")

#: A cell is given up when so many workers that had it are gone.
_TRIES = 5

#: What is done to a trace once, where it is read; workers get it as it is then, unless it stays in its file.
_DONE_TO_TRACES = TraceOptions.__annotations__.keys() - {"mode", "seed"}


@takes(SetupOptions)
def sweep(
    trace: TraceLike = "synth:mixed",
    *,
    vary: Mapping[str, Any] | str | Sequence[str] | None = None,
    policies: PolicyLike | Sequence[PolicyLike] | None = None,
    drives: str | Sequence[str] | None = None,
    translations: str | Sequence[str] | None = None,
    cache: Size | Sequence[Size] | None = None,
    out: str | os.PathLike[str] | None = None,
    fresh: bool = False,
    shard: str | None = None,
    progress: ProgressFn | bool | None = None,
    **options: Unpack[SetupOptions],
) -> Sweep:
    """Plans a grid of configurations: what ``shingle sweep`` does before it runs. ``Sweep.run`` runs it.

    Names and values are checked, and traces read, before it returns.

    Args:
        trace: a path, ``synth:NAME``, a ``Trace``, or a table of requests.
        vary: what is varied beside policies, drives, translations and cache sizes, as for ``--vary``: a dict such
            as ``{"cache": "1%..8%", "policy.zone": ["10M", "40M"], "seed": "1..3"}``. Ranges double, or go in
            equal factors (``"10M..100M/5"``) or steps (``"0.2..1+0.2"``).
        policies, drives, translations, cache: one or several, as for ``compare``.
        out: the folder in which finished cells are kept; the same sweep goes on with them. [sweep-TRACE]
        fresh: start over, whatever the folder holds.
        shard: compute one share of so many, as in ``"2/8"``; ``shingle sweep merge`` puts them together.
        progress: as for ``run``, while traces are read.
        {options}

    Raises:
        UsageError: a name is wrong, or a value goes with nothing.
        DataError: a trace cannot be read.
    """
    listed = {"drives": drives, "translations": translations, "cache": cache}
    given = {"vary": vary, "policies": policies, **listed, "out": out, "fresh": fresh, "shard": shard, **options}
    named: dict[str, Any] = {**options, **{name: _calls.names(value, name) for name, value in listed.items()}}
    named["policies"], classes = _calls.policies(policies, "policies")
    named["vary"], more = _axes(vary)
    classes += [one for one in more if one not in classes]
    named["trace"], held = _calls.trace_of(trace)
    varied = {axis.partition("=")[0] for axis in named["vary"] or ()}
    if held is not None and "seed" in varied:
        raise UsageError("vary seed: requests in memory have no seed; name the workload")
    if held is not None and "trace" in varied:
        raise UsageError("vary trace: a trace is given as well; give one of them")
    if "trace" in varied and trace == "synth:mixed":
        named["trace"] = None
    command = _calls.written("sweep", trace, given)
    with _calls.Told(progress) as told:
        plan = _calls.native.Plan(
            _calls.options(named),
            [] if held is None else [(held.name, None, held)],
            _calls.definitions(classes),
            command,
            told,
        )
    folder = Path(out) if out is not None else Path(_folder(plan, shard))
    return Sweep(plan, named, classes, folder, fresh, shard)


def _axes(vary: Any) -> tuple[list[str] | None, list[Any]]:
    """As ``--vary`` has them; and the policies among the values that are classes."""
    if vary is None:
        return None, []
    if isinstance(vary, str):
        return [vary], []
    if isinstance(vary, Mapping):
        axes, classes = [], []
        for name, values in vary.items():
            if name == "policy":
                values, more = _calls.policies(values, "vary policy")
                classes += more
            axes.append(f"{name}={','.join(_calls.names(values, f'vary {name}') or [])}")
        return axes, classes
    return [str(axis) for axis in vary], []


def _folder(plan: Any, shard: str | None) -> str:
    name = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in plan.name)
    share = "" if shard in (None, "1/1") else "-" + str(shard).replace("/", "-of-")
    return f"sweep-{name}{share}"


class Sweep:
    """A planned sweep. ``len()`` is the number of its cells."""

    def __init__(
        self,
        plan: Any,
        named: dict[str, Any],
        classes: Sequence[type],
        folder: Path,
        fresh: bool,
        shard: str | None,
    ) -> None:
        self._plan = plan
        self._named = named
        self._classes = list(classes)
        self._fresh = fresh
        self._shard = shard
        #: The folder in which finished cells are kept.
        self.folder = folder

    def __len__(self) -> int:
        return len(self._plan)

    def __repr__(self) -> str:
        axes = ", ".join(f"{name}: {len(values)}" for name, values in self.axes.items())
        return f"<shingle.Sweep of {len(self)} cells ({axes}) in {self.folder}>"

    @property
    def axes(self) -> dict[str, list[str]]:
        """What is varied: the values of each axis, outermost first."""
        return dict(self._plan.axes)

    @property
    def notes(self) -> list[str]:
        """How cells are set up, and what does not go together and is left out."""
        return self._plan.notes

    def run(
        self,
        executor: Executor | Callable[[], Executor] | Any | None = None,
        *,
        threads: int = 0,
        progress: ProgressFn | bool | None = None,
    ) -> Result | None:
        """Computes the cells that are not done yet, and keeps each in the folder as soon as it is.

        Args:
            executor: where cells are computed: any ``concurrent.futures.Executor`` over processes or machines, a
                Dask ``Client``, or a function that makes an executor. Without, on threads of this process.
                A cell whose worker is killed is computed again. Where that breaks the whole pool, as it does with
                ``ProcessPoolExecutor``, a function that makes one is called for another.
            threads: without an executor, so many; 0 is one a core.
            progress: as for ``run``.

        Returns:
            The result: that of ``shingle sweep``, byte for byte but for ``wall`` and the command. It is also in the
            folder, as results.json and results.csv. ``None`` for one share of several.

        Raises:
            DataError: a cell failed, or the pool broke; finished cells are kept, and another call goes on.
            KeyboardInterrupt: on Ctrl-C; finished cells are kept.
        """
        held = _calls.native.Sweep(self._plan, self.folder, self._shard, self._fresh)
        # What this object has begun it goes on with.
        self._fresh = False
        try:
            done = held.done()
            if done:
                _log.info("%s: %d of %d cells are done already", self.folder, done, len(self))
            with _calls.Told(progress) as told:
                if executor is None:
                    held.run(threads, told)
                else:
                    _Spread(self, held, told).over(executor)
            report = held.finish(self.folder)
        finally:
            held.close()
        return None if report is None else Result(report)

    def _parcel(self) -> bytes:
        """All that a worker needs to make the same plan."""
        in_memory = self._plan.traces()
        # One that stays in its file is read there by the workers, and so are all others with it.
        done = set() if in_memory is None else _DONE_TO_TRACES
        options = {name: value for name, value in self._named.items() if name not in done}
        traces = [(name, seed, trace.to_bytes()) for name, seed, trace in in_memory or ()]
        parcel = (_calls.native.__version__, _calls.native.__name__, _calls.options(options), self._classes, traces)
        try:
            # (It takes classes of notebooks along. Dask brings it.)
            import cloudpickle

            return cloudpickle.dumps(parcel)
        except ImportError:
            return pickle.dumps(parcel)


class _Spread:
    """The cells of a sweep, over an executor."""

    def __init__(self, sweep: Sweep, held: Any, told: _calls.Told) -> None:
        self.sweep = sweep
        self.held = held
        self.told = told
        self.pending: list[int] = held.pending()[::-1]
        self.total = len(self.pending)
        self.left = self.total
        self.tries: dict[int, int] = {}
        self.parcel = sweep._parcel()
        self.key = hashlib.blake2b(self.parcel, digest_size=16).hexdigest()

    def over(self, executor: Any) -> None:
        """Until all is done."""
        if not self.pending:
            return
        if not isinstance(executor, Executor) and not hasattr(executor, "get_executor"):
            if not callable(executor):
                raise OptionTypeError(
                    "executor: a concurrent.futures.Executor, a Dask Client, or a function that makes one is "
                    f"wanted, and not {executor!r}"
                )
            while self.left:
                before = self.left
                with executor() as made:
                    if self._over(made) and self.left == before:
                        self._count_tries()
            return
        if self._over(executor) and self.left:
            done = self.total - self.left
            raise DataError(
                f"{self.sweep.folder}: a worker is gone, and with it the whole pool; {done} of {self.total} cells "
                "were computed and are kept. Call run again with a new pool, or give it a function that makes one"
            )

    def _count_tries(self) -> None:
        """A pool broke before any cell was done: once more, but not for ever."""
        self.tries[-1] = self.tries.get(-1, 0) + 1
        if self.tries[-1] >= _TRIES:
            raise DataError(f"{_TRIES} pools broke one after another before any cell was done")

    def _over(self, executor: Any) -> bool:
        """Returns whether the pool broke before all was done."""
        way = _Dask(executor, self) if _is_dask(executor) else _Pool(executor, self)
        answers: queue.SimpleQueue[tuple[int, Future[Any]]] = queue.SimpleQueue()
        under_way: dict[int, Future[Any]] = {}

        def submit(number: int, carried: bool = False) -> None:
            identity = self.sweep._plan.identity(number)
            future = way.submit(number, identity, carried)
            under_way[number] = future
            future.add_done_callback(lambda future: answers.put((number, future)))

        try:
            while self.left:
                while self.pending and len(under_way) < way.window:
                    submit(self.pending[-1])
                    self.pending.pop()
                try:
                    number, future = answers.get(timeout=1.0)
                except queue.Empty:
                    continue
                if under_way.get(number) is future:
                    del under_way[number]
                kind, answer = self._answer(number, future)
                if kind == "run":
                    self.held.keep(number, answer)
                    self.left -= 1
                    if self.told.progress:
                        self.told.progress("sweeping", self.total - self.left, self.total)
                elif kind == "unknown":
                    submit(number, carried=True)
                elif kind == "gone":
                    way.worker_is_gone()
                    submit(number)
                else:
                    raise answer
            return False
        except BrokenExecutor:
            # Whatever was under way is to be done again.
            self.pending = sorted(self.held.pending(), reverse=True)
            self.left = len(self.pending)
            return True
        finally:
            for future in under_way.values():
                future.cancel()
            way.close()

    def _answer(self, number: int, future: Future[Any]) -> tuple[str, Any]:
        try:
            return future.result()
        except BrokenExecutor:
            raise
        except (Exception, CancelledError) as error:
            # Cells answer with what went wrong in them: this is about the worker, or the way to it.
            self.tries[number] = self.tries.get(number, 0) + 1
            if self.tries[number] >= _TRIES:
                raise DataError(
                    f"cell {number}: {_TRIES} workers were lost over it, the last with: {error!r}"
                ) from error
            return "gone", None


class _Pool:
    """Workers that see the folder of the sweep take the parcel from there; others are sent it."""

    def __init__(self, executor: Executor, spread: _Spread) -> None:
        self.executor = executor
        self.spread = spread
        workers = getattr(executor, "_max_workers", None) or os.cpu_count() or 1
        self.window = 4 * workers
        self.path = spread.sweep.folder / f"parcel-{spread.key}"
        partial = self.path.with_suffix(".partial")
        partial.write_bytes(spread.parcel)
        partial.replace(self.path)

    def submit(self, number: int, identity: str, carried: bool) -> Future[Any]:
        parcel = self.spread.parcel if carried else str(self.path.absolute())
        return self.executor.submit(_cell, self.spread.key, number, identity, parcel)

    def worker_is_gone(self) -> None:
        pass

    def close(self) -> None:
        self.path.unlink(missing_ok=True)


def _is_dask(executor: Any) -> bool:
    return hasattr(executor, "get_executor") or hasattr(getattr(executor, "_client", None), "scatter")


class _Dask:
    """Dask brings the parcel to each worker once, and to new ones from the others."""

    def __init__(self, executor: Any, spread: _Spread) -> None:
        self.client = executor if hasattr(executor, "get_executor") else executor._client
        self.executor = self.client.get_executor(pure=False) if executor is self.client else executor
        self.spread = spread
        self.window = max(64, 4 * sum(self.client.nthreads().values()))
        self.scattered: Any = None

    def submit(self, number: int, identity: str, carried: bool) -> Future[Any]:
        if self.scattered is None:
            # (Not by its content: what was lost with all workers that had it must come anew.)
            self.scattered = self.client.scatter(self.spread.parcel, broadcast=True, hash=False)
        return self.executor.submit(_cell, self.spread.key, number, identity, self.scattered)

    def worker_is_gone(self) -> None:
        if self.scattered is not None and self.scattered.status != "finished":
            self.scattered = None

    def close(self) -> None:
        self.scattered = None


#: In a worker: the plan made last, by its key.
_plans: dict[str, Any] = {}
_making = threading.Lock()


def _cell(key: str, number: int, identity: str, parcel: bytes | str) -> tuple[str, Any]:
    """In a worker: computes a cell. The answer is its result, or that the parcel is not to be found, or what went
    wrong."""
    try:
        with _making:
            plan = _plans.get(key)
            if plan is None:
                try:
                    packed = Path(parcel).read_bytes() if isinstance(parcel, str) else bytes(parcel)
                except OSError:
                    return "unknown", None
                plan = _planned(packed)
                _plans.clear()
                _plans[key] = plan
        if plan.identity(number) != identity:
            raise DataError(
                f"cell {number}: the worker plans it otherwise, {plan.identity(number)}, than it was asked for, "
                f"{identity}: does it see other files?"
            )
        return "run", plan.run(number)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            error = ShingleError(f"cell {number}: {type(error).__name__}: {error}")
        return "failed", error


def _planned(parcel: bytes) -> Any:
    version, module, options, classes, traces = pickle.loads(parcel)
    if module != _calls.native.__name__:
        _calls.load(module)
    native = _calls.native
    if version != native.__version__:
        raise DataError(
            f"the worker has shingle {native.__version__} and the sweep is of {version}: install the same everywhere"
        )
    held = [(name, seed, native.Trace.from_bytes(name, packed)) for name, seed, packed in traces]
    return native.Plan(options, held, _calls.definitions(classes), "")
