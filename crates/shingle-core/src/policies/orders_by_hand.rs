//! Sequences worked out by hand, and what every order promises beside its own rules. Unless a test
//! says where its sequence comes from, it was made up for this project.

use super::arc::Arc;
use super::belady::Belady;
use super::clock::Clock;
use super::fifo::Fifo;
use super::lirs::Lirs;
use super::lru::Lru;
use super::s3_fifo::S3Fifo;
use super::sieve::Sieve;
use super::two_q::TwoQ;
use super::w_tinylfu::WTinyLfu;
use super::{AnyOrder, BASE};
use crate::drive_view::{Costs, DriveView};
use crate::gated::Gated;
use crate::order::Order;
use crate::params::Params;
use crate::parts::{Ghosts, Links, List};
use crate::policy::Access;
use crate::slots::Slots;
use crate::units::{Block, Nanos, Op, Slot, Zone};
use crate::zones::ZoneMap;
use proptest::prelude::*;

fn slots(capacity: u32) -> Slots {
    let costs = Costs { read: Nanos(1), rmw_base: Nanos(1), rmw_per_block: Nanos(1) };
    Slots::new(
        capacity,
        DriveView {
            zones: None,
            write_pointers: Vec::new(),
            buffer_blocks: 0,
            costs,
            in_order: crate::drive_view::InOrder::default(),
        },
    )
}

/// A cache of clean blocks named by letters under an order alone.
struct Run<O> {
    order: O,
    slots: Slots,
}

impl<O: Order> Run<O> {
    fn new(capacity: u32, sets: &[(&str, &str)]) -> Run<O> {
        let (slots, mut params) = (slots(capacity), Params::new(O::PARAMS));
        sets.iter().for_each(|(name, value)| params.set(name, value).unwrap());
        Run { order: O::new(&params, &slots), slots }
    }

    /// A `+` for a hit, a `.` for a miss that finds room, and for any other the letter, in lower
    /// case, of who leaves.
    fn access(&mut self, letter: char, next_use: u64) -> char {
        let mut access = Access::whole(0, Block(u64::from(letter)), Op::Read);
        access.next_use = next_use;
        let (order, slots) = (&mut self.order, &mut self.slots);
        if let Some(slot) = slots.find(access.block) {
            order.touch(slot, &access, slots);
            order.check(slots);
            return '+';
        }
        order.miss(&access, slots);
        let mut told = '.';
        if slots.full() {
            let slot = order.pop(slots).expect("nothing is in use");
            order.left(slot, slots);
            told = letter_of(slots.block(slot)).to_ascii_lowercase();
            slots.free(slot);
        }
        let slot = slots.fill(access.block, false).expect("room was made");
        order.insert(slot, &access, slots);
        order.check(slots);
        told
    }

    fn told(&mut self, letters: &str) -> String {
        letters.chars().map(|letter| self.access(letter, Access::NEVER)).collect()
    }

    /// The letters of a list from head to tail.
    fn letters(&self, list: List, links: &Links, ghosts: Option<&Ghosts>) -> String {
        let block = |member| match ghosts {
            Some(ghosts) if ghosts.numbers(member) => ghosts.block(member),
            _ => self.slots.block(Slot(member)),
        };
        let letters: Vec<char> =
            list.from_tail(links).map(|member| letter_of(block(member))).collect();
        letters.iter().rev().collect()
    }
}

fn letter_of(block: Block) -> char {
    char::from(u8::try_from(block.0).expect("a letter"))
}

/// The page reference string of the textbook (Silberschatz, Galvin and Gagne, Operating System
/// Concepts, chapter on virtual memory): with three frames FIFO faults 15 times, LRU 12, OPT 9.
#[test]
fn the_textbooks_reference_string() {
    const PAGES: &str = "70120304230321201701";
    fn faults<O: Order>() -> usize {
        let mut run = Run::<O>::new(3, &[]);
        let pages: Vec<char> = PAGES.chars().collect();
        let next = |at: usize| pages[at + 1..].iter().position(|&page| page == pages[at]);
        let next = |at: usize| next(at).map_or(Access::NEVER, |ahead| (at + 1 + ahead) as u64);
        (0..pages.len()).filter(|&at| run.access(pages[at], next(at)) != '+').count()
    }
    assert_eq!((faults::<Fifo>(), faults::<Lru>(), faults::<Belady>()), (15, 12, 9));
}

/// Belady, Nelson and Shedler (CACM 12(6), 1969): with FIFO more room can mean more faults.
#[test]
fn fifo_has_beladys_anomaly() {
    let faults = |frames| {
        let told = Run::<Fifo>::new(frames, &[]).told("123412512345");
        told.chars().filter(|&c| c != '+').count()
    };
    assert_eq!((faults(3), faults(4)), (9, 10));
}

