//! The probe, step by step.

use serde::Serialize;
use serde::de::DeserializeOwned;
use shingle_core::units::BLOCK_BYTES;
use shingle_drive::profile::{BandFacts, Kind};

use crate::bands::{BufferEstimate, Order, Seen, Site, Survey, band, may_be_larger};
use crate::change::{Change, real};
use crate::cliff::{End, Fill, Workload, fill, stall};
use crate::cost::{Coverage, ROUNDS_MAX, room, time_cleaning, zones};
use crate::distance::{Distances, distances};
use crate::error::ProbeError;
use crate::findings::{Capacity, Findings, SOLID_US, kind, limits, stalled, written_through};
use crate::guard::check_size;
use crate::idle::idle;
use crate::options::{COVERAGES_MIN, Options, Writes};
use crate::reads::{ReadTimes, reads};
use crate::scratch::Scratch;
use crate::session::Session;
use crate::target::{Facts, Nanos, Target, Zones};

/// Blocks of a reading step when a border is examined closely.
const FINE_BLOCKS: u64 = 16;

/// The most tries of the rough capacity, each with another end of the region.
const ROUGH_TRIES: u64 = 4;

/// The least part of a time that is noted if something else than the disk's work may have taken it.
const OTHER: f64 = 0.05;

/// The content of the buffer, as far as the probe knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Holds {
    Anything,
    Region,
}

/// Called with the name of each measurement before it is made or taken from the record.
pub type Observer<'a> = &'a mut dyn FnMut(&str);

struct Probe<'a, 'b> {
    session: &'a mut Session,
    scratch: Option<Scratch<'a>>,
    holds: Holds,
    facts: Facts,
    options: &'a Options,
    observer: Observer<'b>,
    notes: Vec<String>,
}

/// Probes `target`. Without a target, all measurements must be in the session's record, and `facts`
/// describe the recorded disk.
///
/// # Errors
/// If the disk fails, is too small, or the record lacks a measurement.
pub fn probe(
    target: Option<&mut dyn Target>,
    facts: Facts,
    session: &mut Session,
    options: &Options,
    observer: Observer,
) -> Result<Findings, ProbeError> {
    check_size(&facts)?;
    let region_blocks = initial_region(facts.blocks, options);
    let log_blocks = region_blocks;
    let scratch = target.map(|target| Scratch { target, region_blocks, log_blocks });
    let (holds, notes) = (Holds::Anything, Vec::new());
    Probe { session, scratch, holds, facts, options, observer, notes }.run()
}

/// Empties the buffer of `target`. Returns the bytes written.
///
/// # Errors
/// If the disk fails, is too small, or exposes zones.
pub fn force_clean(target: &mut dyn Target, options: &Options) -> Result<u64, ProbeError> {
    let facts = target.facts().clone();
    check_size(&facts)?;
    if facts.zones.is_some() {
        return Err(ProbeError::Zoned(facts.name));
    }
    let region_blocks = initial_region(facts.blocks, options);
    let mut scratch = Scratch { target, region_blocks, log_blocks: region_blocks };
    Ok(scratch.empty()? * BLOCK_BYTES)
}

/// The initial region: as large as the largest buffer, at most a quarter of the disk.
fn initial_region(blocks: u64, options: &Options) -> u64 {
    (options.buffer_max_bytes / BLOCK_BYTES).min(blocks / 4)
}

