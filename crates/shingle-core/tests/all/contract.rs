//! A policy that breaks its contract is named, and so is the rule it broke: in release builds too.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use shingle_core::cache::{CacheCore, Outcome};
use shingle_core::params::Params;
use shingle_core::parts::{ByZone, Links, List};
use shingle_core::plan::Plan;
use shingle_core::policy::{Access, Idle, Memory, Policy, Victims, ZONE, Zoning};
use shingle_core::registry::Entry;
use shingle_core::slots::Slots;
use shingle_core::units::{Block, Op, Slot};
use shingle_testkit::make_with;

/// What the policy under test does wrong.
mod wrong {
    pub(super) const PUSHES_FIRST: u8 = 0;
    pub(super) const NAMES_IN_USE: u8 = 1;
    pub(super) const NAMES_NOBODY: u8 = 2;
    pub(super) const NAMES_TWICE: u8 = 3;
    pub(super) const NAMES_TRIMMED: u8 = 4;
    pub(super) const WRITES_CLEAN: u8 = 5;
    pub(super) const WRITES_MANY: u8 = 6;
    pub(super) const NAMES_UNKNOWN: u8 = 7;
    pub(super) const NOTHING: u8 = 8;
    pub(super) const IDLES: u8 = 9;
    pub(super) const WRITES_UNDECLARED: u8 = 10;
}

/// First in, first out by zones, but for what is wrong.
#[derive(Clone)]
struct Broken<const WRONG: u8> {
    links: Links,
    zones: ByZone<List>,
    came: Vec<Slot>,
}

impl<const WRONG: u8> Broken<WRONG> {
    fn forget(&mut self, slot: Slot, slots: &Slots) {
        self.zones[slots.zone_index(slot)].unlink(&mut self.links, slot.0);
        self.came.retain(|&came| came != slot);
    }
}

impl<const WRONG: u8> Policy for Broken<WRONG> {
    const NAME: &'static str = "broken";
    const ABOUT: &'static str = "breaks its contract";
    const ZONING: Zoning = Zoning::Fixed;
    const IDLE: Idle = match WRONG {
        wrong::WRITES_UNDECLARED => Idle::Never("it says so"),
        _ => Idle::Names,
    };
    const PARAMS: &'static [shingle_core::params::Param] = &[ZONE];

    fn new(_: &Params, slots: &Slots) -> Self {
        let links = Links::new(slots.capacity() as usize);
        Broken { links, zones: ByZone::new(), came: Vec::new() }
    }

    fn on_hit(&mut self, _: Slot, _: &Access, _: &Slots) {}

    fn on_insert(&mut self, slot: Slot, _: &Access, slots: &Slots) {
        self.zones[slots.zone_index(slot)].push_head(&mut self.links, slot.0);
        self.came.push(slot);
    }

    fn on_remove(&mut self, slot: Slot, slots: &Slots) {
        if WRONG != wrong::NAMES_TRIMMED {
            self.forget(slot, slots);
        }
    }

    fn evict(&mut self, _: Option<&Access>, want: u32, out: &mut Victims) {
        if WRONG == wrong::NAMES_UNKNOWN {
            out.push(Slot(1_000_000));
        }
        let might = |slot: &&Slot| out.slots().evictable(**slot) || WRONG == wrong::NAMES_IN_USE;
        let first = if WRONG == wrong::NAMES_TRIMMED {
            self.came.first().copied()
        } else {
            self.came.iter().find(might).copied()
        };
        let Some(slot) = first.filter(|_| WRONG != wrong::NAMES_NOBODY && want > 0) else { return };
        if WRONG == wrong::PUSHES_FIRST {
            out.push(slot);
            return self.forget(slot, out.slots());
        }
        self.forget(slot, out.slots());
        out.push(slot);
        if WRONG == wrong::NAMES_TWICE {
            out.push(slot);
        }
    }

    fn destage(&mut self, want: u32, out: &mut Victims) {
        if WRONG == wrong::IDLES {
            return;
        }
        let more = u32::from(WRONG == wrong::WRITES_MANY);
        for &slot in self.came.iter().take((want + more) as usize) {
            if out.slots().dirty(slot) || WRONG == wrong::WRITES_CLEAN {
                out.push(slot);
            }
        }
    }

    fn memory(&self) -> Memory {
        Memory::default()
    }
}

/// Four slots, all full; the block in slot `s` is `5 * s`, in a zone of its own, dirty or clean.
fn full<const WRONG: u8>(op: Op) -> Box<dyn CacheCore> {
    let entry = Entry::of::<Broken<WRONG>>();
    let mut params = Params::new(entry.params);
    params.set("zone", "5b").expect("a zone");
    let mut cache = make_with(&entry, &params, 4, 1);
    for slot in 0..4 {
        let mut access = Access::whole(slot, Block(5 * slot), op);
        let outcome = cache.access(&mut access, &mut Plan::default());
        assert_eq!(outcome, Outcome::Miss(Slot(slot as u32)));
    }
    cache
}

fn message(panic: Box<dyn Any + Send>) -> String {
    match panic.downcast::<String>() {
        Ok(message) => *message,
        Err(panic) => (*panic.downcast::<&str>().expect("a message")).to_owned(),
    }
}

/// What the cache says when `act` makes the policy break its contract.
fn told(cache: Box<dyn CacheCore>, act: impl Fn(&mut dyn CacheCore, &mut Plan)) -> String {
    let mut cache = cache;
    let panic = catch_unwind(AssertUnwindSafe(|| act(cache.as_mut(), &mut Plan::default())));
    let panic = panic.expect_err("the breach was not noticed");
    message(panic)
}

