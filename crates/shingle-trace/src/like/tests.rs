//! Hand-made traces, and properties of the requests generated from their descriptions.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use proptest::prelude::*;
use shingle_core::units::{BLOCK_BYTES, Nanos, Op, Request};

use super::{Description, Fit, Like, Survey};
use crate::source::{DISK_BYTES_MAX, REQUEST_BYTES_MAX, read_all};
use crate::synth::open;
use crate::synth::rng::{Rng, Seed};
use crate::synth::workload::{Access, Pattern};
use crate::zones::{ZONE_BLOCKS, ZONE_BYTES};

const EXAMPLE: &str = include_str!("../../data/workloads/example.toml");

fn request(op: Op, block: u64, blocks: u64) -> Request {
    Request { at: Nanos(0), offset: block * BLOCK_BYTES, bytes: blocks * BLOCK_BYTES, op }
}

/// Describes requests that arrive a millisecond apart.
fn described(requests: &[Request]) -> Description {
    let timed =
        |(at, request): (usize, &Request)| Request { at: Nanos(at as u64 * 1_000_000), ..*request };
    let requests: Vec<Request> = requests.iter().enumerate().map(timed).collect();
    fitted(&requests).expect("there are requests")
}

fn fitted(requests: &[Request]) -> Option<Description> {
    let mut survey = Survey::default();
    requests.iter().for_each(|request| survey.add(request));
    let mut fit = Fit::new(survey);
    requests.iter().for_each(|request| fit.add(request));
    fit.finish()
}

fn seeded(seed: u64) -> Seed {
    Seed { seed, workload: "like" }
}

fn rng(purpose: &str) -> Rng {
    seeded(11).stream(purpose)
}

fn made(description: &Description, requests: u64, seed: u64) -> Vec<Access> {
    let mut like = Like::new(Arc::new(description.clone()), requests, seeded(seed));
    (0..requests).map(|_| like.next()).collect()
}

/// Returns how many of them begin where the one before ended.
fn sequential(made: &[Access]) -> usize {
    made.windows(2).filter(|pair| pair[0].offset + pair[0].bytes == pair[1].offset).count()
}

#[test]
fn one_stream_stays_one_stream() {
    // 20 requests of 8 blocks are in one slice, 400 in several.
    for count in [20, 400] {
        let trace: Vec<Request> =
            (0..count).map(|i| request(Op::Write, 40_000 + 8 * i, 8)).collect();
        let description = described(&trace);
        let made = made(&description, count, 1);
        assert_eq!(sequential(&made) as u64, count - 1);
        assert!(made.iter().all(|access| access.bytes == 8 * BLOCK_BYTES));
        assert!(made.iter().all(|access| access.op == Op::Write));
    }
}

#[test]
fn random_requests_stay_random() {
    let mut rng = rng("random");
    let range = 100 * ZONE_BYTES / BLOCK_BYTES;
    let trace: Vec<Request> = (0..4_000).map(|_| request(Op::Read, rng.below(range), 1)).collect();
    let made = made(&described(&trace), 4_000, 1);
    assert!(sequential(&made) < 40, "{}", sequential(&made));
    // Of 4,000 draws of 500,000 blocks some 3,984 are distinct.
    let different: HashSet<u64> = made.iter().map(|access| access.offset / BLOCK_BYTES).collect();
    assert!((3_900..=4_000).contains(&different.len()), "{}", different.len());
    let zones: HashSet<u64> = made.iter().map(|access| access.offset / ZONE_BYTES).collect();
    assert!((90..=105).contains(&zones.len()), "{}", zones.len());
}

#[test]
fn hot_zones_stay_hot_and_cold_ones_cold() {
    // Of ten requests nine rewrite one of 200 blocks in four zones, and one goes anywhere in sixty
    // others.
    let mut rng = rng("hot");
    let trace: Vec<Request> = (0..20_000)
        .map(|i| {
            let zone = if i % 10 > 0 { 8 * rng.below(4) } else { 40 + rng.below(60) };
            let within = if i % 10 > 0 { 5 * rng.below(200) } else { rng.below(4_900) };
            request(Op::Write, zone * ZONE_BLOCKS + within, 1)
        })
        .collect();
    let made = made(&described(&trace), 20_000, 1);
    let mut uses = BTreeMap::new();
    made.iter().for_each(|access| *uses.entry(access.offset / ZONE_BYTES).or_insert(0_u32) += 1);
    let mut uses: Vec<u32> = uses.into_values().collect();
    uses.sort_unstable();
    assert!((62..=66).contains(&uses.len()), "{uses:?}");
    let hot: u32 = uses[uses.len() - 4..].iter().sum();
    assert!((17_800..=18_200).contains(&hot), "{uses:?}");
}

