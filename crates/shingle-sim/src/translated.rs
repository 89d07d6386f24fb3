//! A translation over a drive that exposes zones: a drive that takes any write.
//!
//! The [`Executor`] determines the steps, and this module does them in virtual time, one after the
//! other. The buffer lies at the start of the conventional zones, which take reads and writes like
//! any disk. Zones are appended to and reset. Reading scattered blocks costs what the drive says:
//! the policies of Amphisbaena's comparison (§6) differ in this. A commit takes no time, as no
//! paper says what saving the map costs, unless it is asked for ([`Translated::with_map`]).
//!
//! The drive may have a buffer of its own, if it is a disk without zones that is written in zones
//! ([`shingle_drive::in_zones`]). What it cleans then counts as cleaning, too.

mod blocks;
mod coming;
mod counted;
mod map;
mod media;
mod padding;

use shingle_core::units::{BLOCK_BYTES, Block, Nanos, Op, Request, Zone};
use shingle_core::zones::ZoneMap;
use shingle_drive::{BufferState, Counters, Description, Drive, Io, Served, Stamp, Turnover, Wear};
use shingle_result::Translating;
use shingle_translation::{
    Action, Cause, Executor, Layout, Piece, Place, Saved, Translation, Work,
};

use coming::Coming;
use map::MapLog;
use media::Media;
use padding::Padding;

/// A translation over a drive; see the module.
pub struct Translated {
    /// Between I/Os of the host only idle work is in progress.
    executor: Executor<Stamp>,
    media: Media,
    layout: Layout,
    /// Idle time before the translation works; `None` if it never does.
    idle_after: Option<Nanos>,
    /// The zone that cleaning appends to, and the number of blocks that had left the buffer before.
    cleaned: Option<(usize, u64)>,
    turnover: Turnover,
    coming: Coming,
    padding: Padding,
    /// `None` if saving the map costs nothing.
    map: Option<MapLog>,
    pieces: Vec<Piece>,
    was_full: bool,
    description: Description,
    counters: Counters,
    /// Bytes that the drive has written beside what it was sent, as far as they are counted.
    drive_wrote_more: u64,
    /// Bytes that the drive has read to clean its bands, as far as they are counted.
    drive_cleaned_bytes: u64,
}

/// Most pieces of a read that need no allocation.
const PIECES: usize = 1 << 10;

/// Returns the layout for a translation on a drive with this description, with a buffer of
/// `buffer_blocks`, or as large as the conventional zones.
///
/// # Errors
/// If the drive has no zones that a translation could use, in one line.
pub fn layout(description: &Description, buffer_blocks: Option<u64>) -> Result<Layout, String> {
    let (Some(exposed), Some(zones)) = (description.exposed, &description.bands) else {
        return Err("exposes no zones, so there is nothing to translate to".into());
    };
    let (conventional, zone_blocks) = (exposed.conventional_zones, zones.blocks(Zone(0)));
    let sequential = (zones.count() as u32).saturating_sub(conventional);
    if conventional == 0 || sequential == 0 {
        return Err("has no conventional zones for a buffer, or none but these".into());
    }
    let most = u64::from(conventional) * zone_blocks;
    let buffer_blocks = buffer_blocks.unwrap_or(most);
    if !(1..=most).contains(&buffer_blocks) {
        return Err(format!(
            "has {most} blocks in conventional zones, which a buffer of {buffer_blocks} does not fit"
        ));
    }
    Ok(Layout { zone_blocks, buffer_blocks, zones: sequential })
}

impl Translated {
    /// Creates `translation`, made for `layout`, over `drive`, both empty. `layout` is from
    /// [`layout`]. After `idle_after` without I/O the translation may work in idle time; never, if
    /// `None`.
    ///
    /// # Panics
    /// If the drive exposes no zones.
    #[must_use]
    pub fn new(
        translation: Box<dyn Translation>,
        drive: Box<dyn Drive>,
        layout: Layout,
        idle_after: Option<Nanos>,
    ) -> Translated {
        let beneath = drive.description();
        let zones = beneath.exposed.expect("a drive that exposes zones");
        let description = Translated::describe(beneath, &layout, &*translation);
        let mut made = Translated {
            media: Media::new(drive, zones.conventional_zones, layout.zone_blocks),
            idle_after,
            cleaned: None,
            turnover: Turnover::new(layout.zones as usize, layout.buffer_blocks),
            coming: Coming::default(),
            padding: Padding::default(),
            map: None,
            pieces: Vec::with_capacity(PIECES),
            was_full: false,
            description,
            counters: Counters::default(),
            drive_wrote_more: 0,
            drive_cleaned_bytes: 0,
            executor: Executor::new(translation),
            layout,
        };
        made.count();
        made
    }

