//! Cleaning of a band, in phases between which host I/O may come.
//!
//! The band of the oldest extent is rewritten from its first dirty track to its end, as much in a
//! phase as the drive's memory can merge: read the band's tracks, collect the extents from the log,
//! stage the merged tracks in the scratch area (a power cut must not lose the band), write them
//! back. The map changes at the end of the last phase, so that writes that come between phases win
//! over what is collected. A cleaning collects the band's oldest extents, at most `collect_reads_max`
//! separate reads of the log; what is left waits for the next one.

use super::{DriveManaged, SCALE_BITS};
use crate::sheet::Timing;
use shingle_core::units::{BLOCK_BYTES, Nanos};

/// A cleaning in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    band: usize,
    /// Slots of the band with lower numbers than this are collected.
    before: u64,
    /// First block to rewrite, one past the last, and blocks in each phase.
    first: u64,
    end: u64,
    phase_blocks: u64,
    track_blocks: u64,
    phase: usize,
    phases: usize,
    /// Blocks collected, for the cost.
    collected: u64,
    /// Whether the log holds all of it, so that nothing native is read.
    free: bool,
}

/// What a phase collects from the log.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Share {
    reads: u64,
    blocks: u64,
}

impl DriveManaged {
    /// Cleans as much as the drive does when a write finds no room. Returns the time taken.
    pub(super) fn clean_now(&mut self, now: Nanos) -> Nanos {
        let mut took = Nanos::ZERO;
        let mut bands = 0;
        // Terminates: each step does a phase; a job has a bounded number of them.
        while bands < self.values.bands_per_cleaning {
            let Some(step) = self.clean_step(now + took) else { break };
            took += step;
            bands += u64::from(self.job.is_none());
        }
        took
    }

    /// Does one phase. Returns its time; `None` if there is nothing to clean.
    pub(super) fn clean_step(&mut self, now: Nanos) -> Option<Nanos> {
        let job = match self.job {
            Some(job) => job,
            None => self.plan()?,
        };
        self.mech.stop_ahead(now);
        let time = self.phase(&job);
        // The seeks of a phase end at the log.
        self.away = false;
        if job.phase + 1 < job.phases {
            self.job = Some(Job { phase: job.phase + 1, ..job });
        } else {
            self.job = None;
            self.finish(&job);
        }
        Some(time)
    }

    /// Plans the cleaning of the band of the oldest extent.
    fn plan(&mut self) -> Option<Job> {
        let oldest = self.ring.oldest()?;
        let place = self.bands.place(self.ring.block(oldest));
        let band = place.unit as usize;
        let (before, lowest, collected) = self.collectable(band, oldest);
        let job = self.job_of(band, before, lowest, collected);
        self.share_out(&job);
        Some(job)
    }

    /// Returns the job of rewriting a band from its block `lowest` on, with `collected` blocks
    /// merged into it.
    pub(super) fn job_of(&self, band: usize, before: u64, lowest: u64, collected: u64) -> Job {
        let place = self.bands.place(lowest);
        let (band_first, band_blocks) = self.bands.unit(place.unit);
        let track_blocks = self.mech.track_blocks(self.native + lowest);
        let first = lowest - (lowest - band_first) % track_blocks;
        let end = band_first + band_blocks;
        let tracks = (end - first).div_ceil(track_blocks);
        let phases = match self.timing {
            Timing::Mechanics => ((end - first) * BLOCK_BYTES).div_ceil(self.values.merge_bytes),
            Timing::Cost => 1,
        };
        let phase_blocks = tracks.div_ceil(phases) * track_blocks;
        let phases = (end - first).div_ceil(phase_blocks) as usize;
        let free = collected == end - first;
        Job {
            band,
            before,
            first,
            end,
            phase_blocks,
            track_blocks,
            phase: 0,
            phases,
            collected,
            free,
        }
    }

    /// Returns how far the band's oldest slots are collected: the number of the first slot that is
    /// not, the lowest block, and the number of blocks.
    fn collectable(&self, band: usize, oldest: u32) -> (u64, u64, u64) {
        let (mut reads, mut collected, mut lowest) = (0, 0, u64::MAX);
        let mut expected = None;
        let mut next = Some(oldest);
        while let Some(slot) = next {
            if expected != Some(slot) {
                reads += 1;
                if self.in_parts && reads > self.values.collect_reads_max {
                    return (self.ring.number(slot), lowest, collected);
                }
            }
            lowest = lowest.min(self.ring.block(slot));
            collected += 1;
            expected = Some(slot + 1);
            next = self.ring.next_of(band, slot);
        }
        (self.ring.end_number(), lowest, collected)
    }

