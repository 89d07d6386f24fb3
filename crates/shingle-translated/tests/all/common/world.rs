//! A host over a translated disk with power cuts, kills and failing zones: one seed is one run. It
//! knows the allowed contents of each block, and panics at anything else.

use std::sync::atomic::Ordering;

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
use shingle_core::units::{Block, Zone};
use shingle_engine::Buffer;
use shingle_translated::{Bug, LiveDisk, LiveError, LiveErrorKind, OpenError, format};
use shingle_zoned::{Fault, Faults, Geometry, Operation, ZonedDisk as _};

use super::{Held, Spoils, data, mark, versions, wanted};

/// The allowed contents of a block.
#[derive(Clone, Debug)]
struct Known {
    /// Its version, if known: one of these, if a write of it has failed.
    now: Vec<u64>,
    /// The versions that are possible after a crash.
    after_crash: Vec<u64>,
    /// It was trimmed: it may be anything, even another block's data.
    any: bool,
    /// It was lost, and reads fail until it is written, or can be read again.
    lost: bool,
    /// This is also true after a crash. (Before, an older copy may turn out to exist.)
    lost_for_good: bool,
    /// It was written, and a flush failed: the disk may have an older version, and must not return
    /// it.
    doubtful: bool,
}

/// The kinds of runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Theme {
    /// Power cuts and kills at any call, also in recovery; in some runs a page of one copy of the
    /// map goes bad before.
    Crashes,
    /// The same, with errors, flushes that lose data, and zones that fail; in some runs blocks
    /// become unreadable as soon as they are written.
    Faults,
}

/// Counts of all runs, so that a test can check that it tests something.
#[derive(Clone, Copy, Default, Debug)]
pub struct Seen {
    pub lives: u64,
    pub crashes: u64,
    pub in_recovery: u64,
    pub lost: u64,
    pub failed: u64,
    pub put_right: u64,
    pub doubtful: u64,
    pub checkpoints: u64,
    pub beside_works: u64,
    pub cleanings: u64,
    pub healed: u64,
    /// Blocks that were lost and could be read again.
    pub read_again: u64,
}

pub struct World<'a> {
    seed: u64,
    theme: Theme,
    bug: Option<Bug>,
    disk: Held,
    translation: &'a str,
    draw: SplitMix64,
    faults: Vec<Fault>,
    /// Generates unreadable blocks, if any.
    spoils: Option<SplitMix64>,
    blocks: Vec<Known>,
    /// Buffers for reads and writes: allocating them each time took half of a run.
    buffers: Vec<Buffer>,
    version: u64,
    /// The size of one copy of the map.
    copy_blocks: u64,
    /// Whether an error has occurred since the disk was opened.
    troubled: bool,
    seen: &'a mut Seen,
}

fn below(draw: &mut SplitMix64, bound: u64) -> u64 {
    draw.next_u64() % bound
}

/// A small disk, so that everything happens soon.
fn geometry(draw: &mut SplitMix64) -> Geometry {
    let mut geometry = super::geometry();
    if below(draw, 4) == 0 {
        (geometry.zone_blocks, geometry.zone_capacity_blocks) = (18, 16);
    }
    if below(draw, 3) == 0 {
        geometry.physical_block_bytes = 512;
    }
    geometry
}