    /// Puts the buffer on a device of its own, at its start, instead of conventional zones.
    #[must_use]
    pub fn with_buffer_on(self, cache: Box<dyn Drive>) -> Translated {
        Translated { media: self.media.with_buffer_on(cache), ..self }
    }

    /// Fills the drive with the data that `saved`, from which the translation was opened, has on it.
    /// That takes no time. Zones are full or empty.
    #[must_use]
    pub fn filled(mut self, saved: &Saved) -> Translated {
        let zones = (0..).map(Zone).zip(&saved.pointers);
        for (zone, _) in zones.filter(|(_, pointer)| **pointer > 0) {
            self.media.fill(zone);
        }
        self
    }

    /// Saves the map on the drive, in the conventional zones: see `map.rs`.
    #[must_use]
    pub fn with_map(self) -> Translated {
        Translated { map: Some(MapLog::new(self.layout.buffer_blocks)), ..self }
    }

    /// Returns what a host may know of `translation` over a drive with this description.
    #[must_use]
    pub fn describe(
        beneath: &Description,
        layout: &Layout,
        translation: &dyn Translation,
    ) -> Description {
        let (disk_blocks, held) = (translation.blocks(), translation.buffer_state());
        Description {
            bands: Some(ZoneMap::fixed(layout.zone_blocks, disk_blocks)),
            buffer_blocks: held.used + held.free,
            queued_command: beneath.queued_command,
            ..Description::new(disk_blocks, beneath.costs)
        }
    }

    /// Announces requests, from an executor that knows them and passes them on unchanged, so that
    /// cleaning knows what waits (Amphisbaena §5.3). The first `begun` of those announced before
    /// are now being served; `coming` follow the rest, in the order of their times. I/O that
    /// belongs to no announced request may come in between.
    pub fn announce(&mut self, begun: usize, coming: &[Request]) {
        self.coming.announce(begun, coming);
    }

    /// Returns the counters of the translation.
    #[must_use]
    pub fn translating(&self) -> Translating {
        let did = self.translation().counters();
        let (padded_first_blocks, padded_blocks) = self.padding.written();
        Translating {
            written_blocks: did.written_blocks,
            write_hits: did.write_hits,
            hot_hits: did.hot_hits,
            cleanings: did.cleanings,
            victims: did.victims,
            aborted: did.aborted,
            evicted_blocks: did.evicted_blocks,
            moved_blocks: did.moved_blocks,
            chunks_to_hot: did.chunks_to_hot,
            chunks_to_cold: did.chunks_to_cold,
            padded_first_blocks,
            padded_blocks,
            memory_bytes: self.translation().memory_bytes(),
        }
    }

    /// Returns a copy in the same state.
    #[must_use]
    pub fn duplicate(&self) -> Translated {
        Translated {
            executor: self.executor.copy(),
            media: self.media.copy(),
            layout: self.layout,
            idle_after: self.idle_after,
            cleaned: self.cleaned,
            turnover: self.turnover.clone(),
            coming: self.coming.clone(),
            padding: self.padding.clone(),
            map: self.map.clone(),
            pieces: Vec::with_capacity(PIECES),
            was_full: self.was_full,
            description: self.description.clone(),
            counters: self.counters,
            drive_wrote_more: self.drive_wrote_more,
            drive_cleaned_bytes: self.drive_cleaned_bytes,
        }
    }

    /// Returns when the translation has something to do in idle time.
    fn works_from(&self, idle_since: Nanos) -> Option<Nanos> {
        let works = self.executor.is_working() || self.translation().wants_idle();
        self.idle_after.filter(|_| works).map(|after| idle_since + after)
    }

    /// Does a step of the drive's own background work.
    fn drives_own(&mut self, now: Nanos, idle_since: Nanos, pending: &[Io]) -> Option<Nanos> {
        let end = self.media.drive_mut().background(now, idle_since, pending)?;
        self.counters.idle_clean_time += end.since(now);
        self.count();
        Some(end)
    }

