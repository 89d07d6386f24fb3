//! Every policy over every translation over a host-managed disk of a few blocks, and each
//! translation by itself with every value of its choices: in both loops, with idle time and without,
//! told of what waits.

use shingle_drive::in_zones;
use shingle_translation::translations::{self, ALL};
use shingle_translation::{Entry as Translation, Layout, Piece, Place, Saved};

use shingle_result::Translating;
use shingle_sim::translated::{Translated, layout};

use super::*;

/// Zones of 16 blocks, eight of them conventional.
const DISK: [(&str, u64); 4] = [
    ("capacity_bytes", 512 * BLOCK_BYTES),
    ("zone_bytes", 16 * BLOCK_BYTES),
    ("conventional_zones", 8),
    ("open_zones", 3),
];

/// Buffers from a block to all conventional zones; what is too small for a translation is refused.
const BUFFERS: [u64; 4] = [1, 9, 37, 128];

thread_local! {
    /// Made once: reading its sheet takes longer than a case.
    static DRIVE: Box<dyn Drive> = {
        let tiny: Vec<(&str, u64)> = TINY.iter().filter(|set| DISK.iter().all(|d| d.0 != set.0))
            .chain(&DISK).copied().collect();
        let known = entry("hm-tiny").expect("a drive").parameters();
        let overrides = overrides(&known, &tiny);
        make("hm-tiny", &Settings { overrides, ..Settings::default() }).expect("a tiny drive")
    };
}

/// `entry` over the disk, if it works with such a buffer.
fn over_the_disk(
    entry: &Translation,
    params: &Params,
    buffer_blocks: u64,
    idle_after: Option<Nanos>,
) -> Option<Translated> {
    let drive = DRIVE.with(|drive| drive.copy());
    let layout: Layout = layout(drive.description(), Some(buffer_blocks)).expect("it has zones");
    let made = entry.make(params, layout).ok()?;
    Some(Translated::new(made, drive, layout, idle_after))
}

/// The defaults, and each other value of each switch and choice.
fn values(entry: &Translation) -> Vec<Params> {
    let mut plain = Params::new(entry.params);
    // Small enough to matter within a few dozen requests.
    for (name, value) in [("chunk", "2b"), ("period", "20"), ("window", "8")] {
        if plain.has(name) {
            plain.set(name, value).expect("a value of its kind");
        }
    }
    let mut all = vec![plain.clone()];
    for param in entry.params {
        let words: &[&str] = match param.kind {
            Kind::Switch => &["on", "off"],
            Kind::Choice(words) => words,
            _ => continue,
        };
        for word in words.iter().filter(|&&word| word != param.default) {
            let mut params = plain.clone();
            params.set(param.name, word).expect("a declared value");
            all.push(params);
        }
    }
    all
}

/// Runs a policy over a translation to its drain; what happened.
fn play(case: &Case, disk: Translated, draws: &[Draw]) -> Option<(Snapshot, Translating)> {
    let requests = requests(draws, disk.description().disk_blocks);
    let mut run = Run::new(case.system(disk, true)?, case.rules, true);
    // As a run does: all but those under way are announced.
    run.system.announce(&requests);
    for request in &requests {
        run.request(request);
    }
    run.report();
    let happened = run.system.snapshot();
    let did = run.system.translating().expect("a translation");
    run.drain();
    Some((happened, did))
}

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[usize::try_from(rng.below(from.len() as u64)).expect("few")]
}

/// A random case over `entry`, if what is drawn goes together.
fn case(
    rng: &mut Rng,
    variant: &Variant,
    entry: &Translation,
    params: &Params,
) -> Option<(Snapshot, Translating)> {
    let rules: Vec<Rules> = every_rule().collect();
    let case = Case {
        variant: variant.clone(),
        ssd: "pcie-ssd",
        cache_blocks: pick(rng, &[3, 7, 16, 40]),
        batch: pick(rng, &[1, 2, 64]),
        rules: pick(rng, &rules),
    };
    let idle_after = pick(rng, &[None, Some(Nanos::from_micros(10))]);
    let buffer_blocks = pick(rng, &BUFFERS);
    let draws: Vec<Draw> = (0..60).map(|_| drawn(rng)).collect();
    let fits = |blocks| over_the_disk(entry, params, blocks, idle_after);
    let small = fits(buffer_blocks);
    // On an SSD, where it fits.
    let cached = small.is_some() && buffer_blocks <= 37 && rng.below(3) == 0;
    let disk = small.or_else(|| fits(128)).expect("128 blocks suit every translation");
    let disk = if cached { disk.with_buffer_on(tiny_ssd("pcie-ssd")) } else { disk };
    let told = format!(
        "{case:?} over {} {:?}, {buffer_blocks} blocks (SSD: {cached}), idle after {idle_after:?}: {draws:?}",
        entry.name,
        params.iter().collect::<Vec<_>>()
    );
    let played =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| play(&case, disk, &draws)));
    played.unwrap_or_else(|_| panic!("{told}"))
}