/// When each of up to three hosts ends, and other faults.
fn faults(draw: &mut SplitMix64, theme: Theme, geometry: &Geometry) -> Faults {
    let mut faults = Vec::new();
    let mut call = 30;
    for _ in 0..1 + below(draw, 3) {
        // The next crash may come during the recovery from this one.
        let most = if below(draw, 2) == 0 { 40 } else { 400 };
        call += 1 + below(draw, most);
        faults.push(match below(draw, 3) {
            // (A greater value would have no effect, as the disk is then open.)
            0 => Fault::Kill { call, lands_after: below(draw, 13) },
            _ => Fault::PowerCut { call },
        });
    }
    if theme == Theme::Faults {
        for _ in 0..1 + below(draw, 3) {
            let at = 30 + below(draw, call);
            let zone = Zone(below(draw, geometry.zones.into()) as u32);
            faults.push(match below(draw, 9) {
                0..3 => Fault::Error { call: at, for_ever: false },
                3 => Fault::Error { call: at, for_ever: true },
                4 | 5 => Fault::FlushForgets { call: at },
                6 | 7 => Fault::ReadOnly { call: at, zone },
                _ => Fault::Offline { call: at, zone },
            });
        }
    }
    Faults { seed: draw.next_u64(), faults, lost_resets: below(draw, 4) > 0 }
}

impl<'a> World<'a> {
    pub fn new(
        seed: u64,
        theme: Theme,
        translation: &'a str,
        bug: Option<Bug>,
        seen: &'a mut Seen,
    ) -> World<'a> {
        let mut draw = SplitMix64::seed_from_u64(seed ^ 0x5eed);
        let mut geometry = geometry(&mut draw);
        if seed % 5 == 2 {
            (geometry.max_open, geometry.max_active) = (2, 3);
        }
        let faults = faults(&mut draw, theme, &geometry);
        let list = faults.faults.clone();
        let disk = Held::new(geometry, faults);
        let spoils = theme == Theme::Faults && seed % 3 == 1;
        World {
            seed,
            theme,
            bug,
            disk,
            translation,
            draw,
            faults: list,
            spoils: spoils.then(|| SplitMix64::seed_from_u64(seed)),
            blocks: Vec::new(),
            buffers: vec![Buffer::default(); 40],
            version: 0,
            copy_blocks: 0,
            troubled: false,
            seen,
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        below(&mut self.draw, bound)
    }

    fn has(&self, is: impl Fn(&Fault) -> bool) -> bool {
        self.faults.iter().any(is)
    }

    /// Whether data is or may be lost for good.
    fn may_lose(&self) -> bool {
        self.spoils.is_some()
            || self.has(|fault| {
                matches!(fault, Fault::Offline { .. } | Fault::Error { for_ever: true, .. })
            })
    }

    /// Whether the disk may end up in a state in which it cannot be opened or written.
    fn may_end(&self) -> bool {
        let conventional = self.disk.geometry().conventional_zones;
        let spares =
            self.has(|fault| matches!(fault, Fault::ReadOnly { .. } | Fault::Offline { .. }));
        spares
            || self.has(|fault| match fault {
                Fault::ReadOnly { zone, .. } | Fault::Offline { zone, .. } => zone.0 < conventional,
                Fault::Error { for_ever, .. } => *for_ever,
                _ => false,
            })
    }

    /// Runs until the end.
    pub fn live(mut self) {
        self.seen.lives += 1;
        let mut wanted = wanted(self.translation);
        wanted.spare_zones = Some(1 + self.below(3) as u32);
        if self.disk.geometry().max_active > 0 {
            wanted.spare_zones = wanted.spare_zones.map(|spares| spares + 3);
        }
        let made = format(&self.disk, &wanted).unwrap_or_else(|error| panic!("{error}"));
        self.copy_blocks = made.map_blocks / 2;
        self.disk.2.spared.store(self.copy_blocks, Ordering::Relaxed);
        let known = Known {
            now: vec![0],
            after_crash: vec![0],
            any: false,
            lost: false,
            lost_for_good: false,
            doubtful: false,
        };
        self.blocks = vec![known; made.blocks as usize];
        let mut ended = 0;
        while let Some(disk) = self.open(&mut ended) {
            let failed = disk.status().failed.is_some();
            self.troubled = failed;
            self.look(&disk, true, failed);
            if failed {
                self.seen.failed += 1;
                ended += 1;
                if ended > 6 {
                    assert!(
                        self.may_end(),
                        "{}: it takes no writes: {:?}",
                        self.seed,
                        disk.status().failed
                    );
                    return;
                }
                continue;
            }
            if self.serve(&disk) {
                self.finish(disk);
                return;
            }
            self.count(&disk);
            if !self.disk.0.is_off() {
                ended += 1;
                if ended > 12 {
                    assert!(self.may_end(), "{}: {:?}", self.seed, disk.status().failed);
                    return;
                }
            }
        }
    }