    fn translation(&self) -> &dyn Translation {
        self.executor.translation()
    }

    fn begin(&mut self, work: Work, data: &[Stamp]) {
        self.padding.begin(work.writes());
        self.executor.begin(work, data);
    }

    /// Carries out a task of the translation completely.
    fn work(&mut self, served: &mut Served, work: Work, data: &[Stamp]) {
        self.begin(work, data);
        self.finish(served, None);
    }

    /// Carries out the rest of the current work; `held_up` waits for its end.
    fn finish(&mut self, served: &mut Served, held_up: Option<&Io>) {
        while let Some((cause, part)) = self.advance(served.done, held_up) {
            let begun = Served { done: served.done, ..Served::default() };
            let took = self.took(&begun, &part);
            match cause {
                Cause::Log => self.counters.log_time += took,
                Cause::Write => self.counters.write_time += took,
                Cause::Clean => self.counters.clean_time += took,
            }
            served.then(&part, cause == Cause::Clean);
        }
        self.settle();
        self.count();
    }

    /// Finishes the current idle work before I/O.
    fn end_idle_work(&mut self, served: &mut Served, io: Option<&Io>) {
        if self.executor.is_working() {
            self.finish(served, io);
        }
    }

    /// Carries out the next action of the current work; `None` if there is none left. `held_up`
    /// waits for the end of the work.
    fn advance(&mut self, now: Nanos, held_up: Option<&Io>) -> Option<(Cause, Served)> {
        let action = self.executor.next(&self.coming.by(now, held_up))?;
        let served = self.carry_out(now, action);
        self.executor.done();
        Some((action.cause(), served))
    }

    fn carry_out(&mut self, now: Nanos, action: Action) -> Served {
        match action {
            Action::Read { from, count } => {
                if let Place::Native(_) = from {
                    self.counters.rmw_read_bytes += count * BLOCK_BYTES;
                }
                self.padding.have_read(self.executor.steps());
                self.media.serve(now, Op::Read, (from, count), self.executor.data())
            }
            Action::Write { at, count, hosts } => {
                self.counters.log_bytes_written += count * BLOCK_BYTES;
                if hosts {
                    self.counters.buffer_written_blocks += count;
                }
                self.map.iter_mut().for_each(MapLog::change);
                let place = Place::Buffer(at);
                self.media.serve(now, Op::Write, (place, count), self.executor.data())
            }
            Action::Append { zone, count, block, hosts } => {
                for step in self.executor.steps() {
                    self.map.iter_mut().for_each(MapLog::change);
                    let blocks = step.blocks();
                    self.padding.append(Block(blocks.start), blocks.end - blocks.start);
                }
                self.count_append(block, count, hosts);
                self.media.append(now, zone, count, self.executor.data())
            }
            Action::Reset { zone } => {
                self.counters.zone_resets += 1;
                self.media.reset(now, zone)
            }
            Action::Commit => self.save_map(now),
        }
    }

    fn save_map(&mut self, now: Nanos) -> Served {
        let Some(map) = &mut self.map else { return Served { done: now, ..Served::default() } };
        let (written, served) = map.save(now, self.media.drive_mut());
        self.counters.band_bytes_written += written * BLOCK_BYTES;
        served
    }

    /// Reads the newest copies, with one I/O for those that lie together.
    fn read(&mut self, served: &mut Served, io: &Io, data: &mut [Stamp]) {
        let before = *served;
        let mut pieces = std::mem::take(&mut self.pieces);
        pieces.clear();
        self.executor.locate(io.block, io.count, &mut pieces);
        let mut rest = data;
        for piece in &pieces {
            let (room, after) = rest.split_at_mut(rest.len().min(piece.count as usize));
            let counted = match piece.place {
                Place::Buffer(_) => &mut self.counters.buffer_read_blocks,
                Place::Native(_) => &mut self.counters.native_read_blocks,
                Place::Nowhere => &mut self.counters.beyond_pointer_blocks,
            };
            *counted += piece.count;
            if piece.place == Place::Nowhere {
                room.fill(0);
            } else {
                let place = (piece.place, piece.count);
                served.then(&self.media.serve(served.done, Op::Read, place, room), false);
            }
            rest = after;
        }
        self.pieces = pieces;
        self.counters.read_blocks += io.count;
        let took = self.took(&before, served);
        self.counters.read_time += took;
        self.count();
    }
}

