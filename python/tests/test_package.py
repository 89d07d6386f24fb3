"""The package itself: what it offers, and that its parts say the same."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import shingle
from shingle import _calls, _native

HERE = Path(shingle.__file__).parent

#: What functions take that is no option of the command.
OWN = {"trace", "progress", "out", "fresh", "shard"}


def parameters(function) -> set[str]:
    return {_calls.FILE_NAMES.get(name, name) for name in inspect.signature(function).parameters} - OWN


def test_functions_take_the_options_of_the_command():
    options = set(_native.options()) - {"trace"}
    assert parameters(shingle.compare) == options - {"vary"}
    assert parameters(shingle.sweep) == options - {"threads", "seeds", "baseline", "targets", "course"}
    single = {"policies": "policy", "drives": "drive", "translations": "translation"}
    others = options - {"vary", "seeds", "baseline", "targets", "threads"}
    assert parameters(shingle.run) == {single.get(name, name) for name in others}


def test_everything_is_documented():
    for name in shingle.__all__:
        thing = getattr(shingle, name)
        assert name == "__version__" or inspect.getdoc(thing), name
    for name in shingle.trace.__all__:
        assert inspect.getdoc(getattr(shingle.trace, name)), name
    functions = [shingle.run, shingle.compare, shingle.sweep, *(getattr(shingle.trace, name) for name in shingle.trace.__all__)]
    for function in functions:
        said = inspect.getdoc(function)
        assert "{options}" not in said
        for name in inspect.signature(function).parameters:
            assert name in said or function is shingle.trace.synth, (function, name)


def test_an_option_that_is_not_there_is_told():
    for function, given, wanted in [
        (shingle.run, {"polcy": "sac"}, "run: there is no option `polcy`; there are policy"),
        (shingle.run, {"policies": "sac"}, "run: there is no option `policies`; there are policy"),
        (shingle.compare, {"flush": 3}, "compare: there is no option `flush`; there are flush_every"),
        (shingle.sweep, {"course": True}, "sweep: there is no option `course`"),
        (shingle.trace.info, {"trace": "synth:zipf", "cache": "5%"}, "info: there is no option `cache`"),
    ]:
        with pytest.raises(TypeError, match=wanted):
            function(**given)


def test_the_stubs_name_what_there_is():
    stubs = ast.parse((HERE / "_native.pyi").read_text())
    named = {node.name: node for node in stubs.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    there = {name for name in dir(_native) if not name.startswith("__")}
    assert {name for name in named if not name.startswith("_")} == there
    for name, node in named.items():
        if not isinstance(node, ast.ClassDef) or name.startswith("_"):
            continue
        stubbed = {below.name for below in node.body if isinstance(below, ast.FunctionDef)}
        own = {member for member in vars(getattr(_native, name)) if not member.startswith("__")}
        assert {member for member in stubbed if not member.startswith("__")} == own, name
    assert (HERE / "py.typed").exists()


def test_lists_are_those_of_the_registries():
    assert {"lru", "sac"} <= {policy["name"] for policy in shingle.policies()}
    drive = next(drive for drive in shingle.drives() if drive["name"] == "st8000as0002")
    assert all(parameter["about"] for parameter in drive["parameters"])
    lists = [shingle.translations, shingle.ssds, shingle.formats, shingle.workloads]
    assert all(listed() and listed()[0]["about"] for listed in lists)