impl Probe<'_, '_> {
    fn run(mut self) -> Result<Findings, ProbeError> {
        let exposed =
            self.facts.zones.map(|zones| (zones.required, zones.zone_blocks, zones.count));
        let exposed = self.session.measure("zones", || Ok(exposed))?;
        // (Whatever a record says: a disk that exposes zones is never written.)
        self.facts.zones =
            self.facts.zones.or(exposed.map(|(required, zone_blocks, count)| Zones {
                required,
                zone_blocks,
                count,
            }));
        let seed = self.options.seed;
        let reads =
            self.measure("reads", false, Holds::Anything, |scratch| reads(scratch, seed))?;
        let mut found = Findings {
            facts: self.facts.clone(),
            kind: Kind::Hidden,
            reads,
            distances: None,
            look: None,
            capacities: Vec::new(),
            bands: Vec::new(),
            timed: Vec::new(),
            idle: None,
            notes: Vec::new(),
        };
        if let Some(zones) = self.facts.zones {
            found.kind = if zones.required { Kind::HostManaged } else { Kind::HostAware };
            found.notes.push(
                "a disk with zones answers reads of what was never written without the medium: these times are of the medium \
                 only if its zones are full"
                    .into(),
            );
            return Ok(found);
        }
        let (long, part) = found.reads.long();
        if part > OTHER && found.reads.random() >= SOLID_US {
            self.notes.push(format!(
                "{long} of {} random reads took longer than the arm of a disk, {:.0} % of the time of all: L_read has these in it; \
                 something else may be using the disk",
                found.reads.random_us.len(),
                100.0 * part
            ));
        }
        found.distances = self.distances(&found.reads)?;
        let look = self.look(&found.reads)?;
        found.kind = kind(&look, &found.reads);
        if written_through(&look, &found.reads) {
            self.notes.push(format!(
                "a random write takes {:.1} ms, longer than a random read ({:.1} ms): so it does on a shingled disk without \
                 a write cache; turn the cache on (hdparm -W 1) and probe again",
                look.mean_us() / 1e3,
                found.reads.random() / 1e3
            ));
        } else if found.kind == Kind::Hidden && matches!(look.end, End::Cliff | End::Full) {
            self.notes.push(format!(
                "writes come to wait as for cleaning, but a random read takes {:.2} ms, no time for a seek: it is solid-state, or a \
                 shingled disk that answers without reading where nothing was written; write all of it once and probe again",
                found.reads.random() / 1e3
            ));
        } else if found.kind == Kind::Hidden
            && let Some(longest_us) = stalled(&look, &found.reads)
        {
            self.notes.push(format!(
                "a write waited for {:.1} s, and too few did to tell why: the buffer, or its bands, may be larger than \
                 --buffer-max has room for",
                real(longest_us) / 1e6
            ));
        }
        found.look = Some(look);
        if found.kind == Kind::DriveManaged {
            self.measure_buffer(&mut found)?;
        }
        found.notes = self.notes;
        Ok(found)
    }

    fn measure_buffer(&mut self, found: &mut Findings) -> Result<(), ProbeError> {
        let read = Nanos::from_micros(found.reads.random() as u64);
        let Some((rough, end)) = self.rough(read)? else {
            found.kind = Kind::Hidden;
            self.notes.push(
                "writes are slow at times, but no cliff repeats: nothing is known of a buffer"
                    .into(),
            );
            return Ok(());
        };
        self.align_region(&rough, end)?;
        for writes in self.options.writes.clone() {
            let capacity = self.capacity(writes, read)?;
            if capacity.cliff.is_none() {
                let why = match capacity.fill.end {
                    End::Exhausted => "the region was written before the buffer was full",
                    End::Full => "the first ones waited already",
                    End::SeekBound => "each took as long as a seek",
                    End::Cliff => "from which one on they waited cannot be told",
                };
                self.notes.push(format!(
                    "no cliff for writes of {} bytes at depth {}: {why}",
                    writes.blocks * BLOCK_BYTES,
                    writes.depth
                ));
            }
            found.capacities.push(capacity);
        }
        self.note_waits(&found.capacities);
        let estimate = buffer_estimate(&found.capacities, &rough);
        if let (Some(limit), Some(scratch)) =
            (limits(&found.capacities).log_bytes, &mut self.scratch)
        {
            scratch.log_blocks = limit / BLOCK_BYTES * 11 / 10;
        }
        self.bands(&estimate, found)?;
        self.costs(&estimate, found)?;
        let (longest, seed) = (self.options.idle_max().0 / 1000, self.options.seed);
        let trials = self.measure("idle", true, Holds::Region, |scratch| {
            idle(scratch, estimate.entries, longest, seed)
        })?;
        found.idle = Some(trials);
        Ok(())
    }