#[test]
fn clock_spares_once_what_was_used() {
    // D finds A and B used and spares them; E takes A, whose bit was cleared; F spares B.
    assert_eq!(Run::<Clock>::new(3, &[]).told("ABCABDEBF"), "...++ca+d");
    // All used: the hand goes all the way round.
    assert_eq!(Run::<Clock>::new(3, &[]).told("ABCABCD"), "...+++a");
    assert_eq!(Run::<Clock>::new(1, &[]).told("AAB"), ".+a");
}

/// In the manner of the paper's Figure 1: seven blocks of which three were visited, then hits and
/// misses in turn. The hand goes from the tail to the head.
#[test]
fn sieve_sifts_in_place() {
    let mut run = Run::<Sieve>::new(7, &[]);
    assert_eq!(run.told("ABCDEFGABG"), ".......+++");
    assert_eq!(run.told("H"), "c", "the hand clears A and B and takes C");
    assert_eq!(run.told("AD"), "++");
    assert_eq!(run.told("I"), "e", "it clears D and takes E; A is behind it");
    assert_eq!(run.told("BJ"), "+f");
    assert_eq!(run.letters(run.order.list, &run.order.links, None), "JIHGDBA");
    assert_eq!(run.told("K"), "h", "it clears G and takes the first of the new ones");
    assert_eq!(run.told("LMN"), "ijk");
    assert_eq!(run.told("O"), "l", "A is not cleared while the hand is among the new ones");
    assert_eq!(run.letters(run.order.list, &run.order.links, None), "ONMGDBA");
    // Everyone is visited: once round, and the hand is where it was.
    assert_eq!(run.told("ONMGDBAP"), "+++++++m");
}

#[test]
fn two_q_lets_in_what_comes_back() {
    // Kin is 1, Kout 2.
    let mut run = Run::<TwoQ>::new(4, &[]);
    assert_eq!(run.told("ABCDEF"), "....ab");
    // A is the oldest in A1out: C, which leaves for it, pushes it out, and yet it is hot.
    assert_eq!(run.told("AB"), "cd");
    // A hit in A1in changes nothing: F leaves as if it had not been.
    assert_eq!(run.told("AFGD"), "++ef");
    // A1in is no longer than Kin: the coldest of Am leaves, unremembered.
    assert_eq!(run.told("HB"), "bg");
    let TwoQ { links, a1in, a1out, am, ghosts, .. } = &run.order;
    assert_eq!(run.letters(*a1in, links, None), "BH");
    assert_eq!(run.letters(*am, links, None), "DA");
    assert_eq!(run.letters(*a1out, links, Some(ghosts)), "GF");
}

#[test]
fn arc_adapts() {
    fn state(run: &Run<Arc>) -> (String, u64) {
        let Arc { links, cached, remembered, ghosts, p, .. } = &run.order;
        let lists = [cached[0], cached[1], remembered[0], remembered[1]];
        (lists.map(|list| run.letters(list, links, Some(ghosts))).join("/"), *p)
    }
    const ONE: u64 = 1 << 32;
    let mut run = Run::<Arc>::new(2, &[]);
    assert_eq!(run.told("ABAC"), "..+b");
    assert_eq!(state(&run), ("C/A/B/".into(), 0)); // T1/T2/B1/B2 and p
    assert_eq!(run.told("B"), "a", "a return to B1 lets T1 have a block, so T2 gives");
    assert_eq!(state(&run), ("C/B//A".into(), ONE));
    assert_eq!(run.told("A"), "c", "a return to B2 takes it back");
    assert_eq!(state(&run), ("/AB/C/".into(), 0));
    assert_eq!(run.told("CD"), "ba");
    assert_eq!(state(&run), ("D/C//AB".into(), ONE));
    assert_eq!(run.told("E"), "c", "four blocks are known, so B is forgotten");
    assert_eq!(state(&run), ("ED///CA".into(), ONE));
    assert_eq!(run.told("FG"), "de", "T1 is the whole cache: what leaves it is not remembered");
    assert_eq!(state(&run), ("GF///CA".into(), ONE));
    assert_eq!(run.told("C"), "f");
    assert_eq!(state(&run), ("G/C/F/A".into(), 0));
    assert_eq!(super::arc::step(3, 2), ONE + ONE / 2, "a step is |B2|/|B1|");
    assert_eq!(super::arc::step(1, 2), ONE, "and at least 1");
}