#[test]
fn two_zones_keep_their_shares() {
    // One zone gets nine of ten requests, in random order.
    let mut rng = rng("two");
    let trace: Vec<Request> = (0..10_000)
        .map(|_| {
            let zone = 3 * u64::from(rng.below(10) == 0);
            request(Op::Write, zone * ZONE_BLOCKS + rng.below(ZONE_BLOCKS), 1)
        })
        .collect();
    let made = made(&described(&trace), 10_000, 2);
    let first = made.iter().filter(|access| access.offset < ZONE_BYTES).count();
    assert!((8_800..=9_200).contains(&first), "{first}");
}

#[test]
fn what_is_used_again_is_used_as_long_after() {
    // Four zones are written, each in one go, and then again in the same order. The number of
    // blocks between two uses of a block is that of the trace, up to the resolution of a slice.
    let zones = 4;
    let blocks = zones * ZONE_BLOCKS;
    let trace: Vec<Request> =
        (0..2 * blocks / 8).map(|i| request(Op::Write, 8 * i % blocks, 8)).collect();
    let made = made(&described(&trace), trace.len() as u64, 1);
    let mut before: BTreeMap<u64, usize> = BTreeMap::new();
    let mut periods = Vec::new();
    let mut written = 0;
    for access in &made {
        for block in access.offset / BLOCK_BYTES..=(access.offset + access.bytes - 1) / BLOCK_BYTES
        {
            periods.extend(before.insert(block, written).map(|before| written - before));
            written += 1;
        }
    }
    assert!(periods.len() as u64 > blocks * 95 / 100, "{}", periods.len());
    let near = periods.iter().filter(|&&period| period.abs_diff(blocks as usize) < 2_048).count();
    assert!(near * 100 > periods.len() * 95, "{near} of {}", periods.len());
}

#[test]
fn busy_times_stay_busy() {
    // 4,000 requests a millisecond apart, and as many a second apart.
    let mut rng = rng("busy");
    let trace: Vec<Request> = (0..8_000_u64)
        .map(|i| {
            let at = if i < 4_000 { i * 1_000_000 } else { (i - 3_996) * 1_000_000_000 };
            Request { at: Nanos(at), ..request(Op::Read, rng.below(50_000), 1) }
        })
        .collect();
    let description = fitted(&trace).expect("there are requests");
    let mut like = Like::new(Arc::new(description), 8_000, seeded(1));
    let mut waits =
        |requests: u64| -> u64 { (0..requests).map(|_| (like.next(), like.wait_ns()).1).sum() };
    // A slice in the middle has some of both.
    let (busy, _, slow) = (waits(3_500), waits(600), waits(3_800));
    assert!((3_200_000_000..3_800_000_000).contains(&busy), "{busy}");
    assert!((3_500_000_000_000..4_100_000_000_000).contains(&slow), "{slow}");
}

#[test]
fn operations_and_lengths_keep_their_shares() {
    // Random offsets; three of four are writes, and reads of 4 KiB and 12 KiB are equally likely.
    let mut rng = rng("mix");
    let trace: Vec<Request> = (0..8_000)
        .map(|i| {
            let block = 8 * rng.below(60_000);
            if i % 4 > 0 {
                return request(Op::Write, block, 2);
            }
            request(Op::Read, block, 1 + 2 * rng.below(2))
        })
        .collect();
    let made = made(&described(&trace), 8_000, 1);
    let (writes, reads): (Vec<Access>, Vec<Access>) =
        made.iter().partition(|access| access.op == Op::Write);
    assert!((5_800..=6_200).contains(&writes.len()), "{}", writes.len());
    // A run is shorter if the blocks that it should reuse are scattered.
    let whole = writes.iter().filter(|access| access.bytes == 8_192).count();
    assert!(whole * 100 >= writes.len() * 95, "{whole} of {}", writes.len());
    let whole = reads.iter().filter(|access| [4_096, 12_288].contains(&access.bytes)).count();
    assert!(whole * 100 >= reads.len() * 95, "{whole} of {}", reads.len());
    let short = reads.iter().filter(|access| access.bytes == 4_096).count() as f64;
    let share = short / reads.len() as f64;
    assert!((0.45..0.55).contains(&share), "{share}");
}

