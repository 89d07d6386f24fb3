"""Traces: read, made, looked at, written.

A ``Trace`` holds its requests in memory, and is an Arrow table of them with the columns ``time_ns`` (nanoseconds
since the first request), ``op`` (R, W, T for trim, F for flush), ``offset_bytes`` and ``size_bytes``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

from . import _calls
from ._calls import ProgressFn
from ._errors import DataError, OptionTypeError
from ._native import Trace
from ._options import ShapeOptions, TraceLike, TraceOptions, takes

__all__ = ["convert", "from_arrow", "from_requests", "info", "mix", "open", "synth"]


@takes(TraceOptions)
def open(
    trace: TraceLike, *, progress: ProgressFn | bool | None = None, **options: Unpack[TraceOptions]
) -> Trace:
    """Reads a trace, compressed or not, in any format of ``formats()``, or makes ``synth:NAME``.

    Args:
        trace: a path, a workload, or what is to be cut: a ``Trace``, or a table of requests.
        {options}
        progress: as for ``run``.

    Raises:
        DataError: it cannot be read: the file, the line or byte, and what to do.
    """
    with _calls.Told(progress) as told:
        return _held(trace, options, told)


def synth(workload: str, *, seed: int = 1, progress: ProgressFn | bool | None = None, **parameters: Any) -> Trace:
    """Makes a workload of ``workloads()``, as in ``synth("zipf", requests="1M", write=0.7)``."""
    pairs = "&".join(f"{name}={value}" for name, value in parameters.items())
    name = workload.removeprefix("synth:")
    return open(f"synth:{name}?{pairs}" if pairs else f"synth:{name}", seed=seed, progress=progress)


@takes(ShapeOptions)
def from_arrow(
    table: Any, *, name: str = "table", progress: ProgressFn | bool | None = None, **options: Unpack[ShapeOptions]
) -> Trace:
    """Makes a trace of a table with ``__arrow_c_stream__``: of polars, pandas, pyarrow, DuckDB and others.

    Columns go by their names, as in Parquet files (docs/formats.md): a time (``time_us``, ``time_ns``,
    ``time_s``, or a timestamp), ``op`` (text), ``offset_bytes`` and ``size_bytes`` (or ``_sectors`` of 512 bytes,
    ``_blocks`` of 4 KiB, ``_kib``), and ``volume`` if there are several. Others are left out.

    Args:
        table: the table.
        name: what the trace is called in results.
        {options}
        progress: as for ``run``.

    Raises:
        DataError: a column is missing or does not say its unit, or a request cannot be: which, and what to do.
    """
    with _calls.Told(progress) as told:
        return _calls.native.read_table(name, table, _calls.options(options), told)


@takes(ShapeOptions)
def from_requests(
    rows: Iterable[tuple[int, str, int, int]], *, name: str = "requests", **options: Unpack[ShapeOptions]
) -> Trace:
    """Makes a trace of tuples: time in nanoseconds, operation (R, W, T, F), offset in bytes, size in bytes.

    Args:
        rows: the tuples, in the order of their times.
        name: what the trace is called in results.
        {options}
    """
    lines = ["time_ns,op,offset_bytes,size_bytes"]
    for number, row in enumerate(rows, 1):
        try:
            time_ns, op, offset_bytes, size_bytes = row
            line = f"{time_ns:d},{op},{offset_bytes:d},{size_bytes:d}"
        except (TypeError, ValueError):
            raise OptionTypeError(
                f"request {number}: (time_ns, op, offset_bytes, size_bytes) is wanted, and not {row!r}"
            ) from None
        # (What reads the lines would name a line, a column and an option of the command.)
        if op not in ("R", "W", "T", "F") or min(time_ns, offset_bytes, size_bytes) < 0:
            raise DataError(f"request {number}: R, W, T or F is wanted, and numbers from 0 on, and not {row!r}")
        lines.append(line)
    text = "\n".join(lines) + "\n"
    return _calls.native.read_bytes(name, text.encode(), _calls.options({"format": "csv", **options}))


def _held(trace: Any, options: Mapping[str, Any], told: Any) -> Trace:
    name, held = _calls.trace_of(trace)
    if held is None:
        return _calls.native.read(_calls.options({"trace": name, **options}), told)
    return held.shaped(_calls.options(options), told) if options else held


@takes(TraceOptions)
def info(
    trace: TraceLike, *, progress: ProgressFn | bool | None = None, **options: Unpack[TraceOptions]
) -> dict[str, Any]:
    """What a trace holds: requests, sizes, footprints, reuse and update distances, the miss ratio of LRU by cache
    size, sequential runs, pauses, load (docs/traces.md).

    Args:
        trace: a path, ``synth:NAME``, a ``Trace``, or a table of requests.
        {options}
        progress: as for ``run``.
    """
    with _calls.Told(progress) as told:
        return json.loads(_held(trace, options, told).describe(told))


@takes(TraceOptions)
def convert(
    trace: TraceLike,
    out: str | os.PathLike[str],
    *,
    to: str | None = None,
    progress: ProgressFn | bool | None = None,
    **options: Unpack[TraceOptions],
) -> list[str]:
    """Writes a trace into a file.

    Args:
        trace: a path, ``synth:NAME``, a ``Trace``, or a table of requests.
        out: the file. Its name says the format (.shingle, .csv, .parquet, …), and .gz or .zst behind it packs.
        to: the format, where the name does not say it.
        {options}
        progress: as for ``run``.

    Returns:
        Sentences about what the format cannot carry.
    """
    with _calls.Told(progress) as told:
        return _held(trace, options, told).save(out, to, told)


@takes(TraceOptions)
def mix(
    traces: Sequence[TraceLike],
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
        traces: each a path, ``synth:NAME``, a ``Trace``, or a table of requests.
        copies: so many copies of all of them.
        shift_bytes: each begins so much behind the one before, in place of side by side; 0 lays them on each
            other.
        shuffle: in a random order, in which each keeps its own.
        time_scale: all times are multiplied by it.
        seed: of ``shuffle`` and of workloads.
        name: what the trace is called in results.
        {options}
        progress: as for ``run``.
    """
    if _is_named(traces):
        raise OptionTypeError(f"traces: a list of traces is wanted, and not {traces!r}")
    with _calls.Told(progress) as told:
        held = [_held(trace, {"seed": seed, **options} if _is_named(trace) else options, told) for trace in traces]
        return _calls.native.mix(name, held, copies, shift_bytes, shuffle, time_scale, seed, told)


def _is_named(trace: Any) -> bool:
    return isinstance(trace, (str, os.PathLike))
