//! Carries out the steps of a controller: times each and moves the data.
//!
//! The disk serves one operation at a time, and so does each unit of the flash, but all of them
//! work in parallel. Steps that free erase blocks form a chain: copies and reads of a victim begin
//! together, writes to the disk wait for what was read, an erase waits for all before it, and the
//! next victim for the erase. In the background the chain runs in parallel to the host's I/O, which
//! waits for it only where it needs a unit, the disk, or a block that is not erased yet. Otherwise
//! the host waits until the chain ends.
//!
//! State changes when a step is decided, time passes when it is carried out: the map is ahead of the
//! clock while a chain runs, by no more than the free blocks there are.

use super::scratch::Scratch;
use super::step::{Step, Steps};
use crate::drive::Drive;
use crate::io::{Io, Served, Stamp};
use crate::models::drive_managed::DriveManaged;
use crate::parts::contents::Contents;
use crate::parts::flash::{EraseBlock, Geometry, Page, Times};
use crate::parts::schedule::Schedule;
use shingle_core::units::{Block, Nanos, Op};

pub(super) const UNITS_MAX: usize = 64;

/// Most blocks of a write to the disk (512 KiB).
const JOINED_BLOCKS_MAX: usize = 128;

/// Disk and flash, and the time at which each part is free.
#[derive(Clone)]
pub(super) struct Parts {
    pub(super) disk: Disk,
    units: Schedule,
    geometry: Geometry,
    times: Times,
    /// Time at which each erase block was last erased.
    erased: Vec<Nanos>,
    pub(super) chain: Chain,
    /// Stamps of pages (`slot`) and of blocks in memory (`held`).
    contents: Contents,
    /// Blocks read from the flash, to be written to the disk.
    loaded: Scratch<(u64, Stamp)>,
    stamps: Scratch<Stamp>,
    pub(super) did: Did,
}

/// The disk, and the time at which it is free.
pub(super) struct Disk {
    pub(super) drive: DriveManaged,
    pub(super) free: Nanos,
    /// Completion of its last I/O, idle cleaning excluded.
    pub(super) last_io: Nanos,
}

impl Clone for Disk {
    fn clone(&self) -> Disk {
        Disk { drive: self.drive.twin(), ..*self }
    }
}

/// The chain that frees blocks: start of its current steps, and end of the last of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chain {
    start: Nanos,
    pub(super) end: Nanos,
}

/// Counts of the flash.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Did {
    pub(super) programmed: u64,
    pub(super) copied: u64,
    pub(super) erased: u64,
    /// Blocks read for the host.
    pub(super) read: u64,
    /// Blocks written back through the persistent cache; of these, those that are in its log.
    pub(super) written_back: u64,
    pub(super) written_back_to_log: u64,
}

impl Parts {
    pub(super) fn new(
        drive: DriveManaged,
        geometry: Geometry,
        times: Times,
        band_blocks_max: u32,
    ) -> Parts {
        let loaded = band_blocks_max.max(geometry.pages_per_block) as usize;
        Parts {
            disk: Disk { drive, free: Nanos::ZERO, last_io: Nanos::ZERO },
            units: Schedule::new(geometry.units),
            times,
            erased: vec![Nanos::ZERO; geometry.blocks() as usize],
            geometry,
            chain: Chain::default(),
            contents: Contents::default(),
            loaded: Scratch::new(loaded),
            stamps: Scratch::new(JOINED_BLOCKS_MAX),
            did: Did::default(),
        }
    }

    /// Called with the data of each I/O: the first stamps switch on keeping them.
    pub(super) fn see(&mut self, data: &[Stamp]) {
        if !data.is_empty() && !self.contents.on() {
            self.contents.see(data);
            self.disk.drive.keep_stamps();
        }
    }

    /// Panics if an invariant is broken.
    pub(super) fn check(&self) {
        self.units.check();
        assert!(self.loaded.is_empty(), "blocks were read and not written back");
    }

    fn unit(&self, page: Page) -> u32 {
        self.geometry.block_of(page).0 / self.geometry.blocks_per_unit
    }

    /// Returns when the erase block of a page was erased.
    fn erased(&self, page: Page) -> Nanos {
        self.erased[self.geometry.block_of(page).0 as usize]
    }
}

/// The work of a controller for an I/O, or in the background.
pub(super) struct Work<'a> {
    parts: &'a mut Parts,
    /// Its start, and the time at which the host's next step may begin.
    start: Nanos,
    at: Nanos,
    /// Whether the host waits for the chain.
    waits: bool,
    chained: bool,
    /// The host's I/O and data.
    io: Io,
    data: &'a mut [Stamp],
    /// Time of the command and the data transfer, if the flash takes them.
    command: Option<Nanos>,
    /// The piece of the I/O on the flash that completed last, and all pieces on the disk.
    last: Served,
    disk: Served,
    /// Pages of the I/O on each unit.
    pages: [u32; UNITS_MAX],
}