    /// Notes writes that waited before the buffer was full.
    fn note_waits(&mut self, capacities: &[Capacity]) {
        let waited = capacities.iter().filter_map(|row| {
            let (count, us, all) = row.fill.waits_before(row.cliff?.at);
            Some((count, real(us) / real((all * u64::from(row.writes.depth)).max(1))))
        });
        let most = waited.max_by(|one, other| one.1.total_cmp(&other.1));
        if let Some((count, part)) = most.filter(|most| most.1 > OTHER) {
            self.notes.push(format!(
                "{count} writes waited as for cleaning before the buffer was full, {:.0} % of the time: it was not empty, or \
                 something else was using the disk; the capacity and the rates may be wrong",
                100.0 * part
            ));
        }
    }

    /// Makes a measurement. `empty`: the buffer must be empty before. `leaves`: what it holds
    /// afterwards.
    fn measure<T: Serialize + DeserializeOwned>(
        &mut self,
        name: &str,
        empty: bool,
        leaves: Holds,
        make: impl FnOnce(&mut Scratch) -> Result<T, ProbeError>,
    ) -> Result<T, ProbeError> {
        let Probe { session, scratch, holds, observer, .. } = self;
        observer(name);
        session.measure(name, || {
            let scratch = scratch.as_mut().ok_or(ProbeError::NotMeasured)?;
            let held = std::mem::replace(holds, Holds::Anything);
            match held {
                Holds::Anything if empty => drop(scratch.empty()?),
                Holds::Region if empty => scratch.sweep()?,
                _ => {}
            }
            let made = make(scratch)?;
            *holds = leaves;
            Ok(made)
        })
    }

    /// Measures reads by distance. `None` for a record that was made before this measurement
    /// existed.
    fn distances(&mut self, reads: &ReadTimes) -> Result<Option<Distances>, ProbeError> {
        let (block_us, seed) = (reads.in_order().0, self.options.seed);
        let shown = self.measure("distances", false, Holds::Anything, |scratch| {
            distances(scratch, block_us, seed)
        });
        match shown {
            Err(ProbeError::NotMeasured) => Ok(None),
            shown => shown.map(Some),
        }
    }

    /// Writes random single blocks, with whatever is in the buffer.
    fn look(&mut self, reads: &ReadTimes) -> Result<Fill, ProbeError> {
        let workload = Workload {
            region_blocks: initial_region(self.facts.blocks, self.options),
            write_blocks: 1,
            depth: 1,
            read: Nanos::from_micros(reads.random() as u64),
            seed: self.options.seed,
        };
        self.measure("look", false, Holds::Anything, |scratch| fill(scratch.target, &workload))
    }

    /// Measures roughly how many writes of a block the buffer holds. A sweep leaves the beginning
    /// of a band in the buffer. If the buffer is small, this matters: then several ends of the
    /// region are tried. The largest result is taken, and the region keeps its end.
    fn rough(&mut self, read: Nanos) -> Result<Option<(BufferEstimate, u64)>, ProbeError> {
        let end = initial_region(self.facts.blocks, self.options);
        let shift = self.options.band_max_bytes / BLOCK_BYTES / ROUGH_TRIES;
        let mut best: Option<BufferEstimate> = None;
        let mut best_end = end;
        for nth in 0..ROUGH_TRIES {
            let region_blocks = end.saturating_sub((ROUGH_TRIES - 1 - nth) * shift).max(end / 2);
            self.set_region_end(region_blocks);
            let seed = self.options.seed.wrapping_add(nth);
            let workload = Workload { region_blocks, write_blocks: 1, depth: 1, read, seed };
            let name = format!("rough capacity, try {nth}");
            let shown = self
                .measure(&name, true, Holds::Region, |scratch| fill(scratch.target, &workload))?;
            if let Some((cliff, usual_us)) = shown.cliff()
                && best.is_none_or(|best| best.entries < cliff.at)
            {
                let stall_us = shown.stall_us(stall(read) / 1e3).unwrap_or(usual_us);
                best = Some(BufferEstimate { entries: cliff.at, by_bytes: false, stall_us });
                best_end = region_blocks;
            }
            if best.is_some_and(|best| rough_tries(best.entries, self.options) == 1) {
                break;
            }
        }
        self.set_region_end(best_end);
        self.holds = Holds::Anything;
        Ok(best.map(|best| (best, best_end)))
    }