fn miss(cache: &mut dyn CacheCore, plan: &mut Plan) {
    cache.access(&mut Access::whole(9, Block(300), Op::Write), plan);
}

fn idle(cache: &mut dyn CacheCore, plan: &mut Plan) {
    cache.idle(2, plan);
}

#[test]
fn a_broken_contract_names_the_policy_and_the_rule() {
    let pinned = |cache: &mut dyn CacheCore, plan: &mut Plan| {
        cache.pin(Slot(0));
        miss(cache, plan);
    };
    let trimmed = |cache: &mut dyn CacheCore, plan: &mut Plan| {
        cache.trim(Block(0), 1);
        cache.evict(1, plan);
    };
    let evict = "policy `broken` broke the contract of Policy::evict: it named ";
    let destage = "policy `broken` broke the contract of Policy::destage: it named ";
    let cases = [
        (
            told(full::<{ wrong::NAMES_IN_USE }>(Op::Write), pinned),
            evict,
            "slot 0, which is in use: I/O on it is under way",
        ),
        (
            told(full::<{ wrong::NAMES_NOBODY }>(Op::Write), miss),
            evict,
            "no slot, though slot 0 may leave",
        ),
        (
            told(full::<{ wrong::NAMES_TWICE }>(Op::Write), miss),
            evict,
            "slot 0, which was named before and is on its way to the disk",
        ),
        (
            told(full::<{ wrong::NAMES_TWICE }>(Op::Read), miss),
            evict,
            "slot 0, which holds no block: a clean one is gone once it was named, a trimmed one before",
        ),
        (
            told(full::<{ wrong::NAMES_UNKNOWN }>(Op::Read), miss),
            evict,
            "slot 1000000, which does not exist",
        ),
        (told(full::<{ wrong::WRITES_CLEAN }>(Op::Read), idle), destage, "slot 0, which is clean"),
        (
            told(full::<{ wrong::WRITES_MANY }>(Op::Write), idle),
            destage,
            "3 slots, 2 are wanted: beyond these only the rest of a zone",
        ),
        (
            told(full::<{ wrong::IDLES }>(Op::Write), idle),
            destage,
            "no slot, though slot 0 is dirty",
        ),
        (
            told(full::<{ wrong::WRITES_UNDECLARED }>(Op::Write), idle),
            destage,
            "2 slots, and declares that it names none (Policy::IDLE)",
        ),
    ];
    for (told, method, rule) in cases {
        assert_eq!(told, format!("{method}{rule}"));
    }
    let told = told(full::<{ wrong::NAMES_TRIMMED }>(Op::Write), trimmed);
    assert!(told.contains("holds no block"), "{told}");
}

/// A clean slot is free once it was named: what it held is looked up too late.
#[test]
fn pushing_before_forgetting_is_detected_at_once() {
    let told = told(full::<{ wrong::PUSHES_FIRST }>(Op::Read), miss);
    assert!(told.contains("forget it before Victims::push"), "{told}");
}

#[test]
fn a_correct_policy_may_have_no_victim() {
    let mut cache = full::<{ wrong::NOTHING }>(Op::Write);
    (0..4).for_each(|slot| cache.pin(Slot(slot)));
    let mut access = Access::whole(9, Block(300), Op::Write);
    assert_eq!(cache.access(&mut access, &mut Plan::default()), Outcome::NoRoom);
    // One that waits for I/O under way is slow, not stuck.
    let mut cache = full::<{ wrong::NAMES_NOBODY }>(Op::Write);
    cache.pin(Slot(3));
    assert_eq!(cache.access(&mut access, &mut Plan::default()), Outcome::NoRoom);
}

/// With I/O under way, nothing dirty, or nothing wanted, idle time may pass unused; a zone that was begun
/// may be finished.
#[test]
fn a_correct_policy_may_leave_idle_time_unused() {
    let named = |cache: &mut dyn CacheCore, want| {
        let mut plan = Plan::default();
        cache.idle(want, &mut plan);
        plan.destages().len()
    };
    let mut cache = full::<{ wrong::IDLES }>(Op::Write);
    assert_eq!(named(cache.as_mut(), 0), 0);
    cache.pin(Slot(3));
    assert_eq!(named(cache.as_mut(), 2), 0);
    assert_eq!(named(full::<{ wrong::IDLES }>(Op::Read).as_mut(), 2), 0);
    let entry = Entry::of::<Broken<{ wrong::WRITES_MANY }>>();
    let mut params = Params::new(entry.params);
    params.set("zone", "100b").expect("a zone");
    let mut cache = make_with(&entry, &params, 4, 1);
    for block in 0..4 {
        cache.access(&mut Access::whole(block, Block(block), Op::Write), &mut Plan::default());
    }
    assert_eq!(named(cache.as_mut(), 2), 3, "all of one zone");
}

#[test]
fn a_list_says_which_of_its_operations_was_wrong() {
    let mistakes: [fn(&mut List, &mut Links); 3] = [
        |list, links| list.unlink(links, 7), // on no list
        |list, links| {
            list.unlink(links, 2); // the only member, and once more
            list.unlink(links, 2);
        },
        |_, links| List::default().unlink(links, 2), // on another list
    ];
    for mistake in mistakes {
        let (mut links, mut list) = (Links::new(9), List::default());
        list.push_head(&mut links, 2);
        let panic = catch_unwind(AssertUnwindSafe(|| mistake(&mut list, &mut links)));
        let told = message(panic.expect_err("was not noticed"));
        assert!(told.starts_with("List::unlink of member"), "{told}");
    }
}
