"""``run`` and ``compare``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from . import _calls
from ._calls import ProgressFn
from ._options import PolicyLike, SetupOptions, Size, TraceLike, takes
from ._policy import Policy
from ._results import Result


@takes(SetupOptions)
def run(
    trace: TraceLike = "synth:mixed",
    *,
    policy: PolicyLike | None = None,
    drive: str | None = None,
    translation: str | None = None,
    cache: Size | None = None,
    course: bool | None = None,
    progress: ProgressFn | bool | None = None,
    **options: Unpack[SetupOptions],
) -> Result:
    """One configuration over a trace: what ``shingle run`` does, with its options and their defaults.

    Args:
        trace: a path, ``synth:NAME``, a ``Trace``, or a table of requests.
        policy: a name of ``policies()``, or a class of ``Policy``. [sac]
        drive: a name of ``drives()``, ``sheet:FILE`` or ``profile:FILE``. [st8000as0002]
        translation: a name of ``translations()``. [none]
        cache: size of the cache: ``"256MiB"``, ``"5000b"`` (blocks of 4 KiB), ``"5%"`` of the different blocks
            accessed, ``"5%zones"``, ``"5%written"``. [15%]
        course: record a course of 100 points, response times and heat maps for ``Result.plot``.
        progress: ``True`` for a bar of tqdm, a function of the name of the work, what is done and all of it, or
            ``False``; without, a bar at a terminal or in a notebook.
        {options}

    Returns:
        The result, as ``--json`` writes it. Times in it are in the unit that ends their names.

    Raises:
        UsageError: a wrong option, name or value.
        DataError: the trace cannot be read, or the run failed.
        KeyboardInterrupt: on Ctrl-C, at once.
    """
    given = {
        "policy": policy, "drive": drive, "translation": translation, "cache": cache, "course": course, **options
    }
    named = {
        "drives": _calls.names(drive, "drive"),
        "translations": _calls.names(translation, "translation"),
        "cache": _calls.names(cache, "cache"),
        "course": course,
        **options,
    }
    named["policies"], classes = _calls.policies(policy, "policy")
    return _ran("run", trace, named, classes, given, progress)


@takes(SetupOptions)
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
    threads: int | None = None,
    course: bool | None = None,
    progress: ProgressFn | bool | None = None,
    **options: Unpack[SetupOptions],
) -> Result:
    """Policies side by side over a trace: what ``shingle compare`` does, with its options and their defaults.

    Args:
        trace: a path, ``synth:NAME``, a ``Trace``, or a table of requests.
        policies: names of ``policies()`` or classes of ``Policy``; ``"all"`` for all. Of these, and of the
            default, what does not go with a drive is left out. [none, lru, lru-band, most, sac]
        drives, translations, cache: one or several, as for ``run``; every combination is run.
        baseline: a policy to run along, ``"none"`` for no baseline. [lru]
        seeds: repeat a synthetic trace with so many seeds, from ``seed`` on. [1]
        targets: find the smallest cache that meets each, as in ``"p99=50ms"`` or ``"hits=80%"``.
        threads: configurations run side by side. [one a core]
        course, progress: as for ``run``.
        {options}

    What it returns and raises is as for ``run``.
    """
    own = {"baseline": baseline, "seeds": seeds, "targets": targets, "threads": threads, "course": course, **options}
    listed = {"drives": drives, "translations": translations, "cache": cache}
    given = {"policies": policies, **listed, **own}
    named = {**own, **{name: _calls.names(value, name) for name, value in listed.items()}}
    named["targets"] = _calls.names(targets, "targets")
    named["policies"], classes = _calls.policies(policies, "policies")
    if isinstance(baseline, type):
        _, more = _calls.policies(baseline, "baseline")
        named["baseline"] = baseline.name
        classes += more
    return _ran("compare", trace, named, classes, given, progress)


def _ran(
    command: str,
    trace: TraceLike,
    named: dict[str, Any],
    classes: Sequence[type[Policy]],
    given: Mapping[str, Any],
    progress: ProgressFn | bool | None,
) -> Result:
    named["trace"], held = _calls.trace_of(trace)
    options, policies = _calls.options(named), _calls.definitions(classes)
    written = _calls.written(command, trace, given)
    with _calls.Told(progress) as told:
        return Result(_calls.native.compute(command, options, held, policies, written, told))