/// The accesses of the paper's Table 1, a cache of three with one block for HIR, worked through the
/// stack; and five more.
#[test]
fn lirs_changes_roles() {
    fn state(run: &Run<Lirs>) -> [String; 3] {
        let Lirs { in_stack, stack, in_roles, lirs, queue, ghosts, .. } = &run.order;
        let list = |list, links| run.letters(list, links, Some(ghosts));
        [list(*stack, in_stack), list(*lirs, in_roles), list(*queue, in_roles)]
    }
    let mut run = Run::<Lirs>::new(3, &[("ghosts", "1")]);
    assert_eq!(run.told("ADBC"), "...b");
    assert_eq!(state(&run), ["CBDA", "DA", "C"]);
    assert_eq!(run.told("B"), "c", "in the stack: B becomes LIR, and A, at the bottom, HIR");
    assert_eq!(state(&run), ["BCD", "BD", "A"]);
    assert_eq!(run.told("A"), "+", "not in the stack: still HIR");
    assert_eq!(state(&run), ["ABCD", "BD", "A"]);
    assert_eq!(run.told("D"), "+", "D was at the bottom: C is pruned");
    assert_eq!(state(&run), ["DAB", "DB", "A"]);
    assert_eq!(run.told("AE"), "+b");
    assert_eq!(state(&run), ["EAD", "AD", "E"]);
    assert_eq!(run.told("EFGF"), "+dfg");
    assert_eq!(state(&run), ["FGE", "FE", "A"]);
    assert_eq!(run.told("E"), "+");
    assert_eq!(state(&run), ["EF", "EF", "A"]);
    // Room for one ghost, and it has to go for the sake of another just when it comes back.
    let mut run = Run::<Lirs>::new(3, &[("ghosts", "0.4")]);
    assert_eq!(run.told("ADBCB"), "...bc");
    assert_eq!(state(&run), ["BCD", "BD", "A"]);
}

#[test]
fn s3_fifo_sifts_in_the_small_queue() {
    // Small has 2 blocks, main 3, and 3 are remembered.
    let mut run = Run::<S3Fifo>::new(5, &[("small", "0.4")]);
    assert_eq!(run.told("ABCDEF"), ".....a");
    assert_eq!(run.told("BBG"), "++c", "B, used twice, goes on to the main queue");
    assert_eq!(run.told("A"), "d", "A is remembered and enters the main queue");
    assert_eq!(run.told("EH"), "+e", "one use is not enough");
    assert_eq!(run.told("BD"), "+f");
    assert_eq!(run.told("GGHHI"), "++++a", "G makes main too long, which spares B and gives A");
    let S3Fifo { links, small, main, remembered, ghosts, .. } = &run.order;
    assert_eq!(run.letters(*small, links, None), "IH");
    assert_eq!(run.letters(*main, links, None), "BGD");
    assert_eq!(run.letters(*remembered, links, Some(ghosts)), "FE");
}

#[test]
fn w_tinylfu_holds_a_contest_at_the_door() {
    fn state(run: &Run<WTinyLfu>) -> [String; 3] {
        run.order.lists.map(|list| run.letters(list, &run.order.links, None))
    }
    // The window has 1 block, protected 3, probation what is left.
    let mut run = Run::<WTinyLfu>::new(5, &[]);
    assert_eq!(run.told("ABCDEAB"), ".....++");
    assert_eq!(state(&run), ["E", "DC", "BA"]);
    assert_eq!(run.told("FE"), "ef", "a tie goes to who is there, C");
    assert_eq!(run.told("F"), "c", "E came twice, C once");
    assert_eq!(state(&run), ["F", "ED", "BA"]);
    assert_eq!(run.told("ED"), "++", "protected is full: A goes back on probation");
    assert_eq!(state(&run), ["F", "A", "DEB"]);
    assert_eq!(run.told("G"), "f", "twice each: a tie again");
    assert_eq!(state(&run), ["G", "A", "DEB"]);
}

/// Orders in which giving back undoes naming altogether. S3-FIFO may have moved blocks on to its
/// main queue meanwhile.
const RESTORE_EXACTLY: &[&str] =
    &["lru", "fifo", "clock", "sieve", "2q", "arc", "lirs", "w-tinylfu", "belady"];

