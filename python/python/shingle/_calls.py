"""From arguments to the native part: options as JSON, policies that are classes, progress and remarks."""

from __future__ import annotations

import importlib
import json
import logging
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from . import _native
from ._errors import OptionTypeError, UsageError
from ._native import Trace
from ._policy import Policy, definition

#: What a call tells while it goes on: the name of the work, what is done of it, and all of it.
ProgressFn = Callable[[str, int, int], object]

_log = logging.getLogger("shingle")

#: The compiled module in use.
native: Any = _native


def load(module: str | ModuleType) -> None:
    """Takes another compiled module into use, with policies of its own, by its name.

    Such a module is a Rust crate that adds its policies to the registry and calls ``shingle_python::module``
    (docs/python.md). From here on ``policies()`` lists them, and every call knows them by name.

    Raises:
        UsageError: if it is no such module, or of another version.
    """
    global native
    found = importlib.import_module(module) if isinstance(module, str) else module
    version = getattr(found, "__version__", None)
    if not hasattr(found, "compute") or not hasattr(found, "Plan"):
        raise UsageError(f"{found.__name__}: it is no module made with shingle_python::module")
    if version != _native.__version__:
        raise UsageError(
            f"{found.__name__}: it is of shingle {version}, and this package of {_native.__version__}; "
            "build it again with the sources of this version"
        )
    native = found


def names(value: Any, option: str) -> list[str] | None:
    """One name, or several, as a list."""
    if value is None:
        return None
    if isinstance(value, (str, int, float)):
        return [str(value)]
    if isinstance(value, Sequence):
        return [str(one) for one in value]
    raise OptionTypeError(f"{option}: a name or a list of names is wanted, and not {value!r}")


def policies(value: Any, option: str) -> tuple[list[str] | None, list[type[Policy]]]:
    """Names of policies, and those among them that are classes."""
    if value is None:
        return None, []
    if isinstance(value, (str, type)):
        value = [value]
    if not isinstance(value, Sequence):
        raise OptionTypeError(
            f"{option}: names of policies or classes of shingle.Policy are wanted, and not {value!r}"
        )
    named, classes = [], []
    for one in value:
        if isinstance(one, str):
            named.append(one)
        elif isinstance(one, type) and issubclass(one, Policy):
            named.append(definition_name(one))
            classes.append(one)
        else:
            raise OptionTypeError(
                f"{option}: a name or a class of shingle.Policy is wanted, and not {one!r}"
            )
    return named, classes


def definition_name(policy: type[Policy]) -> str:
    if not isinstance(policy.name, str) or not policy.name:
        raise OptionTypeError(f"{policy.__name__}.name: give the policy a name")
    return policy.name


def definitions(classes: Sequence[type[Policy]]) -> list[Any]:
    """What the native part knows classes by. One with the name of another policy would be run in its place."""
    taken = {one["name"] for one in json.loads(native.listed("policies"))} if classes else set()
    for one in dict.fromkeys(classes):
        if one.name in taken:
            raise UsageError(f"{one.__name__}.name: there is a policy `{one.name}`; give this one another name")
        taken.add(one.name)
    return [definition(one, native) for one in classes]


#: Options whose names in a file of ``--config`` are no names in Python, or others.
FILE_NAMES = {
    "assume_op": "assume-op",
    "drive_timing": "drive-timing",
    "executor": "as",
    "flush_every": "flush-every",
}


def options(given: Mapping[str, Any]) -> str:
    """Options as JSON, without those that are not given. Names are those of a file of ``--config``."""
    config = {}
    for name, value in given.items():
        if value is None:
            continue
        name = FILE_NAMES.get(name, name)
        if name == "set":
            value = settings(value)
        elif isinstance(value, os.PathLike):
            value = os.fspath(value)
        config[name] = value
    try:
        return json.dumps(config)
    except TypeError as error:
        wrong = next((name for name, value in config.items() if not _is_json(value)), "")
        raise OptionTypeError(f"{wrong}: text, numbers and lists of them are wanted: {error}") from None


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value)
    except TypeError:
        return False
    return True


def settings(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise OptionTypeError(
            f'set: a dict is wanted, as in {{"sac.rule4": "exact"}}, and not {value!r}'
        )
    return dict(value)


def trace_of(trace: Any) -> tuple[str | None, Trace | None]:
    """A trace as it is given: by name, or as requests in memory."""
    if trace is None:
        return None, None
    if isinstance(trace, (str, os.PathLike)):
        return os.fspath(trace), None
    if not isinstance(trace, native.Trace):
        if not hasattr(trace, "__arrow_c_stream__"):
            raise OptionTypeError(
                "trace: a path, a workload synth:NAME, a shingle.Trace or a table is wanted, and not "
                f"{type(trace).__name__}"
            )
        name = getattr(trace, "name", None)
        trace = native.read_table(name if isinstance(name, str) else "table", trace, "{}")
    return trace.name, trace


class Told:
    """Hears of a call: remarks go to the logger ``shingle``, progress to a function or a bar of tqdm."""

    def __init__(self, progress: ProgressFn | bool | None = None) -> None:
        self.note: Callable[[str], object] | None = _log.info if _log.isEnabledFor(logging.INFO) else None
        self.progress: ProgressFn | None = None
        self._bar: Any = None
        if callable(progress):
            self.progress = progress
        elif progress is True or (progress is None and _is_watched()):
            self.progress = self._show
        self._begun = time.monotonic()
        self._what = ""

    def _show(self, what: str, done: int, total: int) -> None:
        # A call of a moment needs no bar.
        if total <= 0 or time.monotonic() - self._begun < 1:
            return
        if self._bar is None or self._what != what:
            self.close()
            try:
                from tqdm.auto import tqdm
            except ImportError:
                self.progress = None
                return
            self._bar = tqdm(total=total, desc=what, unit_scale=True, leave=False)
            self._what = what
        self._bar.total = total
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def __enter__(self) -> Told:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _is_watched() -> bool:
    """Whether output is shown at a terminal, or in a notebook."""
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())


def written(function: str, trace: Any, given: Mapping[str, Any]) -> str:
    """The call as one would write it, for results."""

    def shown(value: Any) -> str:
        if isinstance(value, type):
            return value.__name__
        if isinstance(value, (list, tuple)):
            return "[" + ", ".join(shown(one) for one in value) + "]"
        if isinstance(value, os.PathLike):
            return repr(os.fspath(value))
        return repr(value)

    words = []
    if isinstance(trace, (str, os.PathLike)):
        words.append(repr(os.fspath(trace)))
    elif trace is not None:
        words.append("trace")
    words += [f"{name}={shown(value)}" for name, value in given.items() if value is not None]
    return f"shingle.{function}({', '.join(words)})"