#[test]
fn what_cannot_be_described_is_left_out() {
    assert_eq!(fitted(&[]), None);
    let flush = Request { at: Nanos(0), offset: 0, bytes: 0, op: Op::Flush };
    assert_eq!(fitted(&[flush, request(Op::Trim, 0, 8)]), None);
    let with = [flush, request(Op::Read, 7, 1), request(Op::Trim, 0, 8)];
    assert_eq!(fitted(&with), fitted(&with[1..2]));
}

#[test]
fn no_address_is_in_a_description() {
    // The same requests, moved by whole zones: the two descriptions are equal.
    let mut rng = rng("elsewhere");
    let blocks: Vec<u64> = (0..500).map(|_| rng.below(20_000)).collect();
    let zones = |first: u64| {
        let first = first * ZONE_BYTES / BLOCK_BYTES;
        let trace: Vec<Request> =
            blocks.iter().map(|block| request(Op::Write, first + block, 3)).collect();
        described(&trace)
    };
    assert_eq!(zones(3), zones(7_771));
}

#[test]
fn a_description_survives_its_text() {
    let requests = mixed("requests=5k");
    let description = fitted(&requests).expect("there are requests");
    assert_eq!(description.requests(), 5_000);
    let again = Description::from_text("hand.toml", &description.to_text()).expect("valid");
    assert!(again == description);
}

fn mixed(parameters: &str) -> Vec<Request> {
    let (_, mut source) = open(&format!("mixed?{parameters}"), 1).expect("a workload");
    read_all(&mut *source, &mut |_| {}).expect("valid requests")
}

/// `SHINGLE_EXAMPLE=write` writes it again; then its hash in `synth/mod.rs` changes.
#[test]
fn the_example_is_of_the_workload_that_it_names() {
    let description = fitted(&mixed("requests=10k")).expect("there are requests");
    let head = "# shingle trace synth --like 'synth:mixed?requests=10k' --seed 1\n";
    let text = format!("{head}{}", description.to_text());
    if std::env::var("SHINGLE_EXAMPLE").is_ok_and(|value| value == "write") {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/data/workloads/example.toml");
        return std::fs::write(file, text).expect("the example can be written");
    }
    assert!(text == EXAMPLE, "SHINGLE_EXAMPLE=write writes the example anew");
}

#[test]
fn past_the_end_the_same_zones_are_used_again() {
    let description = Description::parse(EXAMPLE).expect("valid");
    let once = description.requests();
    let made = made(&description, 2 * once, 1);
    let zones = |made: &[Access]| -> HashSet<u64> {
        made.iter().map(|access| access.offset / ZONE_BYTES).collect()
    };
    let (first, second) = made.split_at(usize::try_from(once).expect("it is small"));
    let (first, second) = (zones(first), zones(second));
    let new = second.difference(&first).count();
    assert!(new * 20 <= first.len(), "{new} new zones after {}", first.len());
    let writes = |part: &[Access]| part.iter().filter(|access| access.op == Op::Write).count();
    let (before, after) = made.split_at(made.len() / 2);
    assert!(writes(before).abs_diff(writes(after)) * 20 < before.len());
}