    /// Counts the reads of the log in each phase: a run of neighbouring slots is one read.
    fn share_out(&mut self, job: &Job) {
        self.shares[..job.phases].fill(Share::default());
        let mut expected = None;
        let mut next = self.ring.first_of(job.band);
        while let Some(slot) = next.filter(|&slot| self.ring.number(slot) < job.before) {
            // A band has less than 2^32 blocks, and a 32-bit division is much faster.
            let inside = (self.ring.block(slot) - job.first) as u32;
            let phase = (inside / job.phase_blocks as u32) as usize;
            let share = &mut self.shares[phase];
            share.reads += u64::from(expected != Some((slot, phase)));
            share.blocks += 1;
            expected = Some((slot + 1, phase));
            next = self.ring.next_of(job.band, slot);
        }
    }

    /// Rewrites a band with blocks from elsewhere in the drive; returns the time taken.
    pub(super) fn rewrite_with(&mut self, now: Nanos, lowest: u64, merged: u64) -> Nanos {
        let job = self.job_of(self.band(lowest), 0, lowest, merged);
        self.shares[..job.phases].fill(Share::default());
        self.mech.stop_ahead(now);
        let time = (0..job.phases).map(|phase| self.phase(&Job { phase, ..job })).sum();
        self.away = false;
        self.counters.rmw += u64::from(!job.free);
        self.counters.rmw_free += u64::from(job.free);
        time
    }

    /// Does one phase; counts its bytes and returns its time.
    fn phase(&mut self, job: &Job) -> Nanos {
        let first = job.first + job.phase as u64 * job.phase_blocks;
        let blocks = job.phase_blocks.min(job.end - first);
        let bytes = blocks * BLOCK_BYTES;
        self.counters.band_bytes_written += bytes;
        self.contents.rewrite(first, blocks, !job.free);
        if !job.free {
            self.counters.rmw_read_bytes += bytes;
            self.counters.log_bytes_written += bytes;
        }
        if self.timing == Timing::Cost {
            return self.costs.rmw(job.collected);
        }
        let share = self.shares[job.phase];
        let tracks = blocks.div_ceil(job.track_blocks);
        let pass = Nanos(tracks * self.mech.rotation().0);
        let seek = self.mech.seek(self.mech.track(self.native + first).abs_diff(self.log_track()));
        let collect =
            Nanos(share.reads * self.times.collect.0) + self.mech.streamed(0, share.blocks);
        let write_back = pass + seek + seek;
        self.mech.forget(self.native + first, blocks);
        if job.free {
            // The log keeps the data until the band is written, so no staging is needed.
            return collect + self.as_measured(write_back);
        }
        let (read, stage) = (pass + seek + seek, pass);
        collect + self.as_measured(read + stage + write_back)
    }

    /// Scales the time of a pass over a band, on a disk where that was measured.
    // A scale is at most 1000.
    fn as_measured(&self, time: Nanos) -> Nanos {
        let scaled = u128::from(time.0) * u128::from(self.times.clean_scale);
        Nanos((scaled >> SCALE_BITS) as u64)
    }

    /// Moves the collected blocks to their native place in the map.
    fn finish(&mut self, job: &Job) {
        let mut moved = 0;
        let mut later = self.ring.prefetch_emptied(job.band);
        while let Some(slot) = self.ring.first_of(job.band) {
            if self.ring.number(slot) >= job.before {
                break;
            }
            later = later.and_then(|slot| self.ring.prefetch_removed(job.band, slot));
            self.contents.slot_to_native(slot, self.ring.block(slot));
            self.ring.remove(slot, job.band);
            moved += 1;
        }
        self.contents.written();
        self.release_packets();
        let evicted = self.counters.buffer_evicted_blocks;
        let again = self.turnover.cleaned(job.band, evicted, evicted + moved);
        self.counters.buffer_evicted_blocks += moved;
        self.counters.truncated += u64::from(again);
        self.counters.rmw += u64::from(!job.free);
        self.counters.rmw_free += u64::from(job.free);
    }
}