    fn count(&mut self, disk: &LiveDisk) {
        let status = disk.status();
        self.seen.checkpoints += status.map.checkpoints;
        self.seen.beside_works += status.map.checkpoints_beside_works;
        self.seen.cleanings += status.cleanings;
        self.seen.put_right += u64::from(status.failures > 0 && status.failed.is_none());
        let zones = status.zones;
        let all = zones.empty
            + zones.open
            + zones.full
            + zones.spare
            + zones.leaving
            + zones.kept
            + zones.bad;
        let sequential = self.disk.geometry().zones - self.disk.geometry().conventional_zones;
        assert!(all <= sequential, "{zones:?}");
        if status.failed.is_none() {
            assert_eq!(all, sequential, "{}: a zone is in no use: {zones:?}", self.seed);
        }
    }

    /// Opens the disk, through crashes. `None` if that is no longer possible, where this is
    /// allowed.
    fn open(&mut self, ended: &mut u64) -> Option<LiveDisk> {
        loop {
            if self.disk.0.is_off() {
                self.seen.crashes += 1;
                self.disk.0.restart();
                self.damage_a_page();
            }
            match LiveDisk::open_with(self.disk.boxed(), self.bug) {
                Ok(disk) if self.disk.0.is_off() => {
                    self.seen.in_recovery += 1;
                    drop(disk);
                }
                Ok(disk) => return Some(disk),
                Err(_) if self.disk.0.is_off() => self.seen.in_recovery += 1,
                Err(error) => {
                    *ended += 1;
                    let unread = matches!(error, OpenError::Disk(_));
                    if *ended > 6 || !unread && *ended > 3 {
                        assert!(self.may_end(), "{}: {error}", self.seed);
                        return None;
                    }
                    assert!(self.theme == Theme::Faults, "{}: {error}", self.seed);
                }
            }
        }
    }

    /// Damages a page of the second copy of the map.
    fn damage_a_page(&mut self) {
        // (The last write of a killed host may damage the other copy.)
        let killed = self.has(|fault| matches!(fault, Fault::Kill { .. }));
        if self.theme == Theme::Faults || killed || self.below(2) == 0 {
            return;
        }
        let geometry = *self.disk.geometry();
        let conventional = u64::from(geometry.conventional_zones) * geometry.zone_blocks;
        let copy = self.copy_blocks;
        let at = if self.seed.is_multiple_of(2) {
            self.below(copy)
        } else {
            conventional - 1 - self.below(copy)
        };
        let mut buffer = data(7, 7);
        buffer.0[9] = 0xff;
        self.seen.healed += u64::from(self.disk.write(Block(at), &[buffer]).is_ok());
    }

    /// Makes a block unreadable or an I/O fail now and then.
    fn spoil(&mut self) {
        let Some(draw) = &mut self.spoils else { return };
        if below(draw, 12) > 0 {
            return;
        }
        let blocks = 1 + below(draw, 12);
        if below(draw, 4) == 0 {
            self.disk.can_be_read_again();
        }
        self.disk.spoil(match below(draw, 2) {
            0 => Spoils::Written { after: below(draw, 6), blocks },
            _ => Spoils::BeforeFailed { blocks },
        });
        if below(draw, 2) == 0 {
            self.disk.fail(Operation::Write, below(draw, 12), 1);
        }
    }

