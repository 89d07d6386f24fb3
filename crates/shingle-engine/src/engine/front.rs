//! The interface for the owner of an engine, apart from I/O and time: opening it, commands of
//! clients, requests of operators.

use shingle_core::ahead::Ahead;
use shingle_core::cache::CacheCore;
use shingle_core::observer::Shared;
use shingle_core::service::{Limits, Mode, Service};
use shingle_core::units::{Block, Nanos, Request};

use super::contents::Contents;
use super::destage::Destages;
use super::disk::Disk;
use super::due::DueSteps;
use super::durability::Durability;
use super::exchange::Exchange;
use super::failure::Failure;
use super::life::{Drain, Life};
use super::port::Port;
use super::requests::{Command, Connection, Requests};
use super::status::Status;
use super::trims::Trims;
use super::{Config, Engine, OpenError};
use crate::bugs::{Bug, Seeded};
use crate::data::Data;
use crate::recover::Recovered;

impl<D: Data> Engine<D> {
    /// Opens an engine over what was found on an SSD. `cache` is empty, and of the size of the SSD.
    ///
    /// # Errors
    /// If they do not fit together.
    pub fn open(
        found: Recovered,
        cache: Box<dyn CacheCore>,
        disk_blocks: u64,
        config: Config,
    ) -> Result<Engine<D>, OpenError> {
        let layout = *found.journal.layout();
        let slots = cache.slots().capacity();
        if layout.slots != u64::from(slots) {
            return Err(OpenError::Slots { ssd: layout.slots, cache: slots.into() });
        }
        if cache.wants_future() {
            return Err(OpenError::Future);
        }
        let bugs = Seeded::new(config.bug);
        let contents = Contents::restore(cache, &found.journal.table, disk_blocks)?;
        let mut journal = found.journal;
        if !D::HAS_PAGES {
            journal.skip_encoding();
        }
        let durability = Durability::open(journal, &found.corrections, config.commit_after, bugs);
        let mut engine = Engine {
            now: Nanos::ZERO,
            service: Service::new(config.rules),
            port: Port::new(bugs),
            requests: Requests::new(config.depth, disk_blocks, bugs),
            contents,
            durability,
            destages: Destages::new(config.piece_blocks, bugs),
            disk: Disk::new(bugs),
            failure: Failure::new(found.findings, bugs),
            life: Life::default(),
            drain: Drain::default(),
            exchange: Exchange::new(bugs),
            grows_to: None,
            trims: Trims::new(config.trim_passdown, bugs),
            observer: None,
            ssd_written_pages: 0,
            due: DueSteps::default(),
            bugs,
        };
        engine.pump();
        Ok(engine)
    }

    /// Registers an observer of requests and I/O. To observe the calls between engine and cache,
    /// wrap the cache in [`shingle_core::observer::Observed`].
    pub fn watch(&mut self, observer: Shared) {
        self.requests.watch(observer.clone());
        self.observer = Some(observer);
    }