#[test]
fn what_is_wrong_with_a_description_is_told_in_one_line() {
    let tables = "[tables]\nrises = [[0,1,3]]\n";
    let slice = "[[slice]]\nrequests = 9\nnanos = 5\ncells = [[0,1,2,0,31,0,0,0,0,31,0,40]]\n";
    let valid = format!("schema = \"shingle.workload/2\"\nzones = [0]\n{tables}{slice}");
    Description::from_text("x.toml", &valid).expect("valid");
    for (from, to, told) in [
        ("workload/2", "workload/3", "its schema is not shingle.workload/2"),
        ("zones = [0]", "zones = []", "it has 0 zones, not 1 to"),
        ("zones = [0]", "zones = [x]", "line 2:"),
        ("zones = [0]", "zones = [1]", "a zone is too near"),
        ("zones = [0]", "zones = [0,0]", "a zone is too near"),
        ("zones = [0]", "zones = [0,128]", "or too far away"),
        ("zones = [0]", "zones = [0]\ncolour = 3", "unknown field `colour`"),
        ("rises = ", "falls = ", "it has a table of no known name"),
        ("[[0,1,3]]", "[[0,2,3]]", "rises has a value over 2"),
        ("[[0,1,3]]", "[[2,1,3]]", "rises has a situation over 2"),
        ("[[0,1,3]]", "[[]]", "rises has an empty row"),
        ("[[0,1,3]]", "[[0,1]]", "rises has a value without a count"),
        ("[[0,1,3]]", "[[0,1,0]]", "rises has a count out of range"),
        ("requests = 9", "requests = 0", "a slice has no requests"),
        ("nanos = 5", "nanos = 5000000000000000000", "too many of something"),
        ("cells = [[0,1,2,0,31,0,0,0,0,31,0,40]]", "cells = []", "no cells"),
        ("[[0,1,2,", "[[1,1,2,", "a cell is of no zone that there is"),
        ("[[0,1,2,", "[[0,2,2,", "a cell has a number out of range"),
        ("[[0,1,2,", "[[0,1,0,", "a cell has a number out of range"),
        ("2,0,31,0,", "2,0,32,0,", "a cell has a number out of range"),
        ("2,0,31,0,", "2,9,8,0,", "a cell has a number out of range"),
        ("0,31,0,40]]", "0,32,0,40]]", "a cell has a number out of range"),
        ("0,31,0,40]]", "0,31]]", "a cell has a number out of range"),
        ("0,31,0,40]]", "0]]", "a cell has fewer than ten numbers"),
        ("31,0,40]]", "31,4,40]]", "a cell has blocks of no slice before"),
        ("31,0,40]]", "31,2,40,0,1]]", "a cell has blocks of no slice before"),
        ("31,0,40]]", "31,0,0]]", "a cell has blocks of no slice before"),
    ] {
        let text = valid.replace(from, to);
        assert_ne!(text, valid, "{from}");
        let error = Description::from_text("x.toml", &text).expect_err(to).to_string();
        let one =
            error.lines().count() == 1 && error.starts_with("x.toml: is no workload description");
        assert!(one && error.contains(told), "{to}: {error}");
    }
}

/// A row of a table, with other numbers.
fn mutated(text: &str, at: &[(prop::sample::Index, u64)]) -> String {
    let mut numbers: Vec<(usize, usize)> = Vec::new();
    let mut begin = None;
    for (index, byte) in text.bytes().enumerate() {
        match (byte.is_ascii_digit(), begin) {
            (true, None) => begin = Some(index),
            (false, Some(first)) => {
                numbers.push((first, index));
                begin = None;
            }
            _ => {}
        }
    }
    // The number in the schema stays, or only the schema would be checked.
    let numbers = &numbers[1..];
    let mut changes: Vec<((usize, usize), u64)> =
        at.iter().map(|(index, value)| (*index.get(numbers), *value)).collect();
    changes.sort_unstable();
    changes.dedup_by_key(|change| change.0);
    let mut mutated = text.to_owned();
    for ((first, end), value) in changes.into_iter().rev() {
        mutated.replace_range(first..end, &value.to_string());
    }
    mutated
}

fn numbers() -> impl Strategy<Value = u64> {
    prop_oneof![0..8_u64, 0..300_u64, 0..5_000_u64, 1..(1_u64 << 45), Just(u64::MAX >> 1)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn requests_of_any_description_are_sound(
        at in prop::collection::vec((any::<prop::sample::Index>(), numbers()), 1..12),
        small in any::<bool>(),
    ) {
        let text = if small {
            let trace: Vec<Request> = (0..40)
                .map(|i| request([Op::Read, Op::Write][i % 2], (i as u64 * 7_919) % 12_000, 3))
                .collect();
            described(&trace).to_text()
        } else {
            EXAMPLE.split_once('\n').expect("a first line").1.to_owned()
        };
        match Description::from_text("x.toml", &mutated(&text, &at)) {
            Err(error) => prop_assert_eq!(error.to_string().lines().count(), 1),
            Ok(description) => {
                for Access { offset, bytes, .. } in made(&description, 400, 1) {
                    prop_assert!((1..=REQUEST_BYTES_MAX).contains(&bytes));
                    prop_assert!(offset + bytes <= DISK_BYTES_MAX);
                }
            }
        }
    }
}
