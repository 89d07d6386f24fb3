//! What the owner of an engine asks of it, beside I/O and time: to open it, commands of clients, and what
//! operators want.

use shingle_core::cache::CacheCore;
use shingle_core::observer::Shared;
use shingle_core::service::{Limits, Mode, Service};
use shingle_core::units::{Block, Nanos, Request};

use super::contents::Contents;
use super::destage::Destages;
use super::disk::Disk;
use super::durability::Durability;
use super::exchange::Exchange;
use super::failure::Failure;
use super::growth::Growth;
use super::life::{Drain, Life};
use super::looks::Looks;
use super::port::Port;
use super::requests::{Command, Connection, Requests};
use super::status::Status;
use super::trims::Trims;
use super::{Config, Engine, OpenError};
use crate::bugs::{Bug, Seeded};
use crate::data::Data;
use crate::recover::Recovered;

impl<D: Data> Engine<D> {
    /// Goes on with what was found on an SSD. `cache` is empty, and of the size of the SSD.
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
            journal.without_bytes();
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
            growth: Growth::default(),
            trims: Trims::new(config.tells_trims, bugs),
            observer: None,
            ssd_written_pages: 0,
            looks: Looks::default(),
            bugs,
        };
        engine.pump();
        Ok(engine)
    }

    /// `observer` is told of requests and I/O. Of what passes between engine and cache it is told by a
    /// cache that it watches itself ([`shingle_core::observer::Observed`]).
    pub fn watch(&mut self, observer: Shared) {
        self.requests.watch(observer.clone());
        self.observer = Some(observer);
    }

    /// The observer of its cache, if that is [`Observed`](shingle_core::observer::Observed) by one of this type.
    pub fn observer_of_cache<O: 'static>(&mut self) -> Option<&mut O> {
        self.contents.observer()?.downcast_mut()
    }

    /// Whether there is room for another command: otherwise wait for replies.
    #[must_use]
    pub fn accepts(&self) -> bool {
        self.requests.accepts()
    }

    /// These requests come next: what they will look up is brought into the processor's cache. It changes nothing,
    /// and only an owner who knows the future can say so. `disk` is told of blocks that the disk is likely to read or
    /// write for them.
    pub fn expect(&self, requests: &[Request], disk: &dyn Fn(Block)) {
        self.contents.expect(requests, &self.durability, disk);
    }

    /// A client wants something. It is answered by a [`Reply`](super::Reply) with its id.
    pub fn submit(&mut self, command: Command<D>) {
        self.service.asked(self.now);
        self.look_at_requests();
        self.requests.submit(command, self.life.is_ending());
    }

    /// A client has connected. It is told of losses from now on, and of one before that nobody was told of.
    pub fn opened(&mut self, connection: Connection) {
        self.requests.opened(connection);
    }

    /// A client has left: nobody hears what its commands that are under way are answered.
    pub fn closed(&mut self, connection: Connection) {
        self.requests.closed(connection);
    }

    /// The mode.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.service.mode()
    }

    /// Switches the mode: it holds for operations that begin from now on. In modes in which the disk
    /// gets everything, what is dirty goes there meanwhile.
    pub fn set_mode(&mut self, mode: Mode) {
        self.service.set_mode(mode);
        self.drain.look_again();
        self.pump();
    }

    /// Whether the disk is told from now on what clients do not need any more.
    pub fn set_tells_trims(&mut self, tells: bool) {
        self.trims.set_tells(tells);
    }

    /// Something is left to do that needs neither I/O to be done nor a time to come: whoever has nothing else to do calls
    /// [`Engine::take`] again.
    #[must_use]
    pub fn has_more_to_do(&self) -> bool {
        self.trims.may_go_on()
    }

    /// Sets what is allowed from now on.
    pub fn set_limits(&mut self, limits: Limits) {
        self.service.set_limits(limits);
        self.pump();
    }

    /// So much time of the day has passed at `now`, by the clock of the operator. To be told at the start and now
    /// and then.
    pub fn set_time_of_day(&mut self, now: Nanos, time_of_day: Nanos) {
        self.service.set_time_of_day(now, time_of_day);
    }

    /// Destages everything that is dirty, and goes on doing so until [`Engine::keep_dirty`].
    pub fn drain(&mut self) {
        self.drain.want(true);
        self.drain.look_again();
        self.pump();
    }

    /// Ends [`Engine::drain`].
    pub fn keep_dirty(&mut self) {
        self.drain.want(false);
    }

    /// From now on `cache`, which is empty, decides. All that is cached goes over to it.
    ///
    /// # Errors
    /// If it has another size, or its policy has to know the future.
    pub fn set_cache(&mut self, cache: Box<dyn CacheCore>) -> Result<(), OpenError> {
        let Some(cache) = self.exchange.take_cache(cache)? else { return Ok(()) };
        let new_of = self.contents.swap(cache, &self.durability)?;
        // Each room that holds slots gives them their new numbers, and pins them again: the new cache knows of
        // no pins.
        self.requests.move_slots(&new_of, &mut self.contents);
        if !self.bugs.has(Bug::SwapForgetsDestages) {
            self.destages.move_slots(&new_of, &mut self.contents);
        }
        self.contents.move_lost(&new_of);
        self.drain.forget();
        self.pump();
        Ok(())
    }

    /// Sets what the superblock says of policy and parameters.
    pub fn set_settings(&mut self, text: String) {
        self.exchange.set_settings(&text);
        self.durability.set_settings(text);
        self.looks.again();
    }

    /// Begins to shut down: new commands are refused, those that were given are finished.
    pub fn shut_down(&mut self) {
        if self.life.end() {
            self.disk.begins_last_tries();
        }
        self.pump();
    }

    /// As [`Engine::shut_down`], for a cache that is ended right after: the disk has everything, and nothing
    /// more is written to the SSD.
    pub fn shut_down_for_good(&mut self) {
        self.life.forget();
        self.shut_down();
    }

    /// Whether all is done, and the engine may be dropped. With a failed SSD it never says so.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.life.is_stopped()
    }

    /// Whether the SSD has failed and nothing is under way any more: there is nothing to wait for.
    #[must_use]
    pub fn can_do_no_more(&self) -> bool {
        self.durability.has_failed() && self.is_idle()
    }

    /// Whether nothing at all is under way, and no command unanswered.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.requests.is_empty() && self.port.is_idle()
    }

    /// Runs of `blocks` blocks from `first` on that are dirty, and that are not, with the length of
    /// each. They may end early: looking takes time.
    #[must_use]
    pub fn dirty_runs(&self, first: Block, blocks: u64) -> Vec<(u64, bool)> {
        const BLOCKS_MAX: u64 = 1 << 18;
        self.contents.dirty_runs(first, blocks.min(BLOCKS_MAX))
    }

    /// The disk has not taken, or not kept, what was destaged last: how long it is left alone before it is tried
    /// again. `None` if all is well.
    #[must_use]
    pub fn destage_pause(&self) -> Option<Nanos> {
        self.destages.pause(self.now)
    }

    /// Blocks cached that the disk does not have.
    #[must_use]
    pub fn dirty_blocks(&self) -> u64 {
        self.contents.dirty_blocks().into()
    }

    /// Blocks of the disk that are served.
    #[must_use]
    pub fn disk_blocks(&self) -> u64 {
        self.requests.disk_blocks()
    }

    /// What the engine says of itself.
    #[must_use]
    pub fn status(&self) -> Status {
        Status {
            dirty_ages: self.contents.dirty_ages(self.now),
            journal: self.durability.status(),
            destaging_blocks: self.destages.count() as u64,
            destage_pause: self.destage_pause(),
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