proptest! {
    #[test]
    fn what_is_given_back_is_named_again(
        capacity in 1u32..12,
        letters in prop::collection::vec((0u8..20, 0u64..50), 0..120),
        count in 1usize..12,
    ) {
        for name in RESTORE_EXACTLY {
            let mut params = Params::new(&[BASE]);
            params.set("base", name).unwrap();
            let slots = slots(capacity);
            let mut run = Run { order: AnyOrder::new(&params, &slots), slots };
            for &(letter, next_use) in &letters {
                run.access(char::from(b'A' + letter), next_use);
            }
            let Run { order, slots } = &mut run;
            let mut name_some = || -> Vec<Slot> {
                let named: Vec<Slot> = (0..count).map_while(|_| order.pop(slots)).collect();
                named.iter().rev().for_each(|&slot| order.restore(slot, slots));
                order.check(slots);
                named
            };
            let first = name_some();
            prop_assert_eq!(&first, &name_some(), "{}", name);
        }
    }

    /// Slots in use are passed over, and are still known when they are free: each is named once.
    #[test]
    fn what_is_in_use_is_not_named(
        capacity in 1u32..12,
        letters in prop::collection::vec(0u8..20, 0..80),
        in_use in prop::collection::vec(any::<bool>(), 12),
    ) {
        for name in super::ORDER_NAMES {
            let mut params = Params::new(&[BASE]);
            params.set("base", name).unwrap();
            let slots = slots(capacity);
            let mut run = Run { order: AnyOrder::new(&params, &slots), slots };
            for &letter in &letters {
                run.access(char::from(b'A' + letter), u64::from(letter));
            }
            let Run { order, slots } = &mut run;
            let live: Vec<Slot> = slots.iter_live().collect();
            let pinned: Vec<Slot> =
                live.iter().copied().filter(|slot| in_use[slot.index()]).collect();
            pinned.iter().for_each(|&slot| slots.pin(slot));
            let mut named: Vec<Slot> = core::iter::from_fn(|| order.pop(slots)).collect();
            prop_assert!(named.iter().all(|slot| !pinned.contains(slot)), "{}", name);
            pinned.iter().for_each(|&slot| slots.unpin(slot));
            named.extend(core::iter::from_fn(|| order.pop(slots)));
            named.sort_unstable();
            prop_assert_eq!(named, live, "{}", name);
        }
    }

    /// Behind a gate that opens and closes by zones, only what passes is named, and no slot is lost.
    #[test]
    fn every_order_works_behind_a_gate(
        capacity in 1u32..12,
        ops in prop::collection::vec((0u8..8, 0u64..20, 0u64..50), 0..150),
    ) {
        for name in super::ORDER_NAMES {
            let mut params = Params::new(&[BASE]);
            params.set("base", name).unwrap();
            let costs = Costs { read: Nanos(1), rmw_base: Nanos(1), rmw_per_block: Nanos(1) };
            let zones = Some(ZoneMap::fixed(5, 20));
            let mut slots = Slots::new(capacity, DriveView { zones, write_pointers: Vec::new(), buffer_blocks: 0, costs, in_order: crate::drive_view::InOrder::default() });
            let mut gated = Gated::<AnyOrder>::new(&params, &slots);
            let mut open = [true, false, true, false];
            for &(op, block, next_use) in &ops {
                let mut access = Access::whole(0, Block(block), Op::Read);
                access.next_use = next_use;
                match (op, slots.find(access.block)) {
                    (0..5, Some(slot)) => gated.touch(slot, &access, &slots),
                    (0..5, None) => {
                        gated.miss(&access, &slots);
                        if slots.full() {
                            let passes = |slot| open[slots.zone(slot).index()];
                            match gated.pop(&slots, passes) {
                                Some(slot) => {
                                    prop_assert!(passes(slot), "{}", name);
                                    slots.free(slot);
                                }
                                None => {
                                    let none = slots.iter_live().all(|slot| !passes(slot));
                                    prop_assert!(none, "{}: a slot passes", name);
                                    continue;
                                }
                            }
                        }
                        let slot = slots.fill(access.block, false).unwrap();
                        gated.insert(slot, &access, &slots);
                    }
                    (5, Some(slot)) => {
                        gated.remove(slot, &slots);
                        slots.free(slot);
                    }
                    (6, _) => {
                        open = core::array::from_fn(|zone| next_use >> zone & 1 == 1);
                        let opened = (0..4u32).filter(|&zone| open[zone as usize]).map(Zone);
                        let opened = opened.filter_map(|zone| slots.find_zone(zone));
                        gated.open(opened, &slots);
                    }
                    _ => {}
                }
            }
            gated.open((0..4).filter_map(|zone| slots.find_zone(Zone(zone))), &slots);
            let mut named: Vec<Slot> =
                core::iter::from_fn(|| gated.pop(&slots, |_| true)).collect();
            named.sort_unstable();
            prop_assert_eq!(named, slots.iter_live().collect::<Vec<_>>(), "{}", name);
        }
    }
}
