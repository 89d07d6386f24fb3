"""Options that several functions take, each with its type and what it is: here and nowhere else.

Such a function takes ``**options: Unpack[…]`` for type checkers. ``takes`` writes the options out in its signature and
in its docstring, so that ``help`` and completion show them.
"""

import functools
import inspect
import os
import textwrap
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Literal, ParamSpec, TypedDict, TypeVar, get_args

from ._errors import OptionTypeError
from ._native import Trace
from ._policy import Policy

#: A trace: a path, ``synth:NAME``, requests in memory, or a table that has ``__arrow_c_stream__``.
TraceLike = str | os.PathLike[str] | Trace | Any
#: A size: text, or bytes as a number.
Size = str | int
#: A policy: its name, or a class.
PolicyLike = str | type[Policy]


class ShapeOptions(TypedDict, total=False):
    """What of a trace counts, and where on the disk it lies."""

    volume: Annotated[str | None, 'which volumes of several: ``"NAME"``, ``"NAME,NAME"``, ``"*"``.']
    reorder: Annotated[
        str | None, 'time within which requests out of order are sorted, as ``"60s"``, or ``"keep"``. [10s]'
    ]
    mode: Annotated[Literal["rw", "w", "r"] | None, "requests that count: all, writes, reads. [rw]"]
    requests: Annotated[int | None, "only the first so many."]
    offset: Annotated[Size | None, "bytes that the trace is shifted up by."]
    copies: Annotated[int | None, "so many copies side by side."]
    remap: Annotated[bool | None, "pack the zones that the trace touches together."]


class TraceOptions(ShapeOptions, total=False):
    """How a trace is read as well."""

    format: Annotated[
        str | None,
        "the trace's format, if it cannot be found from the content; for CSV with its columns, as in "
        '``"csv:time=1/us,op=2,offset=3/bytes,size=4/bytes"`` (docs/formats.md).',
    ]
    assume_op: Annotated[Literal["read", "write"] | None, "what all requests are, in formats that do not say."]
    seed: Annotated[int | None, "of everything random, workloads included. [1]"]


class SetupOptions(TraceOptions, total=False):
    """What a trace runs through, beside policies, drives and sizes."""

    ssd: Annotated[str | None, "a name of ``ssds()``. [pcie-ssd]"]
    set: Annotated[Mapping[str, Any] | None, 'parameters, as in ``{"sac.rule4": "exact", "drive.pb": "real"}``.']
    pacing: Annotated[
        Literal["closed", "trace"] | None,
        "when requests come: the next when the last is done, or at the trace's times. [closed]",
    ]
    speed: Annotated[float | None, 'with ``pacing="trace"``, how many times faster than the trace. [1]']
    executor: Annotated[
        Literal["papers", "store"] | None,
        "what serves: that of the papers, or the store over models (``--as``). [papers]",
    ]
    depth: Annotated[int | None, 'with ``executor="store"``, requests under way at a time. [32]']
    flush_every: Annotated[int | None, 'with ``executor="store"``, seconds between flushes of the client. [never]']
    split: Annotated[Literal["off", "4k"] | None, '``"4k"`` sends each block by itself. [off]']
    partial: Annotated[
        Literal["fill", "ignore"] | None,
        "blocks that are written in part: read the rest, or count them as whole. [fill]",
    ]
    drive_timing: Annotated[Literal["mechanics", "cost"] | None, "how drives are timed. [as each prefers]"]
    drain: Annotated[bool | None, "destage and clean everything at the end, and count that in."]
    check: Annotated[bool | None, "check every read against the last write."]
    memory: Annotated[
        Size | None, "a native trace that takes more in memory stays in its file, and each run reads it again. [1G]"
    ]


_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def described(options: type) -> dict[str, tuple[Any, str]]:
    """Type and description of each option; those of reading a trace come last."""
    # (A TypedDict has the options of those that it extends.)
    own = dict(options.__annotations__)
    last = {name: own.pop(name) for name in TraceOptions.__annotations__ if name in own}
    return {name: get_args(annotation) for name, annotation in {**own, **last}.items()}


def takes(options: type) -> Callable[[Callable[_Given, _Result]], Callable[_Given, _Result]]:
    """The function takes these options by name, and says so in its signature and its docstring, there behind ``Args``
    in place of the line ``{options}``."""

    def written_out(function: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
        signature = inspect.signature(function)
        own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        table = {name: told for name, told in described(options).items() if name not in signature.parameters}
        by_name = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
            for name, (kind, _) in table.items()
        ]
        # What shows progress, if that is there, stays the last.
        place = len(own) - (own[-1].name == "progress")
        allowed = {one.name for one in own} | table.keys()

        @functools.wraps(function)
        def checked(*args: _Given.args, **given: _Given.kwargs) -> _Result:
            for name in given.keys() - allowed:
                near = get_close_matches(name, sorted(allowed)) or sorted(allowed)
                raise OptionTypeError(f"{function.__name__}: there is no option `{name}`; there are {', '.join(near)}")
            return function(*args, **given)

        parameters = [*own[:place], *by_name, *own[place:]]
        checked.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        lines = [_line(name, about) for name, (_, about) in table.items()]
        checked.__doc__ = (function.__doc__ or "").replace("        {options}", "\n".join(lines))
        return checked

    return written_out


def _line(name: str, about: str) -> str:
    return textwrap.fill(f"{name}: {about}", 118, initial_indent=" " * 8, subsequent_indent=" " * 12)