    /// Executes the requests of a host for a while. False after a crash, or many failures.
    fn serve(&mut self, disk: &LiveDisk) -> bool {
        let mut errors = 0;
        for _ in 0..60 + self.below(120) {
            self.spoil();
            let blocks = self.blocks.len() as u64;
            // A part of the disk is hot.
            let region = if self.below(3) > 0 { blocks.min(40) } else { blocks };
            let start = self.below(region);
            let most = if self.below(6) == 0 { 40 } else { 4 };
            let count = (1 + self.below(most)).min(blocks - start);
            let range = start as usize..(start + count) as usize;
            let done = match self.below(20) {
                0..11 => {
                    let done = self.write(disk, start, count);
                    self.wrote(range, self.version, done.is_ok());
                    done
                }
                11 | 12 => {
                    let done = disk.trim(Block(start), count);
                    for known in &mut self.blocks[range] {
                        (known.any, known.lost, known.doubtful) = (true, false, false);
                        known.lost_for_good = false;
                        known.now.clear();
                    }
                    done
                }
                13..16 => {
                    let done = disk.flush();
                    self.flushed(done.is_ok());
                    done
                }
                17 if disk.is_log() => disk.gather_now().map(drop),
                16 | 17 => disk.idle().map(drop),
                _ => {
                    let _ = self.look_at(disk, start, count, false);
                    Ok(())
                }
            };
            if let Err(error) = done {
                if !self.disk.0.is_off() {
                    assert!(self.theme == Theme::Faults, "{}: {error}", self.seed);
                    let full =
                        matches!(error.kind, LiveErrorKind::Full | LiveErrorKind::OutOfRange);
                    assert!(!full, "{}: {error}", self.seed);
                    self.troubled = true;
                    self.look(disk, false, true);
                    errors += 1;
                    // It continues, unless the disk does nothing any more.
                    if errors < 9 {
                        continue;
                    }
                }
                return false;
            }
        }
        true
    }

    /// Writes the next version.
    fn write(&mut self, disk: &LiveDisk, start: u64, count: u64) -> Result<(), LiveError> {
        self.version += 1;
        let buffers = &mut self.buffers[..count as usize];
        for (block, buffer) in (start..).zip(&mut *buffers) {
            mark(buffer, block, self.version);
        }
        disk.write(Block(start), buffers)
    }

    /// Records a write or an attempt.
    fn wrote(&mut self, range: std::ops::Range<usize>, version: u64, done: bool) {
        for known in &mut self.blocks[range] {
            known.after_crash.push(version);
            known.lost_for_good = false;
            if done {
                (known.now, known.lost, known.doubtful) = (vec![version], false, false);
            } else {
                // (The previous version is still possible, if it was known.)
                if !known.now.is_empty() {
                    known.now.push(version);
                }
                if known.lost {
                    known.any = true;
                    known.now.clear();
                }
            }
        }
    }

    /// Records a flush or an attempt.
    fn flushed(&mut self, done: bool) {
        for known in &mut self.blocks {
            if !done {
                let durable = known.after_crash.len() == 1 && known.now == known.after_crash;
                known.doubtful |= !durable && !known.now.is_empty();
            } else if !known.doubtful {
                known.lost_for_good = known.lost;
                if !known.now.is_empty() {
                    (known.after_crash, known.any) = (known.now.clone(), false);
                }
            }
        }
    }

    /// After a while without faults: all reports were right, and the whole disk can be written.
    fn finish(&mut self, disk: LiveDisk) {
        self.disk.go_on();
        self.look(&disk, false, false);
        self.count(&disk);
        for _ in 0..3 {
            for start in (0..self.blocks.len() as u64).step_by(5) {
                let count = (self.blocks.len() as u64 - start).min(5);
                if self.write(&disk, start, count).is_err() {
                    assert!(self.disk.0.is_off() || self.may_end() || self.theme == Theme::Faults);
                    return;
                }
                self.wrote(start as usize..(start + count) as usize, self.version, true);
            }
        }
        self.look(&disk, false, false);
        if disk.close().is_ok()
            && let Ok(disk) = LiveDisk::open_with(self.disk.boxed(), self.bug)
            && !self.disk.0.is_off()
        {
            self.look(&disk, false, false);
        }
    }

