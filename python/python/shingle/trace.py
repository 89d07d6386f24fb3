"""Traces: read, made, looked at, written.

A ``Trace`` holds its requests in memory, and is an Arrow table of them with the columns ``time_ns`` (nanoseconds
since the first request), ``op`` (R, W, T for trim, F for flush), ``offset_bytes`` and ``size_bytes``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from . import _calls
from ._calls import ProgressFn
from ._errors import OptionTypeError
from ._native import Trace

__all__ = ["convert", "from_arrow", "from_requests", "info", "mix", "open", "synth"]


def open(
    trace: str | os.PathLike[str],
    *,
    format: str | None = None,
    volume: str | None = None,
    reorder: str | None = None,
    assume_op: Literal["read", "write"] | None = None,
    mode: Literal["rw", "w", "r"] | None = None,
    requests: int | None = None,
    offset: str | int | None = None,
    copies: int | None = None,
    remap: bool | None = None,
    seed: int | None = None,
    progress: ProgressFn | bool | None = None,
) -> Trace:
    """Reads a trace, compressed or not, in any format of ``formats()``, or makes ``synth:NAME``.

    Args:
        trace: a path, or a workload.
        format: the format, if it is not to be found from the content; for CSV with its columns, as in
            ``"csv:time=1/us,op=2,offset=3/bytes,size=4/bytes"``.
        volume: which volumes of several: ``"NAME"``, ``"NAME,NAME"``, ``"*"``.
        reorder: time within which requests out of order are sorted, or ``"keep"``. [10s]
        assume_op: what all requests are, in formats that do not say.
        mode: requests that count: all, writes, reads. [rw]
        requests: only the first so many.
        offset: bytes that it is shifted up by.
        copies: so many copies side by side.
        remap: pack the zones that it touches together.
        seed: of workloads. [1]

    Raises:
        DataError: it cannot be read: the file, the line or byte, and what to do.
    """
    given = {name: value for name, value in locals().items() if name != "progress"}
    with _calls.Told(progress) as told:
        return _calls.native.read(_calls.options(given), told)


def synth(workload: str, *, seed: int = 1, progress: ProgressFn | bool | None = None, **parameters: Any) -> Trace:
    """Makes a workload of ``workloads()``, as in ``synth("zipf", requests="1M", write=0.7)``."""
    pairs = "&".join(f"{name}={value}" for name, value in parameters.items())
    name = workload.removeprefix("synth:")
    return open(f"synth:{name}?{pairs}" if pairs else f"synth:{name}", seed=seed, progress=progress)


def from_arrow(table: Any, *, name: str = "table", progress: ProgressFn | bool | None = None, **options: Any) -> Trace:
    """Makes a trace of a table with ``__arrow_c_stream__``: of polars, pandas, pyarrow, DuckDB and others.

    Columns go by their names, as in Parquet files (docs/formats.md): a time (``time_us``, ``time_ns``,
    ``time_s``, or a timestamp), ``op`` (text), ``offset_bytes`` and ``size_bytes``, and ``volume`` if there are
    several. Further options are those of ``open`` but for the format.
    """
    with _calls.Told(progress) as told:
        return _calls.native.read_table(name, table, _calls.options(options), told)


def from_requests(
    requests: Iterable[tuple[int, str, int, int]], *, name: str = "requests", **options: Any
) -> Trace:
    """Makes a trace of tuples: time in nanoseconds, operation (R, W, T, F), offset in bytes, size in bytes."""
    lines = ["time_ns,op,offset_bytes,size_bytes"]
    for number, request in enumerate(requests, 1):
        try:
            time_ns, op, offset_bytes, size_bytes = request
            lines.append(f"{time_ns:d},{op},{offset_bytes:d},{size_bytes:d}")
        except (TypeError, ValueError):
            raise OptionTypeError(
                f"request {number}: (time_ns, op, offset_bytes, size_bytes) is wanted, and not {request!r}"
            ) from None
    text = "\n".join(lines) + "\n"
    return _calls.native.read_bytes(name, text.encode(), _calls.options({"format": "csv", **options}))


def _held(trace: Any, options: Mapping[str, Any], told: Any) -> Trace:
    name, held = _calls.trace_of(trace)
    if held is None:
        return _calls.native.read(_calls.options({"trace": name, **options}), told)
    return held.shaped(_calls.options(options), told) if options else held


def info(trace: Any, *, progress: ProgressFn | bool | None = None, **options: Any) -> dict[str, Any]:
    """What a trace holds: requests, sizes, footprints, reuse and update distances, the miss ratio of LRU by cache
    size, sequential runs, pauses, load (docs/traces.md). Further options are those of ``open``."""
    with _calls.Told(progress) as told:
        return json.loads(_held(trace, options, told).describe(told))


def convert(
    trace: Any,
    out: str | os.PathLike[str],
    *,
    to: str | None = None,
    progress: ProgressFn | bool | None = None,
    **options: Any,
) -> list[str]:
    """Writes a trace into a file. Its name says the format (.shingle, .csv, .parquet, …), and .gz or .zst packs
    it; or ``to`` names the format. Further options are those of ``open``.

    Returns:
        Sentences about what the format cannot carry.
    """
    with _calls.Told(progress) as told:
        return _held(trace, options, told).save(out, to, told)


def mix(
    traces: Sequence[Any],
    *,
    copies: int = 1,
    shift_bytes: int | None = None,
    shuffle: bool = False,
    time_scale: float = 1.0,
    seed: int = 1,
    name: str = "mix",
    progress: ProgressFn | bool | None = None,
    **options: Any,
) -> Trace:
    """Makes one trace of several: side by side on the disk, by the order of their times.

    Args:
        copies: so many copies of all of them.
        shift_bytes: each begins so much behind the one before, in place of side by side; 0 lays them on each
            other.
        shuffle: in a random order, in which each keeps its own.
        time_scale: all times are multiplied by it.
        seed: of ``shuffle`` and of workloads.
        **options: how each is read and shaped, as for ``open``.
    """
    with _calls.Told(progress) as told:
        held = [_held(trace, {"seed": seed, **options} if _is_named(trace) else options, told) for trace in traces]
        return _calls.native.mix(name, held, copies, shift_bytes, shuffle, time_scale, seed, told)


def _is_named(trace: Any) -> bool:
    return isinstance(trace, (str, os.PathLike))