    fn set_region_end(&mut self, region_blocks: u64) {
        if let Some(scratch) = &mut self.scratch {
            scratch.region_blocks = region_blocks;
        }
    }

    /// Makes the region end at the end of a band, before `end`: so far before that what the sweep
    /// to `end` left in the buffer is of another band.
    fn align_region(&mut self, estimate: &BufferEstimate, end: u64) -> Result<(), ProbeError> {
        let half = self.options.half_blocks();
        let site = Site::around(
            end.saturating_sub(2 * half).max(end / 2),
            half,
            self.options.step_blocks(),
            self.facts.blocks,
        );
        let rough = match site.entries() > estimate.entries {
            true => None,
            false => self
                .survey("border, roughly", vec![site], estimate, Order::Descending)?
                .pop()
                .and_then(|seen| self.plausible_band(&seen)),
        };
        let refined = rough.and_then(|rough| Site::refined(&rough, FINE_BLOCKS, self.facts.blocks));
        let Some(refined) = refined else {
            self.notes.push("no border was found at the end of the region: capacities may be too small by a band".into());
            return Ok(());
        };
        let exact = self
            .survey("border", vec![refined], estimate, Order::Descending)?
            .pop()
            .and_then(|seen| self.plausible_band(&seen));
        let Some(band) = exact.or(rough) else { return Ok(()) };
        // Better a few blocks of the next band than all of this band but a few.
        self.set_region_end(band.first_block + band.error_blocks);
        self.holds = Holds::Anything;
        Ok(())
    }

    /// Evaluates a band, and rejects one that is too large.
    fn plausible_band(&self, seen: &Seen) -> Option<BandFacts> {
        let largest = self.options.band_max_bytes / BLOCK_BYTES;
        band(seen, self.facts.blocks).filter(|band| band.blocks <= largest + 2 * band.error_blocks)
    }

    fn survey(
        &mut self,
        name: &str,
        sites: Vec<Site>,
        estimate: &BufferEstimate,
        order: Order,
    ) -> Result<Vec<Seen>, ProbeError> {
        let (apart, seed) = (self.options.half_blocks(), self.options.seed);
        let survey = Survey { sites: &sites, estimate, apart, order, seed };
        self.measure(name, true, Holds::Anything, |scratch| survey.run(scratch))
    }

    /// Measures the capacity of the buffer for one kind of writes. Repeats while the interval is
    /// wider than 2 %.
    fn capacity(&mut self, writes: Writes, read: Nanos) -> Result<Capacity, ProbeError> {
        const TRIES: u64 = 3;
        let mut best: Option<Capacity> = None;
        for nth in 0..TRIES {
            let (write_blocks, depth) = (writes.blocks, writes.depth as usize);
            let seed = self.options.seed.wrapping_add(10 + nth);
            let name =
                format!("capacity, {} bytes, depth {depth}, try {nth}", write_blocks * BLOCK_BYTES);
            let fill = self.measure(&name, true, Holds::Region, |scratch| {
                let region_blocks = scratch.region_blocks;
                fill(scratch.target, &Workload { region_blocks, write_blocks, depth, read, seed })
            })?;
            let cliff = fill.cliff().map(|(change, _)| change);
            let width = |cliff: &Option<Change>| {
                cliff.map_or(f64::INFINITY, |c| real(c.high - c.low) / real(c.at.max(1)))
            };
            let narrow = width(&cliff) <= 0.02;
            if best.as_ref().is_none_or(|best| width(&cliff) < width(&best.cliff)) {
                best = Some(Capacity { writes, fill, cliff });
            }
            if narrow {
                break;
            }
        }
        Ok(best.expect("there is a first try"))
    }