impl Drive for Translated {
    fn serve(&mut self, now: Nanos, io: &Io, data: &mut [Stamp]) -> Served {
        if !data.is_empty() {
            self.executor.keep_data();
        }
        let mut served = Served { done: now, ..Served::default() };
        self.end_idle_work(&mut served, Some(io));
        let (block, count) = (io.block, io.count);
        match io.op {
            Op::Read => self.read(&mut served, io, data),
            Op::Write => {
                let cleanings = self.translation().counters().cleanings;
                self.work(&mut served, Work::Write { block, count }, data);
                let filled = self.description.buffer_blocks > 0
                    && self.translation().buffer_state().free == 0;
                self.was_full |= filled || self.translation().counters().cleanings > cleanings;
            }
            Op::Trim => {
                self.map.iter_mut().for_each(MapLog::change);
                self.work(&mut served, Work::Trim { block, count }, data);
            }
            Op::Flush => {
                let before = served;
                let saved = self.save_map(served.done);
                served.then(&saved, false);
                served.then(&self.media.flush(served.done, io), false);
                let took = self.took(&before, &served);
                self.counters.write_time += took;
                self.count();
            }
        }
        served
    }

    /// Does one I/O of the translation's idle work, or a step of the drive's own. A commit is no
    /// I/O.
    fn background(&mut self, now: Nanos, idle_since: Nanos, pending: &[Io]) -> Option<Nanos> {
        if self.works_from(idle_since).is_none_or(|from| from > now) {
            return self.drives_own(now, idle_since, pending);
        }
        // When a work ends, another may begin: once.
        for begins in [!self.executor.is_working(), true] {
            if begins {
                if !self.translation().wants_idle() {
                    return self.drives_own(now, idle_since, pending);
                }
                self.begin(Work::Idle, &[]);
            }
            while let Some((_, part)) = self.advance(now, None) {
                self.count();
                if part.done > now {
                    self.counters.idle_clean_time += part.done.since(now);
                    return Some(part.done);
                }
            }
            self.settle();
            self.count();
        }
        None
    }

    fn background_from(&self, idle_since: Nanos) -> Option<Nanos> {
        let drives = self.media.drive().background_from(idle_since);
        self.works_from(idle_since).into_iter().chain(drives).min()
    }

    fn drain(&mut self, now: Nanos) -> Nanos {
        let mut served = Served { done: now, ..Served::default() };
        self.end_idle_work(&mut served, None);
        self.work(&mut served, Work::Drain, &[]);
        if self.map.as_ref().is_some_and(MapLog::has_changed) {
            let before = served;
            let saved = self.save_map(served.done);
            served.then(&saved, false);
            let took = self.took(&before, &served);
            self.counters.write_time += took;
        }
        let done = self.media.drive_mut().drain(served.done);
        self.counters.clean_time += done.since(served.done);
        self.count();
        done
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The wear of the flash inside the drive, by what the host wrote to the translation.
    fn wear(&self) -> Option<Wear> {
        let wear = self.media.drive().wear()?;
        Some(Wear { host_blocks: self.counters.written_blocks, ..wear })
    }

    /// What waits in the buffer of the translation, and in that of the drive.
    fn buffer(&self) -> BufferState {
        let (held, drive) = (self.translation().buffer_state(), self.media.drive().buffer());
        BufferState {
            blocks: held.blocks + drive.blocks,
            held_blocks: drive.held_blocks,
            bands: held.zones + drive.bands,
            extents: held.blocks + drive.extents,
            log_bytes: held.used * BLOCK_BYTES + drive.log_bytes,
            was_full: self.was_full,
            oldest: None, // no translation knows
        }
    }

    fn description(&self) -> &Description {
        &self.description
    }

    fn copy(&self) -> Box<dyn Drive> {
        Box::new(self.duplicate())
    }

    fn check(&self) {
        self.media.drive().check();
        let held = self.translation().buffer_state();
        assert_eq!(held.used + held.free, self.description.buffer_blocks, "the buffer adds up");
        if self.executor.is_working() {
            return; // in the middle of a work
        }
        let entered = self.counters.log_bytes_written / BLOCK_BYTES;
        assert!(self.live_or_left() <= entered, "more left the buffer than {entered} blocks");
        self.translation().check();
        self.media.check(self.layout.zones, |zone| self.translation().write_pointer(zone));
    }
}