impl<'a> Work<'a> {
    /// With `waits`, the host waits until blocks are freed.
    pub(super) fn new(
        parts: &'a mut Parts,
        start: Nanos,
        io: Io,
        data: &'a mut [Stamp],
        waits: bool,
    ) -> Work<'a> {
        Work {
            parts,
            start,
            at: start,
            waits,
            chained: false,
            io,
            data,
            command: None,
            last: Served { done: start, ..Served::default() },
            disk: Served::default(),
            pages: [0; UNITS_MAX],
        }
    }

    /// Returns the completion and the spans of the time. Time that is in none of the host's own
    /// steps was spent waiting for free blocks, or for parts that were busy freeing them.
    pub(super) fn served(&self) -> Served {
        let last = if self.disk.done > self.last.done { self.disk } else { self.last };
        let mut served = if last.done >= self.at { last } else { Served::default() };
        served.done = last.done.max(self.at);
        let own = served.command + served.seek + served.rotation + served.transfer;
        let rest = served.done.since(self.start).since(own);
        // The work of the disk meanwhile may have taken longer.
        let command = self.command.unwrap_or(Nanos::ZERO).min(rest);
        served.command += command;
        served.clean = rest.since(command);
        served
    }

    /// Reads a run of blocks that is on the disk.
    pub(super) fn read_disk(&mut self, first: u64, count: u64) {
        let from = (first - self.io.block.0) as usize;
        let to = (from + count as usize).min(self.data.len());
        let io = Io { op: Op::Read, block: Block(first), count };
        let disk = &mut self.parts.disk;
        let served =
            disk.drive.serve(self.at.max(disk.free), &io, &mut self.data[from.min(to)..to]);
        self.disk_piece(served);
    }

    pub(super) fn read_page(&mut self, block: u64, page: Page) {
        self.accept();
        self.parts.did.read += 1;
        let stamp = self.parts.contents.slot(page.0);
        self.put(block, stamp);
        self.page_piece(page, self.parts.times.read, self.at);
    }

    /// Reads a block that is held in memory.
    pub(super) fn read_held(&mut self, block: u64) {
        self.accept();
        self.parts.did.read += 1;
        let stamp = self.parts.contents.held(block);
        self.put(block, stamp);
    }

    fn put(&mut self, block: u64, stamp: Stamp) {
        if let Some(data) = self.data.get_mut((block - self.io.block.0) as usize) {
            *data = stamp;
        }
    }

    /// Passes a trim to the disk, or a FLUSH if it has something to write.
    pub(super) fn command_to_disk(&mut self, io: &Io) {
        let disk = &mut self.parts.disk;
        if io.op == Op::Trim || disk.drive.volatile() {
            let start = self.at.max(disk.free);
            let served = disk.drive.serve(start, io, &mut []);
            if served.done > start {
                self.disk_piece(served);
            }
        }
    }

    /// Accounts for the command and its data, once per I/O.
    pub(super) fn accept(&mut self) {
        if self.command.is_none() {
            let mut served = Served::default();
            self.parts.disk.drive.interface(&mut served, self.io.count);
            self.command = Some(served.done);
            self.at += served.done;
        }
    }

    /// Does an operation on a page for the host, not before `from`.
    fn page_piece(&mut self, page: Page, span: Nanos, from: Nanos) {
        let unit = self.parts.unit(page);
        let start = self.parts.units.occupy(unit, from.max(self.at), span);
        let pages = &mut self.pages[unit as usize];
        *pages += 1;
        let transfer = Nanos(span.0 * u64::from(*pages));
        self.piece(Served { done: start + span, transfer, ..Served::default() });
    }

    /// Adds a piece on the disk, which serves the pieces of an I/O one after the other.
    fn disk_piece(&mut self, served: Served) {
        (self.parts.disk.free, self.parts.disk.last_io) = (served.done, served.done);
        self.disk.then(&served, false);
    }

    fn piece(&mut self, served: Served) {
        if served.done > self.last.done {
            self.last = served;
        }
    }

    /// Begins a step of the chain: not before the host needs it, and after the steps before it.
    fn chain(&mut self) -> Chain {
        let chain = &mut self.parts.chain;
        if !self.chained {
            self.chained = true;
            let start = chain.end.max(self.at);
            *chain = Chain { start, end: start };
        }
        *chain
    }

    fn chain_until(&mut self, end: Nanos) {
        let chain = &mut self.parts.chain;
        chain.end = chain.end.max(end);
        if self.waits {
            self.at = self.at.max(chain.end);
        }
    }

    fn stamp(&self, block: u64, held: bool) -> Stamp {
        if held {
            return self.parts.contents.held(block);
        }
        self.data.get((block - self.io.block.0) as usize).copied().unwrap_or(0)
    }

    fn put_page(&mut self, block: u64, page: Page, held: bool) {
        self.parts.did.programmed += 1;
        self.parts.disk.drive.discard(block);
        if self.parts.contents.on() {
            let stamp = self.stamp(block, held);
            self.parts.contents.put_slot(page.0, stamp);
        }
    }

    fn hold(&mut self, first: u64, count: u64) {
        self.accept();
        if self.parts.contents.on() {
            for block in first..first + count {
                let stamp = self.stamp(block, false);
                self.parts.contents.put_held(block, stamp);
            }
        }
        // As long as programming would take.
        let units = u64::from(self.parts.geometry.units);
        let transfer = Nanos(self.parts.times.program.0 * count.div_ceil(units));
        self.piece(Served { done: self.at + transfer, transfer, ..Served::default() });
    }

    fn write_disk(&mut self, first: u64, count: u64, held: bool) {
        let mut done = 0;
        while done < count {
            let joined = (count - done).min(JOINED_BLOCKS_MAX as u64);
            let io = Io { op: Op::Write, block: Block(first + done), count: joined };
            self.fill_stamps(&io, held);
            let disk = &mut self.parts.disk;
            let at = self.at.max(disk.free);
            let served = disk.drive.serve(at, &io, &mut self.parts.stamps);
            self.disk_piece(served);
            done += joined;
        }
    }

    fn write_band(&mut self, first: u64, count: u64) {
        let mut done = 0;
        while done < count {
            let joined = (count - done).min(JOINED_BLOCKS_MAX as u64);
            let io = Io { op: Op::Write, block: Block(first + done), count: joined };
            self.fill_stamps(&io, false);
            let disk = &mut self.parts.disk;
            let at = self.at.max(disk.free);
            let served = disk.drive.write_native(at, &io, &self.parts.stamps);
            self.disk_piece(served);
            done += joined;
        }
    }

    fn fill_stamps(&mut self, io: &Io, held: bool) {
        self.parts.stamps.clear();
        if self.parts.contents.on() {
            for block in io.block.0..io.block.0 + io.count {
                let stamp = self.stamp(block, held);
                self.parts.stamps.push(stamp);
            }
        }
    }

    fn copy(&mut self, from: Page, to: Page) {
        let chain = self.chain();
        let parts = &mut *self.parts;
        let (read, program) = (parts.times.read, parts.times.program);
        let start = parts.units.occupy(parts.unit(from), chain.start.max(parts.erased(from)), read);
        let start = (start + read).max(parts.erased(to));
        let start = parts.units.occupy(parts.unit(to), start, program);
        parts.contents.move_slot(from.0, to.0);
        parts.did.programmed += 1;
        parts.did.copied += 1;
        self.chain_until(start + program);
    }

    fn load(&mut self, block: u64, page: Page) {
        let chain = self.chain();
        let parts = &mut *self.parts;
        let span = parts.times.read;
        let start = parts.units.occupy(parts.unit(page), chain.start, span);
        let stamp = parts.contents.slot(page.0);
        parts.loaded.push((block, stamp));
        self.chain_until(start + span);
    }

    /// Writes the loaded blocks into the persistent cache.
    fn write_back(&mut self) {
        let at = self.chain().end.max(self.parts.disk.free);
        let Parts { disk, loaded, did, .. } = &mut *self.parts;
        let before = disk.drive.counters().buffer_written_blocks;
        let done = disk.drive.write_gathered(at, loaded);
        let logged = disk.drive.counters().buffer_written_blocks - before;
        did.written_back += loaded.len() as u64;
        // The disk may have moved more blocks from its memory to the log at the same time.
        did.written_back_to_log += logged.min(loaded.len() as u64);
        self.disk_is_done(done);
    }

    fn rewrite(&mut self) {
        let at = self.chain().end.max(self.parts.disk.free);
        let done = self.parts.disk.drive.rewrite(at, &self.parts.loaded);
        self.disk_is_done(done);
    }

    fn disk_is_done(&mut self, done: Nanos) {
        self.parts.loaded.clear();
        (self.parts.disk.free, self.parts.disk.last_io) = (done, done);
        self.chain_until(done);
    }

    fn erase(&mut self, block: EraseBlock) {
        let chain = self.chain();
        let parts = &mut *self.parts;
        let span = parts.times.erase;
        let unit = block.0 / parts.geometry.blocks_per_unit;
        let end = parts.units.occupy(unit, chain.end, span) + span;
        parts.erased[block.0 as usize] = end;
        parts.did.erased += 1;
        let pages = parts.geometry.pages_per_block;
        parts.contents.drop_slots(block.0 * pages..(block.0 + 1) * pages);
        parts.chain = Chain { start: end, end };
        self.chain_until(end);
    }
}

impl Steps for Work<'_> {
    fn step(&mut self, step: Step) {
        match step {
            Step::Program { block, page } => {
                self.accept();
                self.put_page(block, page, false);
                self.page_piece(page, self.parts.times.program, self.parts.erased(page));
            }
            Step::Hold { first, count } => self.hold(first, count),
            Step::Settle { block, page } => {
                self.put_page(block, page, true);
                self.at = self.at.max(self.parts.erased(page));
            }
            Step::ToDisk { first, count, held } => self.write_disk(first, count, held),
            Step::ToBand { first, count } => self.write_band(first, count),
            Step::Copy { from, to } => self.copy(from, to),
            Step::Load { block, page } => self.load(block, page),
            Step::WriteBack => self.write_back(),
            Step::Rewrite => self.rewrite(),
            Step::Erase(block) => self.erase(block),
        }
    }
}