#[test]
fn every_policy_over_every_translation() {
    let mut rng = Rng::new(13);
    let variants = variants();
    for entry in ALL {
        let params = values(entry);
        for variant in &variants {
            case(&mut rng, variant, entry, &params[0]);
        }
    }
}

#[test]
fn every_translation_by_itself() {
    let mut rng = Rng::new(17);
    let variants = variants();
    let none = variants.iter().find(|v| v.entry.name == "none").expect("a policy");
    let mut idle = Nanos::ZERO;
    let (mut aborted, mut hot, mut chunks) = (0, 0, 0);
    for entry in ALL {
        let (mut rmw, mut rmw_free, mut padded, mut moved) = (0, 0, 0, 0);
        for params in values(entry) {
            for _ in 0..60 {
                let (happened, did) = case(&mut rng, none, entry, &params).expect("no cache");
                rmw += happened.disk.rmw;
                rmw_free += happened.disk.rmw_free;
                idle += happened.disk.idle_clean_time;
                padded += did.padded_blocks;
                moved += did.moved_blocks;
                aborted += did.aborted;
                hot += did.hot_hits;
                chunks += did.chunks_to_hot + did.chunks_to_cold;
                assert!(did.padded_first_blocks <= did.padded_blocks);
                assert!(did.hot_hits <= did.write_hits && did.write_hits <= did.written_blocks);
            }
        }
        // A workload that leaves a way untaken tests nothing there. A log rewrites nothing, and leaves no gaps.
        if entry.name == "log" {
            assert!((rmw, rmw_free, padded) == (0, 0, 0) && moved > 1000, "{moved} moved");
        } else {
            assert!(rmw > 50 && rmw_free > 50 && padded > 50, "{} {rmw} {rmw_free}", entry.name);
        }
    }
    assert!(idle > Nanos::ZERO, "nothing was done in idle time");
    assert!(aborted > 0 && hot > 0 && chunks > 0, "{aborted} {hot} {chunks}");
}

/// A log over a disk without zones, which is written in zones of six blocks: with its map on it, or
/// filled before with blocks in order.
fn log_on(drive: Box<dyn Drive>, has_map: bool, is_filled: bool) -> Translated {
    const ZONE: u64 = 6;
    let costs = drive.description().costs;
    let drive = in_zones(drive, ZONE, 2, costs);
    let log = translations::get("log").expect("a translation");
    let mut params = Params::new(log.params);
    params.set("open", "1").expect("a count");
    let layout = layout(drive.description(), None).expect("it has zones");
    let mut saved = Saved::empty(layout);
    if is_filled {
        let piece = |zone| Piece { place: Place::Native(zone * ZONE), count: ZONE };
        saved.runs = (0..3).map(|zone| (Block(zone * ZONE), piece(zone))).collect();
        saved.pointers[..3].fill(ZONE);
    }
    let made = log.open(&params, layout, &saved).expect("a log");
    let disk = Translated::new(made, drive, layout, Some(Nanos::from_micros(10))).filled(&saved);
    if has_map { disk.with_map() } else { disk }
}

#[test]
fn a_log_over_every_disk_without_zones() {
    let mut rng = Rng::new(19);
    let variants = variants();
    let rules: Vec<Rules> = every_rule().collect();
    let (mut cleanings, mut in_order) = (0, 0);
    for (name, variation) in kinds() {
        let drive = tiny(name, variation).expect("one of these");
        if drive.description().exposed.is_some() {
            continue;
        }
        for _ in 0..times(40) {
            let case = Case {
                variant: variants[rng.below(variants.len() as u64) as usize].clone(),
                ssd: "pcie-ssd",
                cache_blocks: pick(&mut rng, &[3, 7, 16, 40]),
                batch: pick(&mut rng, &[1, 2, 64]),
                rules: pick(&mut rng, &rules),
            };
            let (has_map, is_filled) = (rng.below(2) == 0, rng.below(2) == 0);
            let disk = log_on(drive.copy(), has_map, is_filled);
            let draws: Vec<Draw> = (0..60).map(|_| drawn(&mut rng)).collect();
            let told =
                format!("{case:?} over {name} {variation:?}, {has_map} {is_filled}: {draws:?}");
            let play = std::panic::AssertUnwindSafe(|| play(&case, disk, &draws));
            let Some((happened, _)) =
                std::panic::catch_unwind(play).unwrap_or_else(|_| panic!("{told}"))
            else {
                continue;
            };
            cleanings += happened.disk.rmw + happened.disk.rmw_free;
            in_order += happened.disk.in_order_bands;
        }
    }
    assert!(cleanings > 100 && in_order > 100, "{cleanings} cleanings, {in_order} bands in order");
}
