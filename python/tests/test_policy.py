"""Policies in Python."""

from __future__ import annotations

from collections import OrderedDict

import pytest
from conftest import SMALL, figures

import shingle

TINY = "synth:mixed?requests=3k"


class Lru(shingle.Policy):
    """As ``lru`` is."""

    name = "lru-in-python"
    about = "least recently used block first"

    def __init__(self, params, slots):
        super().__init__(params, slots)
        self.order = OrderedDict()

    def on_insert(self, slot, access):
        self.order[slot] = None

    def on_hit(self, slot, access):
        self.order.move_to_end(slot)

    def on_remove(self, slot):
        del self.order[slot]

    def evict(self, want, access):
        for slot in [slot for slot in self.order if self.slots.evictable(slot)][:want]:
            del self.order[slot]
            yield slot

    def destage(self, want):
        dirty = (slot for slot in self.order if self.slots.dirty(slot) and self.slots.evictable(slot))
        return [slot for slot, _ in zip(dirty, range(want))]


class Zoned(Lru):
    name = "zoned"
    zones = True
    parameters = {"most": 3, "part": 0.5, "reads": True, "order": ("old", "new")}
    seen = []

    def __init__(self, params, slots):
        super().__init__(params, slots)
        Zoned.seen.append(params)

    def admit(self, access):
        return access.is_write or self.params["reads"]

    def on_insert(self, slot, access):
        assert self.slots.block(slot) == access.block and self.slots.find(access.block) == slot
        assert self.slots.zone(slot) == access.block // self.params["zone"]
        super().on_insert(slot, access)


def without_names(result):
    result = figures(result.to_json())
    for run in result["runs"]:
        del run["policy"], run["parameters"], run["memory"]
    del result["said"]
    return result


@pytest.mark.parametrize("more", [{}, {"pacing": "trace", "check": True}, {"executor": "store", "drain": True}])
def test_lru_in_python_is_lru(more):
    # (A store has 1024 blocks at least.)
    ours = shingle.run(TINY, policy=Lru, cache="1024b", **more)
    assert ours.runs[0]["policy"] == "lru-in-python"
    assert without_names(ours) == without_names(shingle.run(TINY, policy="lru", cache="1024b", **more))


def test_parameters_and_zones(capsys):
    settings = {"zoned.zone": "10M", "zoned.part": 0.25, "zoned.order": "new", "zoned.reads": False}
    result = shingle.compare(TINY, policies=["lru", Zoned], cache="5%", set=settings)
    assert Zoned.seen[-1] == {"zone": 2560, "most": 3, "part": 0.25, "reads": False, "order": "new"}
    assert result.runs[1]["all"]["bypass"]["read_blocks"] > 0
    assert "zoned" not in {policy["name"] for policy in shingle.policies()}
    with pytest.raises(shingle.UsageError, match="no parameter `mosst`; there are most"):
        shingle.compare(TINY, policies=Zoned, set={"zoned.mosst": 1})


def test_an_exception_is_raised_by_the_call():
    class Fails(Lru):
        name = "fails"

        def on_hit(self, slot, access):
            raise LookupError("a mistake of mine")

    with pytest.raises(LookupError, match="a mistake of mine") as raised:
        shingle.compare(TINY, policies=["lru", Fails], cache="5%")
    assert raised.traceback[-1].name == "on_hit"

    class CannotBegin(Lru):
        name = "cannot-begin"

        def __init__(self, params, slots):
            raise OSError("no memory left")

    with pytest.raises(OSError, match="no memory left"):
        shingle.run(TINY, policy=CannotBegin)
    # And the next call knows nothing of that.
    assert shingle.run(TINY, policy=Lru).runs


def test_a_broken_contract_is_told():
    class NamesNobody(Lru):
        name = "names-nobody"

        def evict(self, want, access):
            return []

    with pytest.raises(shingle.DataError, match="policy `names-nobody` broke the contract.*it named no slot, though slot"):
        shingle.run(TINY, policy=NamesNobody, cache="2%")

    class NamesTwice(Lru):
        name = "names-twice"

        def evict(self, want, access):
            slot = next(slot for slot in self.order if self.slots.evictable(slot))
            del self.order[slot]
            return [slot, slot]

    with pytest.raises(shingle.DataError, match="names-twice.*it named slot"):
        shingle.run(TINY, policy=NamesTwice, cache="2%")

    class NamesText(Lru):
        name = "names-text"

        def evict(self, want, access):
            return ["x"]

    with pytest.raises(TypeError, match=r"NamesText.evict: slots are wanted, .* \(int\) .* not 'x'"):
        shingle.run(TINY, policy=NamesText, cache="2%")

    class NamesNone(Lru):
        name = "names-none"

        def evict(self, want, access):
            super().evict(want, access)

    with pytest.raises(TypeError, match="NamesNone.evict: slots are wanted, .* not None"):
        shingle.run(TINY, policy=NamesNone, cache="2%")

    class SaysNothing(Lru):
        name = "says-nothing"

        def admit(self, access):
            access.is_write  # (A `return` is missing.)

    with pytest.raises(TypeError, match="SaysNothing.admit: True or False is wanted, and not None"):
        shingle.run(TINY, policy=SaysNothing, cache="2%")


def test_a_name_is_of_one_policy():
    """With the name of another it would be run in its place, and be compared with itself."""

    class BuiltIn(Lru):
        name = "lru"

    class Other(Lru):
        pass

    for classes, told in [(["lru", BuiltIn], "BuiltIn.name: there is a policy `lru`"), ([Lru, Other], "Other.name")]:
        with pytest.raises(shingle.UsageError, match=told):
            shingle.compare(TINY, policies=classes)
    result = shingle.compare(TINY, policies=["most", Lru], baseline=Lru, cache="2%")
    assert [run["policy"] for run in result.runs] == ["most", "lru-in-python"]


def test_slots_are_there_during_a_call_only():
    kept = []

    class Keeps(Lru):
        name = "keeps"

        def on_remove(self, slot):
            super().on_remove(slot)

        def evict(self, want, access):
            kept.append(self.slots)
            assert self.slots.capacity == self.slots.dirty_blocks + self.slots.clean_blocks
            with pytest.raises(IndexError, match="no slot"):
                self.slots.dirty(self.slots.capacity)
            yield from super().evict(want, access)

    shingle.run(TINY, policy=Keeps, cache="2%")
    with pytest.raises(RuntimeError, match="only while a method of a policy runs"):
        kept[0].dirty(0)


def test_a_policy_says_what_it_is():
    class Nameless(Lru):
        name = ""

    with pytest.raises(shingle.OptionTypeError, match="Nameless.name"):
        shingle.run(SMALL, policy=Nameless)

    for value in [-1, 2**64, float("inf"), float("nan"), (), "x"]:

        class Wrong(Lru):
            name = "wrong"
            parameters = {"x": value}

        with pytest.raises(shingle.OptionTypeError, match=r"Wrong.parameters\['x'\]"):
            shingle.run(SMALL, policy=Wrong)

    class Twice(Lru):
        name = "twice"
        zones = True
        parameters = {"zone": 5}

    with pytest.raises(shingle.OptionTypeError, match=r"Twice.parameters\['zone'\].*already"):
        shingle.run(SMALL, policy=Twice)
    with pytest.raises(shingle.UsageError, match="no module made with"):
        shingle.load("json")
