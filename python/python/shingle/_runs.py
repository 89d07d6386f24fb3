"""``run`` and ``compare``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from . import _calls
from ._calls import ProgressFn
from ._native import Trace
from ._policy import Policy
from ._results import Result

#: A trace: a path, ``synth:NAME``, requests in memory, or a table that has ``__arrow_c_stream__``.
TraceLike = str | os.PathLike[str] | Trace | Any
#: A size: text, or bytes as a number.
Size = str | int
#: A policy: its name, or a class.
PolicyLike = str | type[Policy]


def run(
    trace: TraceLike = "synth:mixed",
    *,
    policy: PolicyLike | None = None,
    drive: str | None = None,
    translation: str | None = None,
    cache: Size | None = None,
    ssd: str | None = None,
    set: Mapping[str, Any] | None = None,
    pacing: Literal["closed", "trace"] | None = None,
    speed: float | None = None,
    executor: Literal["papers", "store"] | None = None,
    depth: int | None = None,
    flush_every: int | None = None,
    split: Literal["off", "4k"] | None = None,
    partial: Literal["fill", "ignore"] | None = None,
    drive_timing: Literal["mechanics", "cost"] | None = None,
    drain: bool | None = None,
    check: bool | None = None,
    format: str | None = None,
    volume: str | None = None,
    reorder: str | None = None,
    assume_op: Literal["read", "write"] | None = None,
    mode: Literal["rw", "w", "r"] | None = None,
    requests: int | None = None,
    offset: Size | None = None,
    copies: int | None = None,
    remap: bool | None = None,
    seed: int | None = None,
    course: bool | None = None,
    progress: ProgressFn | bool | None = None,
) -> Result:
    """One configuration over a trace: what ``shingle run`` does, with its options and their defaults.

    Args:
        trace: a path, ``synth:NAME``, a ``Trace``, or a table of requests.
        policy: a name of ``policies()``, or a class of ``Policy``. [sac]
        drive: a name of ``drives()``, ``sheet:FILE`` or ``profile:FILE``. [st8000as0002]
        translation: a name of ``translations()``. [none]
        cache: size of the cache: ``"256MiB"``, ``"5000b"`` (blocks of 4 KiB), ``"5%"`` of the different blocks
            accessed, ``"5%zones"``, ``"5%written"``. [15%]
        ssd: a name of ``ssds()``. [pcie-ssd]
        set: parameters, as in ``{"sac.rule4": "exact", "drive.pb": "real"}``.
        pacing: when requests come: the next when the last is done, or at the trace's times. [closed]
        speed: with ``pacing="trace"``, how many times faster than the trace. [1]
        executor: what serves: that of the papers, or the store over models (``--as``). [papers]
        depth: with ``executor="store"``, requests under way at a time. [32]
        flush_every: with ``executor="store"``, seconds between flushes of the client. [never]
        split: ``"4k"`` sends each block by itself. [off]
        partial: blocks that are written in part: read the rest, or count them as whole. [fill]
        drive_timing: how drives are timed. [as each prefers]
        drain: destage and clean everything at the end, and count that in.
        check: check every read against the last write.
        format, volume, reorder, assume_op: how the trace is read (docs/formats.md).
        mode: requests that count: all, writes, reads. [rw]
        requests: only the first so many.
        offset: bytes that the trace is shifted up by.
        copies: so many copies side by side.
        remap: pack the zones that the trace touches together.
        seed: of everything random. [1]
        course: record a course of 100 points, response times and heat maps for ``Result.plot``.
        progress: ``True`` for a bar of tqdm, a function of the name of the work, what is done and all of it, or
            ``False``; without, a bar where somebody looks on.

    Returns:
        The result, as ``--json`` writes it. Times in it are in the unit that ends their names.

    Raises:
        UsageError: a wrong option, name or value.
        DataError: the trace cannot be read, or the run failed.
        KeyboardInterrupt: on Ctrl-C, at once.
    """
    given = {name: value for name, value in locals().items() if name not in ("trace", "progress")}
    named = dict(given)
    policies = named.pop("policy")
    for one, several in (("drive", "drives"), ("translation", "translations")):
        named[several] = _calls.names(named.pop(one), one)
    named["cache"] = _calls.names(cache, "cache")
    return _ran("run", trace, named, policies, "policy", given, progress)


def compare(
    trace: TraceLike = "synth:mixed",
    *,
    policies: PolicyLike | Sequence[PolicyLike] | None = None,
    drives: str | Sequence[str] | None = None,
    translations: str | Sequence[str] | None = None,
    cache: Size | Sequence[Size] | None = None,
    baseline: PolicyLike | None = None,
    seeds: int | None = None,
    targets: str | Sequence[str] | None = None,
    ssd: str | None = None,
    set: Mapping[str, Any] | None = None,
    pacing: Literal["closed", "trace"] | None = None,
    speed: float | None = None,
    executor: Literal["papers", "store"] | None = None,
    depth: int | None = None,
    flush_every: int | None = None,
    split: Literal["off", "4k"] | None = None,
    partial: Literal["fill", "ignore"] | None = None,
    drive_timing: Literal["mechanics", "cost"] | None = None,
    drain: bool | None = None,
    check: bool | None = None,
    threads: int | None = None,
    format: str | None = None,
    volume: str | None = None,
    reorder: str | None = None,
    assume_op: Literal["read", "write"] | None = None,
    mode: Literal["rw", "w", "r"] | None = None,
    requests: int | None = None,
    offset: Size | None = None,
    copies: int | None = None,
    remap: bool | None = None,
    seed: int | None = None,
    course: bool | None = None,
    progress: ProgressFn | bool | None = None,
) -> Result:
    """Policies side by side over a trace: what ``shingle compare`` does, with its options and their defaults.

    Args:
        policies: names of ``policies()`` or classes of ``Policy``; ``"all"`` for all that go with the drive.
            [none, lru, lru-band, most, sac]
        drives, translations, cache: one or several, as for ``run``; every combination is run.
        baseline: a policy to run along, ``"none"`` for no baseline. [lru]
        seeds: repeat a synthetic trace with so many seeds, from ``seed`` on. [1]
        targets: find the smallest cache that meets each, as in ``"p99=50ms"`` or ``"hits=80%"``.
        threads: configurations run side by side. [one a core]

    All others are those of ``run``, and so are what it returns and raises.
    """
    given = {name: value for name, value in locals().items() if name not in ("trace", "progress")}
    named = dict(given)
    policies = named.pop("policies")
    for name in ("drives", "translations", "cache", "targets"):
        named[name] = _calls.names(named[name], name)
    extra = []
    if isinstance(baseline, type):
        (name,), extra = _calls.policies(baseline, "baseline")
        named["baseline"] = name
    return _ran("compare", trace, named, policies, "policies", given, progress, extra)


def _ran(
    function: str,
    trace: TraceLike,
    named: dict[str, Any],
    policies: Any,
    option: str,
    given: Mapping[str, Any],
    progress: ProgressFn | bool | None,
    extra: Sequence[type[Policy]] = (),
) -> Result:
    named["policies"], classes = _calls.policies(policies, option)
    named["trace"], held = _calls.trace_of(trace)
    options = _calls.options(named)
    command = _calls.written(function, trace, given)
    with _calls.Told(progress) as told:
        call = getattr(_calls.native, function)
        return Result(call(options, held, _calls.definitions([*classes, *extra]), command, told))
