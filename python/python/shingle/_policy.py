"""Policies that are written in Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from ._errors import OptionTypeError
from ._native import Access, Slots

_METHODS = ("admit", "on_hit", "on_dirty", "on_clean", "destage")


class Policy:
    """A cache policy in Python, for trying an idea: it orders the blocks of a cache and names who leaves.

    Derive from it, give it a ``name``, and name the class among the policies of ``run``, ``compare`` or
    ``sweep``. It owns its order and nothing else: which slot of the cache holds which block, and whether that is
    dirty, is the cache's business, which ``self.slots`` tells. A policy must be deterministic. It is copied with
    ``copy.deepcopy`` at the end of a run.

    Slots are numbered from 0 to ``self.slots.capacity - 1``. An exception in a method ends the run, and is
    raised by the call that began it.
    """

    #: What the policy is called in options and results.
    name: ClassVar[str] = ""
    #: One line about it.
    about: ClassVar[str] = "a class in Python"
    #: Whether it works with zones of a fixed size: then it has the parameter ``zone``, as built-in ones do.
    zones: ClassVar[bool] = False
    #: Its parameters and their defaults: whole numbers, floats (from 0 on, in steps of 0.001), truths, or a
    #: tuple of words of which the first is the default. ``set={"NAME.PARAMETER": VALUE}`` sets them.
    parameters: ClassVar[Mapping[str, int | float | bool | tuple[str, ...]]] = {}

    def __init__(self, params: dict[str, Any], slots: Slots) -> None:
        """For an empty cache. ``params`` has a value for each parameter; ``zone`` is in blocks of 4 KiB, or
        ``None`` for the true bands of the drive."""
        self.params = params
        self.slots = slots

    def admit(self, access: Access) -> bool:
        """Whether a block that is not cached enters; otherwise the disk serves it. Asked once for each access
        that misses."""
        return True

    def on_insert(self, slot: int, access: Access) -> None:
        """``slot`` was just given to ``access.block``; or it comes back, as it was hit on its way out."""
        raise NotImplementedError(f"{type(self).__name__}.on_insert: every policy needs it")

    def on_hit(self, slot: int, access: Access) -> None:
        """``slot`` holds ``access.block`` and was touched."""

    def on_remove(self, slot: int) -> None:
        """The block in ``slot`` was trimmed: forget the slot."""
        raise NotImplementedError(f"{type(self).__name__}.on_remove: every policy needs it")

    def on_dirty(self, slot: int) -> None:
        """A clean slot has become dirty; ``on_hit`` follows."""

    def on_clean(self, slot: int) -> None:
        """A dirty slot has become clean and stays."""

    def evict(self, want: int, access: Access | None) -> Iterable[int]:
        """Names slots that leave, and forgets them: at least one for which ``self.slots.evictable(slot)`` holds
        if there is one, about ``want`` of them. ``access`` is what needs the room, if anything does. All that is
        given is taken, in this order, so end it (it may be a generator)."""
        raise NotImplementedError(f"{type(self).__name__}.evict: every policy needs it")

    def destage(self, want: int) -> Iterable[int]:
        """Names dirty, evictable slots that are to be written in idle time, and remembers them: those first that
        ``evict`` would name next. A policy without this method leaves idle time unused."""
        raise NotImplementedError


def definition(policy: type[Policy], native: Any) -> Any:
    """What the native part knows a class by: made once, and again where the class says something else."""
    parameters = [_parameter(policy, name, value) for name, value in policy.parameters.items()]
    own = [name for name in _METHODS if getattr(policy, name) is not getattr(Policy, name)]
    said = (native.__name__, policy.name, policy.about, policy.zones, repr(parameters), own)
    known = policy.__dict__.get("_shingle_definition")
    if known is None or known[0] != said:
        made = native.Definition(policy, policy.name, policy.about, policy.zones, parameters, own)
        known = (said, made)
        policy._shingle_definition = known  # type: ignore[attr-defined]
    return known[1]


def _parameter(policy: type[Policy], name: str, value: Any) -> tuple[str, str, str, str, list[str]]:
    about = f"of {policy.__name__}"
    if policy.zones and name == "zone":
        raise OptionTypeError(f"{policy.__name__}.parameters['zone']: a policy with zones has that one already")
    if isinstance(value, bool):
        return name, "switch", "on" if value else "off", about, []
    if isinstance(value, int) and 0 <= value < 2**64:
        return name, "count", str(value), about, []
    if isinstance(value, float) and 0 <= value < 2**53:
        return name, "ratio", f"{value:.3f}", about, []
    if isinstance(value, tuple) and value and all(isinstance(word, str) for word in value):
        return name, "choice", value[0], about, list(value)
    raise OptionTypeError(
        f"{policy.__name__}.parameters[{name!r}]: a number from 0 on, a truth or a tuple of words is wanted, "
        f"and not {value!r}"
    )
