//! The transitions of Amphisbaena §5.2.2 (figure 11), list by list.

use super::{roles, write};
use crate::translations::amphisbaena::record::Role;
use crate::translations::amphisbaena::roles::{Roles, Sizes};
use shingle_core::units::Block;

/// An HFB of four blocks, of which three may be SUP.
const SIZES: Sizes = Sizes { slots: 4, history: 8, grows: false, demote_to_mru: false };

/// Writes: `h5` is a request labelled hot that writes block 5, `c5` one labelled cold, `t5` a trim.
fn play(roles: &mut Roles, writes: &str) {
    for write_of in writes.split_whitespace() {
        let (label, number) = write_of.split_at(1);
        let block = Block(number.parse().unwrap());
        match label {
            "t" => match roles.slot(block) {
                Some(slot) => roles.vacate(slot),
                None => roles.recall(block),
            },
            _ => write(roles, block, label == "h"),
        }
        roles.check();
    }
}

/// The filter list and the resident list, each from its MRU end: `S`UP, `L`UP, `g`host, s`h`adow.
fn lists(roles: &Roles) -> String {
    let (filter, resident) = roles.lists();
    let filter: Vec<String> = filter.iter().rev().map(|block| block.0.to_string()).collect();
    let name = |role| match role {
        Role::Sup => 'S',
        Role::Lup => 'L',
        Role::Ghost => 'g',
        Role::Shadow => 'h',
    };
    let resident: Vec<String> =
        resident.iter().rev().map(|(block, role)| format!("{}{}", block.0, name(*role))).collect();
    format!("{} | {}", filter.join(" "), resident.join(" "))
}

#[test]
fn every_transition_of_the_paper() {
    // What was written before, what is written, the lists afterwards.
    let cases = [
        // The rule at the start: until the resident list is full (three SUP) all become SUP.
        ("", "h1 h2 h3", " | 3S 2S 1S"),
        ("h1 h2 h3", "h4", "4 | 4L 3S 2S 1S"),
        ("h1", "c8 c8", " | 8S 1S"),
        // A new block in a full HFB: the LRU end of the filter list becomes a ghost.
        ("h1 h2 h3 h4", "h5", "5 | 5L 4g 3S 2S 1S"),
        // A cold block that is nowhere becomes a shadow; the buffer for hot blocks stays as it is.
        ("h1 h2 h3 h4", "c8", "4 | 8h 4L 3S 2S 1S"),
        // A cold write to a block in the HFB changes data only.
        ("h1 h2 h3 h4", "c2", "4 | 4L 3S 2S 1S"),
        ("h1 h2 h3 h4", "c4", "4 | 4L 3S 2S 1S"),
        // Shadow hit: LUP, at the MRU ends of both lists.
        ("h1 h2 h3 h4 c8", "c8", "8 | 8L 4g 3S 2S 1S"),
        ("h1 h2 h3 h4 c8", "h8", "8 | 8L 4g 3S 2S 1S"),
        // Ghost hit: SUP at once. The last SUP block becomes LUP, at the LRU end of the filter list.
        ("h1 h2 h3 h4 h5", "h4", "1 | 4S 5g 3S 2S"),
        ("h1 h2 h3 h4 h5", "c4", "1 | 4S 5g 3S 2S"),
        // LUP hit, on both lists: SUP, the last SUP block is demoted.
        ("h1 h2 h3 h4", "h4", "1 | 4S 3S 2S"),
        // ... and all between the old last SUP block and the new one leave the resident list.
        ("h1 c8 h2 h3 h4", "h4", "1 | 4S 3S 2S"),
        ("h1 h2 h3 h4 h2 h1", "h4", "3 | 4S 1S 2S"),
        // LUP hit, on the filter list only (demoted before): SUP as well.
        ("h1 h2 h3 h4 h4", "h1", "2 | 1S 4S 3S"),
        // SUP hit, not the last: to the MRU end, nothing else.
        ("h1 h2 h3 h4", "h2", "4 | 2S 4L 3S 1S"),
        // SUP hit, the last: what is between it and the new last is forgotten. First a shadow, ...
        ("h1 c8 h2 h3 h4", "h1", "4 | 1S 4L 3S 2S"),
        ("h1 c8 h2 h3 h4 h1", "c8", "4 | 8h 1S 4L 3S 2S"),
        // ... then a ghost, ...
        ("h1 h2 h3 h4 h2 h3 h5", "h1", "5 | 1S 5L 3S 2S"),
        // ... and a LUP block, which stays on the filter list.
        ("h1 h2 h3 h4 h3 h1", "h2", "4 | 2S 1S 3S"),
        // A block that leaves the filter list and is not on the resident list is not remembered.
        ("h1 h2 h3 h4 h3 h1 h2", "h5", "5 | 5L 2S 1S 3S"),
        // A block given up leaves its list; if it was the last SUP block, pruning follows.
        ("h1 h2 h3 h4", "t4", " | 3S 2S 1S"),
        ("h1 c8 h2 h3 h4", "t1", "4 | 4L 3S 2S"),
        ("h1 h2 h3 h4 h5", "t4", "5 | 5L 3S 2S 1S"),
        // Once SUP blocks are missing, the next to enter is SUP.
        ("h1 h2 h3 h4 t2", "h5", "4 | 5S 4L 3S 1S"),
    ];
    for (before, writes, after) in cases {
        let mut roles = roles(SIZES, 3);
        play(&mut roles, before);
        play(&mut roles, writes);
        assert_eq!(lists(&roles), after, "{before} + {writes}");
    }
}

#[test]
fn as_in_lirs_demoted_blocks_may_go_to_the_other_end() {
    // LUP blocks 4 and 5 at first, SUP blocks 1 to 3.
    for (demote_to_mru, after) in [(false, "5 1 | 4S 5L 3S 2S"), (true, "1 5 | 4S 5L 3S 2S")] {
        let mut roles = roles(Sizes { slots: 5, demote_to_mru, ..SIZES }, 3);
        play(&mut roles, "h1 h2 h3 h4 h5 h4");
        assert_eq!(lists(&roles), after);
    }
}

#[test]
fn a_history_of_two_forgets_what_was_made_first() {
    let mut small = roles(Sizes { history: 2, ..SIZES }, 3);
    play(&mut small, "h1 h2 h3 h4 c7 c8 h5");
    assert_eq!(lists(&small), "5 | 5L 8h 4g 3S 2S 1S", "7 came before 8 and 4");
    // Without a limit all three are remembered.
    let mut unlimited = roles(Sizes { history: 1, grows: true, ..SIZES }, 3);
    play(&mut unlimited, "h1 h2 h3 h4 c7 c8 h5");
    assert_eq!(lists(&unlimited), "5 | 5L 8h 7h 4g 3S 2S 1S");
    let mut none = roles(Sizes { history: 0, ..SIZES }, 3);
    play(&mut none, "h1 h2 h3 h4 c7 c8 h5");
    assert_eq!(lists(&none), "5 | 5L 3S 2S 1S");
}

#[test]
fn blocks_above_a_smaller_quota_become_lup() {
    let mut roles = roles(SIZES, 3);
    play(&mut roles, "h1 h2 h3 h4");
    roles.set_sup_max(1);
    assert_eq!(lists(&roles), "4 1 2 | 4L 3S", "the last to be demoted leaves first");
    // Nothing is LUP: the last SUP block becomes so when a victim is asked for.
    let mut all_sup = super::roles(SIZES, 4);
    play(&mut all_sup, "h1 h2 h3 h4 h5");
    assert_eq!(lists(&all_sup), " | 5S 4S 3S 2S");
}
