//! Amphisbaena (Zhang et al., Appl. Sci. 14(2):630, 2024): a buffer of conventional zones with two
//! heads. Blocks that are updated often are in a high-frequency buffer of single blocks (HFB), the
//! others in a low-frequency buffer of chunks (LFB), from which whole zones are written back.
//!
//! `classify` has the first phase of the classification, by the size of the request, `roles` the
//! second, by the history of the block. `hot` and `chunks` are the two buffers, `resize` moves the
//! border between them. `victim` chooses the zone to write back, `collect` writes it, and `evict`
//! moves blocks from the HFB to the LFB. `docs/translations.md` lists the decisions where the paper
//! is unclear.
//!
//! Left out: the location of metadata, which the paper leaves open too (§5.4).

mod chunks;
mod classify;
mod collect;
mod drain;
mod evict;
mod history;
mod hot;
mod index;
mod open;
mod record;
mod resize;
mod roles;
mod settings;
mod steps;
mod victim;
mod write;
mod zones;

#[cfg(test)]
mod tests;

use crate::parts::{Native, WriteBack, pieces};
use crate::translation::{
    BufferState, Counters, Layout, Make, Piece, Place, Queue, SavedMap, Step, Translation, Work,
};
use chunks::Chunks;
use classify::Window;
use collect::Collection;
use drain::Draining;
use hot::Hot;
use roles::Roles;
use settings::Settings;
use shingle_core::params::{Param, Params};
use shingle_core::units::{Block, Zone};
use steps::Steps;
use victim::Tournament;
use write::Writing;
use zones::Zones;

#[derive(Clone, Debug)]
pub(crate) struct Amphisbaena {
    layout: Layout,
    native: Native,
    settings: Settings,
    window: Window,
    roles: Roles,
    hot: Hot,
    cold: Chunks,
    zones: Zones,
    weights: Tournament,
    job: Job,
    /// The zone whose blocks are being collected, for any job.
    collection: Option<Collection>,
    back: WriteBack,
    /// The frames of that zone, sorted by address.
    collected_frames: Vec<u32>,
    /// Slots of HFB blocks that move into one chunk together.
    moving: Vec<u32>,
    steps: Steps,
    /// Ghost hits and write requests since the last reallocation.
    ghost_hits: u64,
    writes: u64,
    /// Chunks that the HFB still has to get.
    growing: u32,
    /// Whether the HFB still has to return chunks.
    shrinking: bool,
    counters: Counters,
}

/// The work in progress.
#[derive(Clone, Debug)]
enum Job {
    None,
    Write(Writing),
    /// None, or only a collection.
    Idle,
    Drain(Draining),
}

impl Make for Amphisbaena {
    const NAME: &'static str = "amphisbaena";
    const ABOUT: &'static str =
        "hot blocks apart, cold ones in chunks; zones by size and density (Zhang et al. 2024)";
    const PARAMS: &'static [Param] = settings::PARAMS;

    fn new(params: &Params, layout: Layout) -> Result<Self, String> {
        let settings = Settings::new(params, layout)?;
        let geometry = settings.geometry;
        let mut hot = Hot::new(geometry.frame_blocks, settings.hot_max);
        let mut cold = Chunks::new(geometry, settings.frames, settings.frames - settings.hot_first);
        let mut roles = Roles::new(settings.roles);
        for frame in 0..settings.frames {
            if frame < settings.hot_first {
                hot.add(frame, false).for_each(|slot| roles.add_slot(slot));
            } else {
                cold.give(frame);
            }
        }
        roles.set_sup_max(settings.sup_max(hot.blocks()));
        let frames_of_zone = geometry.per_zone().min(settings.frames) as usize;
        Ok(Amphisbaena {
            layout,
            native: Native::new(Self::NAME, layout)?,
            settings,
            window: Window::new(params.count("window").min(1 << 20) as usize),
            roles,
            hot,
            cold,
            zones: Zones::new(layout.zones),
            weights: Tournament::default(),
            job: Job::None,
            collection: None,
            back: WriteBack::new(geometry.chunk_blocks.into()),
            collected_frames: Vec::with_capacity(frames_of_zone),
            moving: Vec::with_capacity(geometry.chunk_blocks as usize),
            steps: Steps::new(2 * geometry.chunk_blocks as usize + 4),
            ghost_hits: 0,
            writes: 0,
            growing: 0,
            shrinking: false,
            counters: Counters::default(),
        })
    }

    fn open(params: &Params, layout: Layout, saved: &dyn SavedMap) -> Result<Self, String> {
        Self::new(params, layout)?.opened(layout, saved)
    }
}

impl Translation for Amphisbaena {
    fn blocks(&self) -> u64 {
        self.native.blocks()
    }

    fn locate(&mut self, block: Block, count: u64, out: &mut Vec<Piece>) {
        pieces(block, count, out, |block| self.place(block));
    }