    /// Checks all blocks. `opened`: from now on their contents are known, and durable unless a
    /// write has `failed`.
    fn look(&mut self, disk: &LiveDisk, opened: bool, failed: bool) {
        if opened {
            for known in &mut self.blocks {
                (known.lost, known.doubtful) = (known.lost_for_good, false);
                known.now.clear();
            }
        }
        let blocks = self.blocks.len() as u64;
        for start in (0..blocks).step_by(16) {
            let count = (blocks - start).min(16);
            let all = self.look_at(disk, start, count, failed);
            if !opened || failed {
                continue;
            }
            for block in start..start + count {
                let at = if all { (block - start) as usize } else { 0 };
                let read = all || disk.read(Block(block), &mut self.buffers[..1]).is_ok();
                self.is_from_now_on(block, read.then_some(at));
            }
        }
    }

    /// The contents of a block after a crash, as read into this buffer, are now fixed.
    fn is_from_now_on(&mut self, block: u64, buffer: Option<usize>) {
        let known = &mut self.blocks[block as usize];
        known.lost_for_good = known.lost;
        let Some(buffer) = buffer.filter(|_| !known.any) else { return };
        let found = versions(block, &self.buffers[buffer]);
        match found[0] {
            Some(version) if found == [Some(version); 8] => {
                (known.now, known.after_crash) = (vec![version], vec![version]);
            }
            // Torn: it has no single version.
            _ => known.any = true,
        }
    }

    /// Checks some blocks. Returns whether all could be read together.
    fn look_at(&mut self, disk: &LiveDisk, start: u64, count: u64, failed: bool) -> bool {
        if disk.read(Block(start), &mut self.buffers[..count as usize]).is_ok() {
            for (block, buffer) in (start..start + count).zip(&self.buffers) {
                self.is_right(block, buffer);
                self.seen.read_again += u64::from(self.blocks[block as usize].lost);
            }
            return true;
        }
        for block in start..start + count {
            let buffers = &mut self.buffers[..1];
            match (0..3).find_map(|_| match disk.read(Block(block), buffers) {
                Err(error) if error.kind == LiveErrorKind::Disk && self.theme == Theme::Faults => {
                    None
                }
                other => Some(other),
            }) {
                Some(Ok(())) => self.is_right(block, &self.buffers[0]),
                _ if self.disk.0.is_off() => return false,
                None => assert!(self.may_lose(), "{}: block {block} is not given", self.seed),
                Some(Err(error)) => {
                    let lost = error.kind == LiveErrorKind::Lost && self.may_lose();
                    let known = &mut self.blocks[block as usize];
                    if lost {
                        known.lost = true;
                        self.seen.lost += 1;
                    }
                    let doubtful = error.kind == LiveErrorKind::Failed && (failed || self.troubled);
                    self.seen.doubtful += u64::from(doubtful);
                    assert!(lost || doubtful, "{}: block {block}: {error}", self.seed);
                }
            }
        }
        false
    }

    fn is_right(&self, block: u64, buffer: &Buffer) {
        let (known, found) = (&self.blocks[block as usize], versions(block, buffer));
        if known.any && known.now.is_empty() {
            return;
        }
        // (One that was lost may be readable again. Then it is what it was.)
        let right = |part: &Option<u64>| match part {
            Some(part) if known.now.is_empty() => known.after_crash.contains(part),
            Some(part) => known.now.contains(part),
            None => false,
        };
        let tears = self.disk.geometry().physical_block_bytes < 4096 && known.now.is_empty();
        let whole = found.iter().all(|part| *part == found[0]) || tears;
        assert!(
            found.iter().all(right) && whole,
            "seed {} of {} ({:?}): block {block} is {found:?}, not of {known:?}",
            self.seed,
            self.translation,
            self.theme
        );
    }
}