    /// The observer of the cache, if it is an [`Observed`](shingle_core::observer::Observed) with
    /// an observer of this type.
    pub fn cache_observer<O: 'static>(&mut self) -> Option<&mut O> {
        self.contents.observer()?.downcast_mut()
    }

    /// Whether another command may be submitted. If not, wait for replies.
    #[must_use]
    pub fn can_submit(&self) -> bool {
        self.requests.can_submit()
    }

    /// Prefetches what these requests, which come next, will look up. Changes nothing.
    /// For an owner that has the whole trace. Calls `disk` for blocks that the disk is likely to
    /// read or write for them.
    pub fn prefetch(&self, ahead: &mut Ahead, requests: &[Request], disk: &dyn Fn(Block)) {
        self.contents.prefetch(ahead, requests, &self.durability, disk);
    }

    /// Submits a command of a client. A [`Reply`](super::Reply) with the same id answers it.
    pub fn submit(&mut self, command: Command<D>) {
        self.service.request_arrived(self.now);
        self.mark_requests();
        self.requests.submit(command, self.life.is_ending());
    }

    /// Opens a connection. Losses from now on are reported to it, and an earlier one that was
    /// reported to no other connection.
    pub fn connection_opened(&mut self, connection: Connection) {
        self.requests.connection_opened(connection);
    }

    /// Closes a connection: nothing receives the replies of its commands in flight.
    pub fn connection_closed(&mut self, connection: Connection) {
        self.requests.connection_closed(connection);
    }

    /// The mode.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.service.mode()
    }

    /// Switches the mode, for operations that begin from now on. In modes that write through,
    /// blocks that are dirty already are destaged.
    pub fn set_mode(&mut self, mode: Mode) {
        self.service.set_mode(mode);
        self.drain.search_again();
        self.pump();
    }

    /// Sets whether trims of clients are passed on to the disk.
    pub fn set_trim_passdown(&mut self, passes: bool) {
        self.trims.set_passdown(passes);
    }

    /// Whether there is work that waits neither for I/O nor for time: an owner with nothing else to
    /// do calls [`Engine::take_effects`] again.
    #[must_use]
    pub fn has_more_to_do(&self) -> bool {
        self.trims.may_continue()
    }

    /// Sets the limits that the operator allows.
    pub fn set_limits(&mut self, limits: Limits) {
        self.service.set_limits(limits);
        self.pump();
    }

    /// Sets the time of the day at `now`, by the clock of the operator. Call it at the start and
    /// from time to time.
    pub fn set_time_of_day(&mut self, now: Nanos, time_of_day: Nanos) {
        self.service.set_time_of_day(now, time_of_day);
    }

    /// Destages everything that is dirty, also blocks that become dirty later, until
    /// [`Engine::cancel_drain`].
    pub fn drain(&mut self) {
        self.drain.want(true);
        self.drain.search_again();
        self.pump();
    }

    /// Ends [`Engine::drain`].
    pub fn cancel_drain(&mut self) {
        self.drain.want(false);
    }

    /// Replaces the cache by `cache`, which is empty. All cached blocks move to it.
    ///
    /// # Errors
    /// If the new cache has another size, or its policy has to know the future.
    pub fn set_cache(&mut self, cache: Box<dyn CacheCore>) -> Result<(), OpenError> {
        let Some(cache) = self.exchange.take_cache(cache)? else { return Ok(()) };
        let new_of = self.contents.swap(cache, &self.durability)?;
        // Each module that holds slots renumbers them, and pins them again: the new cache has no
        // pins.
        self.requests.move_slots(&new_of, &mut self.contents);
        if !self.bugs.has(Bug::SwapForgetsDestages) {
            self.destages.move_slots(&new_of, &mut self.contents);
        }
        self.contents.move_lost(&new_of);
        self.drain.forget();
        self.pump();
        Ok(())
    }

    /// Sets policy and parameters in the superblock.
    pub fn set_settings(&mut self, text: String) {
        self.exchange.set_settings(&text);
        self.durability.set_settings(text);
        self.due.mark_all();
    }

    /// Begins to shut down: new commands are refused, and those already submitted are finished.
    pub fn shut_down(&mut self) {
        if self.life.end() {
            self.disk.reset_failures();
        }
        self.pump();
    }

    /// As [`Engine::shut_down`], for a cache that is deleted right after: the disk has everything,
    /// and nothing more is written to the SSD.
    pub fn shut_down_for_removal(&mut self) {
        self.life.forget();
        self.shut_down();
    }

    /// Whether the engine has stopped, and may be dropped. With a failed SSD it never does.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.life.is_stopped()
    }

    /// Whether the SSD has failed and nothing is in flight any more: there is nothing to wait for.
    #[must_use]
    pub fn is_failed_and_idle(&self) -> bool {
        self.durability.has_failed() && self.is_idle()
    }

    /// Whether nothing at all is in flight, and every command is answered.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.requests.is_empty() && self.port.is_idle()
    }

    /// Splits `blocks` blocks from `first` on into runs that are dirty and runs that are not, with
    /// their lengths. The result may end early, to limit the time of the call.
    #[must_use]
    pub fn dirty_runs(&self, first: Block, blocks: u64) -> Vec<(u64, bool)> {
        const BLOCKS_MAX: u64 = 1 << 18;
        self.contents.dirty_runs(first, blocks.min(BLOCKS_MAX))
    }

    /// The rest of the back-off of the disk after a destage failed; `None` if the last one
    /// succeeded.
    #[must_use]
    pub fn destage_back_off(&self) -> Option<Nanos> {
        self.destages.pause(self.now)
    }

    /// The number of dirty blocks.
    #[must_use]
    pub fn dirty_blocks(&self) -> u64 {
        self.contents.dirty_blocks().into()
    }

    /// The size of the disk that is served, in blocks.
    #[must_use]
    pub fn disk_blocks(&self) -> u64 {
        self.requests.disk_blocks()
    }

    /// The status of the engine.
    #[must_use]
    pub fn status(&self) -> Status {
        Status {
            dirty_ages: self.contents.dirty_ages(self.now),
            journal: self.durability.status(),
            destaging_blocks: self.destages.count() as u64,
            destage_back_off: self.destage_back_off(),
            counts: self.requests.counts(),
            errors: self.failure.errors(),
            refused: self.failure.refused(),
            dirty_blocks: self.contents.dirty_blocks().into(),
            clean_blocks: self.contents.clean_blocks().into(),
            free_frames: self.durability.free_frames() as u64,
            ios: self.port.ios() as u64,
            destaged_blocks: self.destages.taken_blocks(),
            bands: self.destages.band_counts(),
            ssd_written_pages: self.ssd_written_pages,
            disk_blocks: self.requests.disk_blocks(),
            ssd: self.exchange.state(),
            forgotten: self.exchange.forgotten().to_vec(),
            lost: self.contents.lost(),
            trimming_blocks: self.trims.waiting_blocks(),
        }
    }
}