    fn begin(&mut self, work: Work) {
        assert!(matches!(self.job, Job::None), "a work begins while another is under way");
        match work {
            Work::Write { block, count } => {
                assert!(block.0 + count <= self.blocks(), "a write beyond the end");
                self.counters.written_blocks += count;
                let hot = self.window.hot(count);
                self.job = Job::Write(Writing::new(block, count, hot));
            }
            Work::Trim { block, count } => self.trim(block, count),
            Work::Idle if self.wants_idle() => {
                self.job = Job::Idle;
                self.collect_best();
            }
            Work::Idle => {}
            Work::Drain => self.job = Job::Drain(self.plan_drain()),
        }
    }

    fn next(&mut self, queue: &dyn Queue) -> Option<Step> {
        loop {
            if let Some(step) = self.steps.take() {
                return Some(step);
            }
            if let Some(step) = self.collect(queue) {
                return Some(step);
            }
            let goes_on = match self.job {
                Job::None => return None,
                Job::Write(_) => self.write() || self.resize(),
                Job::Idle => false,
                Job::Drain(_) => self.drain(),
            };
            if !goes_on {
                self.job = Job::None;
                self.steps.finish_run();
            }
        }
    }

    fn wants_idle(&self) -> bool {
        let frames = u64::from(self.cold.frames());
        let free = u64::from(self.cold.free_frames());
        self.settings.idle && free < frames && free * 1000 < frames * self.settings.idle_free
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn buffer_state(&self) -> BufferState {
        let residents = u64::from(self.roles.residents());
        let frames = u64::from(self.cold.frames() - self.cold.free_frames());
        let used = residents + frames * u64::from(self.settings.geometry.frame_blocks);
        BufferState {
            blocks: residents + self.cold.blocks(),
            zones: self.zones.held(),
            used,
            free: self.layout.buffer_blocks - used,
        }
    }

    fn write_pointer(&self, zone: Zone) -> u64 {
        self.native.pointer(zone)
    }

    fn memory_bytes(&self) -> u64 {
        let lists = (self.collected_frames.capacity() + self.moving.capacity()) * size_of::<u32>();
        let shared = self.native.memory_bytes() + self.back.memory_bytes();
        let bytes = size_of::<Self>()
            + lists
            + self.window.bytes()
            + self.roles.bytes()
            + self.hot.bytes()
            + self.cold.bytes()
            + self.zones.bytes()
            + self.weights.bytes()
            + self.steps.bytes();
        bytes as u64 + shared
    }

    fn copy(&self) -> Box<dyn Translation> {
        Box::new(self.clone())
    }

    fn check(&self) {
        self.roles.check();
        self.cold.check(&self.zones);
        let frames = self.cold.frames() + self.hot.chunks();
        assert_eq!(frames, self.settings.frames, "a chunk of the buffer is lost");
        assert_eq!(self.roles.residents() + self.roles.free_slots(), self.hot.blocks());
        let hot: u32 = self.zones.iter().map(|zone| zone.hot).sum();
        assert_eq!(hot, self.roles.residents(), "zones have lost count of hot blocks");
        let held = self.zones.iter().filter(|zone| zone.hot + zone.cold > 0).count();
        assert_eq!(held as u64, self.zones.held());
        for zone in self.zones.iter() {
            assert_eq!(u64::from(zone.write_pointer), self.native.pointer(Zone(zone.zone)));
        }
        let mut cold = self.cold.clone();
        for slot in 0..self.settings.roles.slots {
            if let Some((block, _)) = self.roles.resident(slot) {
                let twice = cold.find(self.settings.geometry.address(block));
                assert_eq!(twice, None, "{block:?} is in both buffers");
            }
        }
    }
}

impl Amphisbaena {
    /// Finds the newest copy of a block: in the HFB, LFB or native zone, in this order (§5.2.2).
    fn place(&mut self, block: Block) -> Place {
        if let Some(slot) = self.roles.slot(block) {
            return Place::Buffer(self.hot.place(slot));
        }
        let at = self.settings.geometry.address(block);
        match self.cold.find(at) {
            Some(place) => Place::Buffer(place),
            None => self.native.place(block),
        }
    }

    fn trim(&mut self, block: Block, count: u64) {
        if count <= self.layout.buffer_blocks {
            (0..count).for_each(|i| self.forget(block.after(i)));
            return;
        }
        // In a range larger than the buffer, few blocks are known.
        let known = self.roles.known().chain(self.cold.live_blocks());
        let mut known: Vec<Block> =
            known.filter(|known| (block..block.after(count)).contains(known)).collect();
        known.sort_unstable();
        known.into_iter().for_each(|block| self.forget(block));
    }

    fn forget(&mut self, block: Block) {
        let at = self.settings.geometry.address(block);
        if let Some(slot) = self.roles.slot(block) {
            self.roles.vacate(slot);
            let zone = self.zones.touch(at.zone);
            self.zones.count_hot(zone, false);
            self.steps.place_freed();
        } else {
            self.roles.recall(block);
            if self.cold.remove(at, &mut self.zones) {
                self.steps.place_freed();
            }
        }
    }
}
