"""What there is, from the registries."""

from __future__ import annotations

import json
from typing import Any

from . import _calls


def _listed(what: str) -> list[dict[str, Any]]:
    return json.loads(_calls.native.listed(what))


def policies() -> list[dict[str, Any]]:
    """What a cache keeps, and which blocks leave it: ``name``, ``about``, ``idle`` and ``parameters`` of each."""
    return _listed("policies")


def drives() -> list[dict[str, Any]]:
    """Models of disks: ``name``, ``about`` and ``parameters`` of each, with units and sources."""
    return _listed("drives")


def translations() -> list[dict[str, Any]]:
    """Layers that let a host-managed disk be written anywhere."""
    return _listed("translations")


def ssds() -> list[dict[str, Any]]:
    """Models of the SSD that a cache is on."""
    return _listed("ssds")


def formats() -> list[dict[str, Any]]:
    """Trace formats that are read."""
    return _listed("formats")


def workloads() -> list[dict[str, Any]]:
    """Synthetic traces: ``trace.synth(NAME, …)`` makes one."""
    return _listed("workloads")