    /// Searches bands all over the disk, as many in a round as the buffer has room to mark.
    fn bands(&mut self, estimate: &BufferEstimate, found: &mut Findings) -> Result<(), ProbeError> {
        let (half, step, blocks) =
            (self.options.half_blocks(), self.options.step_blocks(), self.facts.blocks);
        let places = self.options.places(blocks);
        let mut wanted: Vec<Site> =
            places.iter().map(|place| Site::around(place.0, half, step, blocks)).collect();
        // Marks beyond the capacity are cleaned with the wanted band, and would look like a part of
        // it.
        let entries = wanted.iter().map(Site::entries).max().unwrap_or(0);
        if entries > estimate.entries {
            self.notes.push(format!(
                "bands were not looked for: at each place {entries} blocks have to be in the buffer, which holds {}; \
                 with a larger --step or a smaller --band-max they are fewer",
                estimate.entries
            ));
            return Ok(());
        }
        let mut done: Vec<(Seen, Option<BandFacts>)> = Vec::new();
        for (attempt, order) in [Order::Descending, Order::Random].into_iter().enumerate() {
            let mut missed = Vec::new();
            let room = estimate.entries / 2;
            for (nth, sites) in rounds(wanted, room).into_iter().enumerate() {
                let seen = self.survey(
                    &format!("bands, round {nth}, attempt {attempt}"),
                    sites.clone(),
                    estimate,
                    order,
                )?;
                for (site, seen) in sites.into_iter().zip(seen) {
                    let band = self.plausible_band(&seen);
                    if band.is_none() && attempt == 0 {
                        missed.push(site);
                    } else {
                        done.push((seen, band));
                    }
                }
            }
            wanted = missed;
        }
        self.refine(estimate, &mut done)?;
        done.sort_by_key(|(seen, _)| seen.seed);
        let missing = done.iter().filter(|(_, band)| band.is_none());
        let (largest, read) = (self.options.band_max_bytes / BLOCK_BYTES, found.reads.random());
        let larger = missing.clone().filter(|(seen, _)| may_be_larger(seen, largest, read)).count();
        let (missing, places) = (missing.count(), done.len());
        if missing > 0 {
            let mut told = format!("at {missing} of {places} places the band could not be told");
            if larger > 0 {
                told.push_str(&format!(
                    "; at {larger} of them it may be larger than --band-max: probe again with a larger one"
                ));
            }
            self.notes.push(told);
        }
        found.bands = done;
        Ok(())
    }

    /// Measures bands again whose reading step was more than half a percent of the band.
    fn refine(
        &mut self,
        estimate: &BufferEstimate,
        done: &mut [(Seen, Option<BandFacts>)],
    ) -> Result<(), ProbeError> {
        let coarse = |band: &BandFacts| band.error_blocks * 200 > band.blocks;
        let (places, sites): (Vec<usize>, Vec<Site>) = done
            .iter()
            .enumerate()
            .filter_map(|(at, (_, band))| {
                let band = band.as_ref().filter(|band| coarse(band))?;
                Some((at, Site::refined(band, FINE_BLOCKS, self.facts.blocks)?))
            })
            .unzip();
        let mut places = places.into_iter();
        for (nth, sites) in rounds(sites, estimate.entries / 2).into_iter().enumerate() {
            for (seen, at) in self
                .survey(
                    &format!("bands more closely, round {nth}"),
                    sites,
                    estimate,
                    Order::Descending,
                )?
                .iter()
                .zip(&mut places)
            {
                if let Some(finer) = self.plausible_band(seen) {
                    done[at].1 = Some(finer);
                }
            }
        }
        Ok(())
    }

    /// Measures `R(x)`.
    fn costs(&mut self, estimate: &BufferEstimate, found: &mut Findings) -> Result<(), ProbeError> {
        let zone_blocks = self.options.zone_blocks;
        let region_blocks = initial_region(self.facts.blocks, self.options);
        let (wanted, seed) = (self.options.zones, self.options.seed);
        let zones = zones(region_blocks, self.facts.blocks, zone_blocks, wanted, seed);
        for blocks in self.options.coverages.clone() {
            let room = room(estimate.entries, blocks) as usize;
            if room == 0 || blocks > zone_blocks {
                self.notes.push(format!("R({blocks}) was not measured: the buffer holds less"));
                continue;
            }
            for (nth, zones) in zones.chunks(room).take(ROUNDS_MAX as usize).enumerate() {
                let seed = seed.wrapping_add(100 * blocks + nth as u64);
                let coverage = Coverage { zone_blocks, blocks, zones, seed };
                let name = format!("R({blocks}), round {nth}");
                let timed = self.measure(&name, true, Holds::Region, |scratch| {
                    time_cleaning(scratch, &coverage, estimate)
                })?;
                found.timed.push(timed);
            }
        }
        let per_write: Vec<f64> = found.costs().iter().map(|(blocks, us)| us / blocks).collect();
        let least = per_write.iter().copied().fold(f64::INFINITY, f64::min);
        let part = found.other_us() / least;
        if part > OTHER {
            self.notes.push(format!(
                "writes waited as for cleaning while the buffer had room: up to {:.0} % of R(x) may be no cleaning; something \
                 else may be using the disk",
                100.0 * part.min(1.0)
            ));
        }
        if found.cost_line().is_none() {
            let coverages = found.costs().len();
            let why = if coverages < COVERAGES_MIN {
                format!(
                    "{coverages} coverages showed what a zone costs, and a line takes {COVERAGES_MIN}"
                )
            } else {
                "by the line through what zones cost some would cost less than nothing".into()
            };
            self.notes.push(format!(
                "R(x) was not found out, so the profile has no [rmw], and no model is made of it: {why}; probe again with \
                 more or other --coverages, or more --zones"
            ));
        }
        Ok(())
    }
}

/// How often the rough capacity of a buffer of `entries` is measured: once if the rest of a band is
/// less than 5 % of it.
pub(crate) fn rough_tries(entries: u64, options: &Options) -> u64 {
    if entries > 20 * options.band_max_bytes / BLOCK_BYTES { 1 } else { ROUGH_TRIES }
}

/// Groups sites into rounds that need no more than `room` entries.
fn rounds(sites: Vec<Site>, room: u64) -> Vec<Vec<Site>> {
    let mut rounds: Vec<Vec<Site>> = Vec::new();
    let mut left = 0;
    for site in sites {
        let entries = site.entries() + 4;
        match rounds.last_mut().filter(|_| entries <= left) {
            Some(round) => round.push(site),
            None => {
                rounds.push(vec![site]);
                left = room;
            }
        }
        left = left.saturating_sub(entries);
    }
    rounds
}

/// The buffer for single blocks, more exactly than `rough`.
fn buffer_estimate(capacities: &[Capacity], rough: &BufferEstimate) -> BufferEstimate {
    let single = Writes { blocks: 1, depth: 1 };
    let cliff = capacities.iter().find(|row| row.writes == single).and_then(|row| row.cliff);
    let limits = limits(capacities);
    let by_bytes = limits.extents.is_none() && limits.log_bytes.is_some();
    BufferEstimate { entries: cliff.map_or(rough.entries, |cliff| cliff.at), by_bytes, ..*rough }
}
